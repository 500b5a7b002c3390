use std::borrow::Cow;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{REDACTED, is_secret_name, json_text, text, value};

/// In each row, `§` is where the secret stands, and must not be seen afterwards.
#[track_caller]
fn covers(template: &str, secret: &str, expected: &str) {
    let planted = template.replace('§', secret);
    let covered = text(&planted);
    assert!(!covered.contains(secret), "{secret} is still in {covered}");
    assert_eq!(covered, expected.replace('§', REDACTED), "{planted}");
    assert_eq!(text(&covered), covered, "covering twice changes nothing");
}

#[track_caller]
fn keeps(clean: &str) {
    assert!(matches!(text(clean), Cow::Borrowed(_)), "{clean} became {}", text(clean));
}

#[test]
fn values_under_secret_names_in_json() {
    for (template, expected) in [
        (r#"{"password":"§"}"#, r#"{"password":"§"}"#),
        (r#"{"user":{"Password" : "§"},"n":1}"#, r#"{"user":{"Password" : "§"},"n":1}"#),
        (r#"[[{"api_key":"§"}],2]"#, r#"[[{"api_key":"§"}],2]"#),
        (r#"{"x-api-key":["§","b"],"n":1}"#, r#"{"x-api-key":"§","n":1}"#),
        (r#"{"credentials":{"a":"§","b":{"c":"}]"}},"n":1}"#, r#"{"credentials":"§","n":1}"#),
        (r#"{"token":§,"n":1}"#, r#"{"token":"§","n":1}"#),
        (r#"{"secret":-§}"#, r#"{"secret":"§"}"#),
        (r#"{"Set-Cookie":"a=\"§\"; Path=/","n":1}"#, r#"{"Set-Cookie":"§","n":1}"#),
        (
            r#"{"client_secret":"a\\","n":"b","PASSWD":"§\\"}"#,
            r#"{"client_secret":"§","n":"b","PASSWD":"§"}"#,
        ),
        (
            "{\n  \"Proxy-Authorization\":\n    \"§\"\n}",
            "{\n  \"Proxy-Authorization\":\n    \"§\"\n}",
        ),
        (r#"{"dbPassword":"ä § ö","ü":1}"#, r#"{"dbPassword":"§","ü":1}"#),
        (r#"{"p\u0061ssword":"§","n":1}"#, r#"{"password":"§","n":1}"#),
        (r#"{"private key":"§"}"#, r#"{"private key":"§"}"#),
        (r#"{"SeSsIoN_tOkEn":"§"}"#, r#"{"SeSsIoN_tOkEn":"§"}"#),
    ] {
        covers(template, "4711081547", expected);
        serde_json::from_str::<Value>(&expected.replace('§', REDACTED)).unwrap();
    }
}

#[test]
fn values_under_secret_names_in_json_inside_of_strings() {
    let plain = json!({"a": 1, "password": "two \"words\" \\ 4711", "b": ["x"]});
    let mut nested = plain.clone();
    for depth in 0..4 {
        let covered = text(&nested.to_string()).into_owned();
        assert!(!covered.contains("4711"), "at depth {depth}: {covered}");
        let mut read: Value = serde_json::from_str(&covered).unwrap();
        for _ in 0..depth {
            read = serde_json::from_str(read["text"].as_str().unwrap()).unwrap();
        }
        assert_eq!(read, json!({"a": 1, "password": REDACTED, "b": ["x"]}), "at depth {depth}");
        nested = json!({"text": nested.to_string()});
    }
    for (template, expected) in [
        (r#"{"t":"{\"token\":§,\"n\":1}","n":1}"#, r#"{"t":"{\"token\":\"§\",\"n\":1}","n":1}"#),
        (r#"{"t":"{\"token\":{\"a\":[\"§\"]}}"}"#, r#"{"t":"{\"token\":\"§\"}"}"#),
        (r#"{"t":"{\n \"token\":\n \"§\"}"}"#, r#"{"t":"{\n \"token\":\n \"§\"}"}"#),
        (r#"{"t":"{\"token\":\"§","n":1}"#, r#"{"t":"{\"token\":\"§","n":1}"#),
        (r#"{"t":"{\"token\":{\"a\":\"§","n":1}"#, r#"{"t":"{\"token\":\"§\"","n":1}"#),
        (r#"{"t":"{\u0022token\u0022:\u0022§\u0022}"}"#, r#"{"t":"{\"token\":\"§\"}"}"#),
    ] {
        covers(template, "4711081547", expected);
    }
}

#[test]
fn values_under_secret_names_in_cut_json_and_in_text() {
    for (template, expected) in [
        (r#"{"a":1,"password":"§"#, r#"{"a":1,"password":"§"#),
        (r#"{"a":1,"cookie":["x","§"#, r#"{"a":1,"cookie":"§""#),
        (r#"{"a":1,"token":§"#, r#"{"a":1,"token":"§""#),
        (r#"}]"a":1,"secret": "§" oops"#, r#"}]"a":1,"secret": "§" oops"#),
        (r#"Config { api_key: "§", n: 1 }"#, r#"Config { api_key: "§", n: 1 }"#),
        (
            r#"{"e":"Config { api_key: \"§\", n: 1 }"}"#,
            r#"{"e":"Config { api_key: \"§\", n: 1 }"}"#,
        ),
        ("{'password': '§', 'n': 1}", "{'password': '§', 'n': 1}"),
        ("GET /v1?a=1&access_token=§&b=2 failed", "GET /v1?a=1&access_token=§&b=2 failed"),
        (r#"password="§""#, r#"password="§""#),
        ("login failed password=§ user=ada", "login failed password=§ user=ada"),
        (r#"{"m":"a,\ntoken=§, b"}"#, r#"{"m":"a,\ntoken=§, b"}"#),
        ("Authorization: Basic §\r\nHost: x", "Authorization: Basic §\r\nHost: x"),
        ("set-cookie: §; Path=/", "set-cookie: §; Path=/"),
    ] {
        covers(template, "4711081547", expected);
    }
    covers("secret=§", "correct-horse-battery-staple", "secret=§");
}

#[test]
fn secrets_known_by_their_shape() {
    let secrets = [
        "sk-proj-4fT9xQ2mZk81LpWvN3cB7yRd",
        "sk-ant-api03-Qw8eRt5yUi2oPaSdFgHj",
        "AIzaSyD4k9L2m7Qx1Rv8Wb3Tn6Yc5Ze0Uf-_aB",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "gho_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsTuVwXyZ",
        "xoxb-263594206564-2343594206564-FGqddMF8",
        "xoxp-263594206564-2343594206564-FGqddMF8",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
        "-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKC\\n-----END RSA PRIVATE KEY-----",
    ];
    for secret in secrets {
        covers("§", secret, "§");
        covers(
            r#"{"messages":[{"text":"my key:\n§ is it"}]}"#,
            secret,
            r#"{"messages":[{"text":"my key:\n§ is it"}]}"#,
        );
        covers(r#"{"t":"{\"a\":\"§\"}"}"#, secret, r#"{"t":"{\"a\":\"§\"}"}"#);
    }
    for (template, secret, expected) in [
        ("Authorization: Bearer §", "mF_9.B5f-4.1JqMabcdef", "Authorization: Bearer §"),
        (r#"{"h":"bearer §"}"#, "abcdefghijklmnopqrst", r#"{"h":"bearer §"}"#),
        ("postgres://ada:§@db.example/x", "p:w@4711", "postgres://ada:§@db.example/x"),
        ("redis://:§@127.0.0.1:6379", "4711", "redis://:§@127.0.0.1:6379"),
        (r#"{"u":"https:\/\/ada:§@host\/a"}"#, "4711", r#"{"u":"https://ada:§@host/a"}"#),
        ("?key=%22§%22", "AIzaSyD4k9L2m7Qx1Rv8Wb3Tn6Yc5Ze0Uf-_aB", "?key=%22§%22"),
        (r#"{"k":"-----BEGIN PRIVATE KEY-----§","n":1}"#, "\\nMIIEp", r#"{"k":"§","n":1}"#),
        ("-----BEGIN PRIVATE KEY-----\n§", "MIIEpAIB", "§"),
    ] {
        covers(template, secret, expected);
    }
}

#[test]
fn what_is_no_secret_stays() {
    for clean in [
        "",
        r#"{"maxTokens":10,"inputTokens":3,"continuationToken":"abc","nextPageToken":"def"}"#,
        r#"{"token":null,"hasPassword":true,"secret":false,"password":""}"#,
        r#"{"passwordPolicy":"long","key":"value","monkey":"x","authority":"a","author":"b"}"#,
        r#"{"text":"the password: nobody knows it. A token = 4 letters; token=x"}"#,
        "password=readPassword() token = next_token_4711 apiKey: wrong, secret=word",
        "a task-management-system-with-2026-entries, sk-learn, risk-2026-assessment",
        "https://example.com:8080/a@b:c http://[::1]:80/ mailto:a@b",
        "the bearer of this letter; -----BEGIN CERTIFICATE-----",
        r#"{"image":"data:image/png;base64,iVBORw0KGgoeyJhbGciOiJIUzI1NiJ9"}"#,
        r#"{"html":"\u003cp\u003e \/ \u00e4 \u000a","path":"C:\\users\\token"}"#,
        r#"{"password":"<redacted>"}"#,
    ] {
        keeps(clean);
    }
}

#[test]
fn names() {
    for secret in [
        "authorization",
        "Proxy-Authorization",
        "COOKIE",
        "set-cookie",
        "token",
        "otel.resource.Token",
        "access_token",
        "refreshToken",
        "idToken",
        "session-token",
        "authToken",
        "secret",
        "clientSecret",
        "password",
        "passwd",
        "apiKey",
        "X-API-Key",
        "x-goog-api-key",
        "private_key",
        "credentials",
        "gcpCredential",
        "passphrase",
        "OPENAI_API_KEY",
        "aws_secret_access_key",
        "password_",
    ] {
        assert!(is_secret_name(secret), "{secret}");
    }
    for other in [
        "",
        "_",
        "tokens",
        "maxTokens",
        "nextPageToken",
        "continuationToken",
        "key",
        "auth",
        "secrets",
        "sessionId",
    ] {
        assert!(!is_secret_name(other), "{other}");
    }
}

#[test]
fn trees() {
    let mut tree =
        json!({"a":[{"password":"x","token":null}],"t":"Bearer 0123456789abcdef","n":1.5});
    value(&mut tree);
    assert_eq!(
        tree,
        json!({"a":[{"password":REDACTED,"token":null}],"t":"Bearer <redacted>","n":1.5})
    );
}

#[test]
fn broken_utf8_is_covered_too() {
    assert_eq!(json_text(b"{\"password\":\"\xff4711\"}"), r#"{"password":"<redacted>"}"#);
}

#[test]
fn hostile_text_takes_no_longer_than_other() {
    for piece in [
        "eyJ",
        "-eyJ",
        "sk-",
        "\\",
        "\"token\":",
        "\"token\":{",
        "\":",
        "a://",
        "bearer ",
        "-----BEGIN ",
        "&token=",
        "\"password\":\"\\",
        "xoxo-",
        "glrt-",
        "pat.",
        "access-sandbox-",
        "1Q~",
        "aaa1Q~",
        ".atlasv1.",
        "12345678:AA",
        "_mmk",
        "hooks.slack.com/services/",
    ] {
        let hostile = piece.repeat(256 * 1024 / piece.len());
        let start = std::time::Instant::now();
        text(&hostile);
        assert!(start.elapsed().as_millis() < 2000, "{piece}: {:?}", start.elapsed());
    }
}

/// JSON of all kinds, with names out of this list.
fn tree(names: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z ä\"\\\\/\n{}\\[\\]:,=']{0,24}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(prop::sample::select(names), inner.clone(), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
            inner.prop_map(|inner| inner.to_string().into()),
        ]
    })
}

const CLEAN: &[&str] = &["name", "maxTokens", "text", "a b", "nextPageToken", "ü\"", "keys", "\\"];
const MIXED: &[&str] = &["name", "text", "a b", "password", "api_key", "token", "\\", "ü\""];

proptest! {
    #[test]
    fn clean_json_is_never_changed(tree in tree(CLEAN), pretty: bool) {
        let json = if pretty { format!("{tree:#}") } else { tree.to_string() };
        prop_assert!(matches!(text(&json), Cow::Borrowed(_)), "{}", text(&json));
    }

    #[test]
    fn json_stays_json_and_like_the_tree(tree in tree(MIXED), pretty: bool) {
        let json = if pretty { format!("{tree:#}") } else { tree.to_string() };
        let covered = text(&json);
        let read: Value = serde_json::from_str(&covered).expect("the output is JSON");
        prop_assert_eq!(&text(&covered), &covered);
        let mut expected = tree;
        value(&mut expected);
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn cut_json_and_any_text_never_fail(tree in tree(MIXED), noise in ".{0,60}", at in 0_usize..400) {
        let json = tree.to_string();
        let cut = &json.as_bytes()[..at.min(json.len())];
        json_text(cut);
        text(&noise);
    }
}

#[test]
fn every_ending_passes_the_quick_look() {
    for ending in super::names::SECRET_ENDINGS {
        assert!(is_secret_name(&format!("my-{ending}")), "{ending}");
    }
}
