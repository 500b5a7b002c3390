//! A value that serde accepts fits the schema of the type, so that one parse is enough.

use std::collections::BTreeMap;

use oxikit_core::Schema;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only read")]
struct Plain {
    a: u8,
    b: Option<String>,
    #[serde(default)]
    c: Vec<i16>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "only read")]
struct Strict {
    a: bool,
    #[serde(default)]
    b: f64,
    c: Option<Box<Plain>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "a")]
#[expect(dead_code, reason = "only read")]
enum Tagged {
    #[serde(rename = "x")]
    One { b: u8 },
    #[serde(rename = "y")]
    Two { c: String },
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "only read")]
enum External {
    X,
    Y,
    A(u8),
    B { c: bool },
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "only read")]
enum Untagged {
    Flag(bool),
    Number(i8),
    Text(String),
    Many(Vec<Untagged>),
}

/// Small values made of few names and words, so that many fit.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        prop_oneof![
            Just(0i64),
            Just(1),
            Just(-1),
            Just(127),
            Just(128),
            Just(255),
            Just(256),
            Just(-32769)
        ]
        .prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![Just(0.5f64), Just(1.0), Just(-1e300)].prop_map(Value::from),
        prop_oneof![Just("x"), Just("y"), Just("")].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let name = prop_oneof![Just("a"), Just("b"), Just("c"), Just("x"), Just("y")];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

type Check = Box<dyn Fn(&Value) -> Result<(), TestCaseError>>;

fn checker<T: DeserializeOwned + JsonSchema>() -> Check {
    let schema = Schema::of::<T>();
    Box::new(move |value| check::<T>(&schema, value))
}

fn check<T: DeserializeOwned>(schema: &Schema, value: &Value) -> Result<(), TestCaseError> {
    let parsed = serde_json::from_str::<T>(&value.to_string());
    let valid = schema.validate(value);
    match (&parsed, &valid) {
        (Ok(_), Ok(())) | (Err(_), Err(_)) => Ok(()),
        (Ok(_), Err(status)) => {
            // Known: serde also takes a list for a struct (at the root the action
            // refuses it), and `{"x":null}` for the unit variant `"x"`.
            let is_known = has_list(value) || has_null_member(value);
            prop_assert!(is_known, "serde takes {value}, the schema says {status}");
            Ok(())
        }
        (Err(error), Ok(())) => {
            // Known: the schema of a whole number takes `1.0` and knows no upper
            // bound of types from 32 bits on. serde refuses, and that is the answer.
            let error = error.to_string();
            let is_known = error.contains("floating point") || error.contains("invalid value: integer")
                // An internally tagged or untagged enum hides the reason.
                || value.to_string().contains(".0");
            prop_assert!(is_known, "the schema takes {value}, serde says {error}");
            Ok(())
        }
    }
}

fn has_list(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(members) => members.values().any(has_list),
        _ => false,
    }
}

fn has_null_member(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_null_member),
        Value::Object(members) => members.values().any(|v| v.is_null() || has_null_member(v)),
        _ => false,
    }
}

#[test]
fn serde_and_the_schema_agree() {
    let checks = [
        checker::<u8>(),
        checker::<i64>(),
        checker::<f64>(),
        checker::<Option<bool>>(),
        checker::<String>(),
        checker::<(u8, String)>(),
        checker::<Vec<Option<i16>>>(),
        checker::<BTreeMap<String, Value>>(),
        checker::<BTreeMap<String, u8>>(),
        checker::<Plain>(),
        checker::<Strict>(),
        checker::<Tagged>(),
        checker::<External>(),
        checker::<Untagged>(),
    ];
    let config =
        ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(value in any_json())| {
        for check in &checks {
            check(&value)?;
        }
    });
}
