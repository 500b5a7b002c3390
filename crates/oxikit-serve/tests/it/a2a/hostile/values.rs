//! Data of clients is kept exactly as it is sent, or refused: never changed.

use oxikit_wire::a2a::ErrorKind::{self, InvalidParams, ParseError};
use oxikit_wire::a2a::Version;
use serde_json::Value;

use super::{WAYS, Way, answer_json, target};

/// Data that is refused, as JSON text.
fn refused() -> Vec<(String, ErrorKind)> {
    let deep = |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let lists = |levels: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
    vec![
        (r#"{"a":1,"a":2}"#.to_owned(), InvalidParams),
        (r#"{"a":{"b":1,"\u0062":2}}"#.to_owned(), InvalidParams),
        (r#"{"n":18446744073709551616}"#.to_owned(), InvalidParams),
        (r#"{"n":-9223372036854775809}"#.to_owned(), InvalidParams),
        (r#"{"n":100000000000000000000000000000000000001}"#.to_owned(), InvalidParams),
        (r#"{"n":1e999}"#.to_owned(), ParseError),
        (r#"{"n":-1e999}"#.to_owned(), ParseError),
        (r#"{"t":"\ud800"}"#.to_owned(), ParseError),
        (deep(128), ParseError),
        (deep(100_000), ParseError),
        (lists(100_000), ParseError),
    ]
}

/// Data that is kept.
const KEPT: [&str; 6] = [
    r#"{"n":18446744073709551615}"#,
    r#"{"n":-9223372036854775808}"#,
    r#"{"n":1e22,"f":0.30000000000000004}"#,
    r#"{"__proto__":{"admin":true},"constructor":{"prototype":1}}"#,
    r#"{"t":"\u0000\ud83d\ude00"}"#,
    r#"{"a":{"a":{"a":[[[[{"a":null}]]]]}}}"#,
];

/// Valid parameters with these metadata of the message.
fn with_metadata(way: Way, metadata: &str) -> String {
    let mut params = way.send_params();
    params["message"]["metadata"] = Value::from("HERE");
    params.to_string().replace("\"HERE\"", metadata)
}

/// The same with a part of data.
fn with_data(way: Way, data: &str) -> String {
    let part = match way {
        Way::Rpc(Version::V0_3) => format!(r#"{{"kind":"data","data":{data}}}"#),
        Way::Rest(Version::V0_3) => format!(r#"{{"data":{{"data":{data}}}}}"#),
        _ => format!(r#"{{"data":{data}}}"#),
    };
    let mut params = way.send_params();
    params["message"][way.parts()] = Value::from("HERE");
    params.to_string().replace("\"HERE\"", &format!("[{part}]"))
}

#[tokio::test]
async fn data_that_would_be_changed_is_refused() {
    let target = target().await;
    for way in WAYS {
        for (data, kind) in refused() {
            for params in [with_metadata(way, &data), with_data(way, &data)] {
                let answer = target.send(way, false, &params).await;
                let what = &params[..params.len().min(200)];
                way.assert_refused(&answer, kind, what);
            }
        }
        let twice = way
            .send_params()
            .to_string()
            .replace(r#""messageId":"m""#, r#""messageId":"m","messageId":"n""#);
        let answer = target.send(way, true, &twice).await;
        way.assert_refused(&answer, InvalidParams, &twice);
    }
    target.assert_untouched().await;
}

#[tokio::test]
async fn all_other_data_is_kept_exactly() {
    let target = target().await;
    for way in WAYS {
        for data in KEPT {
            let expected: Value = serde_json::from_str(data).unwrap();
            let task = |answer: &Value| match way {
                Way::Rpc(Version::V0_3) => answer["result"].clone(),
                Way::Rpc(Version::V1_0) => answer["result"]["task"].clone(),
                Way::Rest(_) => answer["task"].clone(),
            };
            let sent = target.send(way, false, &with_metadata(way, data)).await;
            let message = &task(&answer_json(&sent))["history"][0];
            assert_eq!(message["metadata"], expected, "{way:?} {data}");
            let sent = target.send(way, false, &with_data(way, data)).await;
            let part = &task(&answer_json(&sent))["history"][0][way.parts()][0];
            let kept =
                if way == Way::Rest(Version::V0_3) { &part["data"]["data"] } else { &part["data"] };
            assert_eq!(*kept, expected, "{way:?} {data} {part}");
        }
    }
}
