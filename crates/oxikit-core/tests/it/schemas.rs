//! Schemas from outside.

use std::time::{Duration, Instant};

use oxikit_core::{Schema, StatusCode, model_schema_of};
use schemars::JsonSchema;
use serde_json::{Value, json};

#[track_caller]
fn refuse(schema: Value, why: &str) {
    let status = Schema::from_json(schema).unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.message().contains(why), "{status}");
}

#[test]
fn a_schema_has_a_size_and_a_depth() {
    refuse(json!({"description": "x".repeat(256 * 1024)}), "bytes");
    assert!(Schema::from_json(json!({"description": "x".repeat(200 * 1024)})).is_ok());
    let nested = |depth| (0..depth).fold(json!({}), |inner, _| json!({"not": inner}));
    refuse(nested(64), "nested");
    refuse(nested(120), "nested");
    assert!(Schema::from_json(nested(63)).is_ok());
}

#[test]
fn a_schema_never_makes_the_process_read_a_file_or_call_a_host() {
    for reference in [
        "http://127.0.0.1:1/schema.json",
        "https://example.com/schema.json",
        "file:///etc/passwd",
        "other.json#/definitions/a",
        "//example.com/x",
    ] {
        refuse(json!({"$ref": reference}), "bad JSON schema");
        refuse(json!({"properties":{"a":{"items":{"$ref": reference}}}}), "bad JSON schema");
        refuse(
            json!({"$id": "http://example.com/base/", "properties":{"a":{"$ref": reference}}}),
            "bad JSON schema",
        );
    }
    assert!(
        Schema::from_json(json!({"$ref":"#/definitions/a","definitions":{"a":{"type":"string"}}}))
            .is_ok()
    );
}

#[test]
fn a_broken_schema_is_refused() {
    for schema in [
        json!("string"),
        json!(1),
        json!({"type":"strong"}),
        json!({"pattern":"("}),
        json!({"$ref":"#/nowhere"}),
    ] {
        refuse(schema, "bad JSON schema");
    }
    assert!(Schema::from_json(json!(true)).is_ok());
}

#[track_caller]
fn ends_soon(schema: Value, value: &Value) {
    let begun = Instant::now();
    if let Ok(schema) = Schema::from_json(schema) {
        _ = schema.validate(value);
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn a_reference_to_itself_ends() {
    ends_soon(json!({"$ref":"#"}), &json!({"a":1}));
    ends_soon(json!({"anyOf":[{"$ref":"#"},{"$ref":"#"}]}), &json!({"a":1}));
    ends_soon(json!({"not":{"$ref":"#"}}), &json!(1));
    ends_soon(
        json!({"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}),
        &json!(1),
    );
}

#[test]
fn a_schema_that_doubles_at_each_reference_ends() {
    for applicator in ["anyOf", "oneOf", "allOf"] {
        let mut definitions = serde_json::Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/definitions/d{}", level + 1)});
            definitions.insert(format!("d{level}"), json!({applicator:[next, next]}));
        }
        definitions.insert("d40".into(), json!({"type":"string"}));
        ends_soon(json!({"$ref":"#/definitions/d0","definitions":definitions}), &json!(1));
    }
}

#[test]
fn a_schema_that_doubles_at_each_level_of_the_value_ends() {
    let deep = (0..40).fold(json!(1), |inner, _| json!({"a": inner}));
    for applicator in ["anyOf", "oneOf", "allOf"] {
        let below = json!({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]});
        ends_soon(json!({applicator:[below, below]}), &deep);
    }
}

#[test]
fn a_long_chain_of_references_does_not_use_up_the_stack() {
    for length in [20, 120, 5000] {
        let mut definitions = serde_json::Map::new();
        for level in 0..length {
            let next = json!({"allOf":[{"$ref": format!("#/definitions/d{}", level + 1)}]});
            definitions.insert(format!("d{level}"), next);
        }
        definitions.insert(format!("d{length}"), json!({"properties":{"a":{"$ref":"#"}}}));
        let schema = json!({"$ref":"#/definitions/d0","definitions":definitions});
        let deep = (0..120).fold(json!(1), |inner, _| json!({"a": inner}));
        ends_soon(schema, &deep);
    }
}

#[test]
fn a_long_list_of_alternatives_ends() {
    let all: Vec<_> =
        (0..5000).map(|n| json!({"properties":{"a":{"const":n}},"required":["a"]})).collect();
    ends_soon(json!({"anyOf":all}), &json!({"a":-1}));
    ends_soon(json!({"oneOf":all}), &json!({"a":-1}));
    let wide: Vec<_> = (0..2000).map(|n| json!({"a":n})).collect();
    let few: Vec<_> = (0..20).map(|n| json!({"required":[format!("m{n}")]})).collect();
    ends_soon(json!({"items":{"anyOf":few}}), &json!(wide));
}

#[test]
fn a_hungry_pattern_ends() {
    ends_soon(json!({"pattern":"^(a+)+$"}), &json!("a".repeat(50_000) + "!"));
    ends_soon(json!({"pattern":"^(?=(a+)+$).*"}), &json!("a".repeat(5_000) + "!"));
}

#[test]
fn models_are_given_schemas_without_references_and_numeric_formats() {
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Place {
        /// Name of the town.
        town: String,
        at: Point,
        people: Option<u32>,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Point {
        x: f64,
    }
    assert_eq!(
        model_schema_of::<Place>(),
        json!({
            "type":"object","required":["town","at"],"properties":{
                "town":{"description":"Name of the town.","type":"string"},
                "at":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]},
                "people":{"type":["integer","null"],"minimum":0},
            },
        })
    );
}
