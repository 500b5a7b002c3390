//! Random and damaged bodies through every reader of both versions: each is read or refused, and
//! none panics.

use oxikit_wire::a2a::v0_3::{self, rest};
use oxikit_wire::a2a::{
    AgentCard, CancelTaskRequest, ErrorKind, ErrorReply, GetTaskRequest, JsonRpcRequest,
    JsonRpcResponse, ListPushConfigsRequest, ListPushConfigsResponse, ListTasksRequest,
    ListTasksResponse, Message, Operation, PushConfig, PushConfigRequest, SendMessageRequest,
    StreamResponse, SubscribeRequest, Task, Version,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::exchanges::{JSON_RPC_V0_3, JSON_RPC_V1_0, REST_V0_3, REST_V1_0, read};

/// Number of bodies of each kind. The variable `OXIKIT_CASES` sets another one.
const CASES: u32 = 2_000;

/// A change of a body.
#[derive(Debug, Clone)]
enum Change {
    /// Replaces a byte.
    Byte(Index, u8),
    /// Removes bytes from one place to another.
    Cut(Index, Index),
    /// Ends the body early.
    Truncate(Index),
    /// Repeats bytes from one place to another.
    Repeat(Index, Index),
    /// Inserts a piece of JSON, or of other text.
    Insert(Index, &'static str),
    /// Replaces the value at this place of the document.
    Replace(Index, &'static str),
}

const PIECES: [&str; 24] = [
    "null",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "0",
    "1.5",
    "1e999",
    "18446744073709551615",
    "18446744073709551616",
    "true",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "{\"__proto__\":{}}",
    "{\"kind\":\"task\"}",
    "{\"text\":\"a\",\"url\":\"b\"}",
    "[[[[[[[[[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
    ",",
    ":",
    "}",
    "\u{feff}",
    "\u{1f600}",
    "\"TASK_STATE_UNSPECIFIED\"",
];

fn change() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    let piece = || select(PIECES.to_vec());
    prop_oneof![
        1 => (place(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => (place(), place()).prop_map(|(from, to)| Change::Cut(from, to)),
        1 => place().prop_map(Change::Truncate),
        1 => (place(), place()).prop_map(|(from, to)| Change::Repeat(from, to)),
        1 => (place(), piece()).prop_map(|(at, piece)| Change::Insert(at, piece)),
        4 => (place(), piece()).prop_map(|(at, piece)| Change::Replace(at, piece)),
    ]
}

impl Change {
    fn apply(&self, body: Vec<u8>) -> Vec<u8> {
        if body.is_empty() {
            return body;
        }
        let mut body = body;
        let range = |from: &Index, to: &Index| {
            let (from, to) = (from.index(body.len()), to.index(body.len()));
            from.min(to)..from.max(to)
        };
        match self {
            Self::Byte(at, byte) => {
                let at = at.index(body.len());
                body[at] = *byte;
            }
            Self::Cut(from, to) => drop(body.drain(range(from, to))),
            Self::Truncate(at) => body.truncate(at.index(body.len())),
            Self::Repeat(from, to) => {
                let piece = body[range(from, to)].to_vec();
                body.extend(piece);
            }
            Self::Insert(at, piece) => {
                let at = at.index(body.len());
                body.splice(at..at, piece.bytes());
            }
            Self::Replace(at, piece) => return replaced(&body, *at, piece),
        }
        body
    }
}

/// The document with another value at a place; the body as it is if either is not JSON.
fn replaced(body: &[u8], at: Index, piece: &str) -> Vec<u8> {
    let (Ok(mut document), Ok(piece)) =
        (serde_json::from_slice::<Value>(body), serde_json::from_str::<Value>(piece))
    else {
        return body.to_vec();
    };
    let mut number = at.index(count(&document));
    if let Some(place) = nth(&mut document, &mut number) {
        *place = piece;
    }
    serde_json::to_vec(&document).unwrap()
}

/// Number of values in a document, with itself.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

fn nth<'a>(value: &'a mut Value, number: &mut usize) -> Option<&'a mut Value> {
    if *number == 0 {
        return Some(value);
    }
    *number -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| nth(item, number)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, number)),
        _ => None,
    }
}

/// Reads a body by every reader of a server and of a client.
fn read_all(body: &[u8]) {
    match JsonRpcRequest::read(body) {
        Ok(request) => read_request(&request),
        Err(refused) => {
            // The response must be JSON whatever the request was.
            serde_json::from_str::<Value>(&refused.id).unwrap();
            assert!(!refused.error.to_string().is_empty());
        }
    }
    read_as::<rest::In<SendMessageRequest>>(body);
    read_as::<rest::In<PushConfig>>(body);
    read_as::<rest::In<Task>>(body);
    read_as::<rest::In<ListTasksResponse>>(body);
    read_as::<rest::Event>(body);
    read_as::<v0_3::Event>(body);
    read_as::<SendMessageRequest>(body);
    read_as::<PushConfig>(body);
    read_as::<ListTasksRequest>(body);
    read_as::<ListTasksResponse>(body);
    read_as::<ListPushConfigsResponse>(body);
    read_as::<StreamResponse>(body);
    read_as::<Task>(body);
    read_as::<Message>(body);
    read_as::<AgentCard>(body);
    read_as::<ErrorReply>(body);
    let text = String::from_utf8_lossy(body);
    _ = serde_json::from_str::<JsonRpcResponse<'_>>(&text);
}

fn read_as<T: DeserializeOwned>(body: &[u8]) {
    _ = serde_json::from_slice::<T>(body);
}

/// Dispatches a request and reads its parameters in both versions.
fn read_request(request: &JsonRpcRequest<'_>) {
    serde_json::from_str::<Value>(request.id).unwrap();
    for header in [None, Some("0.3"), Some("1.0"), Some("9.9")] {
        _ = Operation::dispatch(&request.method, header);
    }
    if let Ok(sent) = request.params::<SendMessageRequest>() {
        _ = sent.check();
    }
    if let Ok(v0_3::In(sent)) = request.params::<v0_3::In<SendMessageRequest>>() {
        _ = sent.check();
    }
    _ = request.params::<GetTaskRequest>();
    _ = request.params::<v0_3::In<GetTaskRequest>>();
    _ = request.params::<CancelTaskRequest>();
    _ = request.params::<v0_3::In<CancelTaskRequest>>();
    _ = request.params::<SubscribeRequest>();
    _ = request.params::<v0_3::In<SubscribeRequest>>();
    _ = request.params::<ListTasksRequest>();
    _ = request.params::<PushConfig>();
    _ = request.params::<v0_3::In<PushConfig>>();
    _ = request.params::<PushConfigRequest>();
    _ = request.params::<v0_3::In<PushConfigRequest>>();
    _ = request.params::<ListPushConfigsRequest>();
    _ = request.params::<v0_3::In<ListPushConfigsRequest>>();
}

/// Requests and responses of the official clients and servers.
fn recorded() -> Vec<Vec<u8>> {
    let files = [&JSON_RPC_V0_3[..], &JSON_RPC_V1_0, &REST_V0_3, &REST_V1_0].concat();
    let exchanges = files.into_iter().flat_map(read);
    let bodies = exchanges.flat_map(|it| [it.request].into_iter().chain(it.responses));
    let mut bodies: Vec<Vec<u8>> = bodies
        .filter(|body| !body.is_null())
        .map(|body| serde_json::to_vec(&body).unwrap())
        .collect();
    bodies.sort();
    bodies.dedup();
    bodies
}

fn config() -> ProptestConfig {
    let cases = std::env::var("OXIKIT_CASES").ok().map(|cases| cases.parse().unwrap());
    ProptestConfig {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_bytes_are_read_or_refused(body in vec(any::<u8>(), 0..200)) {
        read_all(&body);
    }

    #[test]
    fn random_pieces_of_json_are_read_or_refused(pieces in vec(select(PIECES.to_vec()), 0..20)) {
        read_all(pieces.concat().as_bytes());
    }

    #[test]
    fn damaged_messages_are_read_or_refused(
        body in select(recorded()),
        changes in vec(change(), 1..5),
    ) {
        let damaged = changes.iter().fold(body, |body, change| change.apply(body));
        read_all(&damaged);
    }

    #[test]
    fn versions_of_any_text_are_known_or_refused(text in "\\PC{0,12}") {
        if let Ok(Some(version)) = Version::from_header(Some(&text)) {
            prop_assert!(text.trim().starts_with(version.name()));
        }
    }
}

/// Depth costs no stack: it is refused, wherever it is.
#[test]
fn deep_bodies_are_refused() {
    let levels = 100_000;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}1{}", open.repeat(levels), close.repeat(levels));
        read_all(deep.as_bytes());
        read_all(open.repeat(levels).as_bytes());
        let part = format!(r#"{{"kind":"data","data":{{"a":{deep}}}}}"#);
        let message = format!(r#"{{"messageId":"m","role":"ROLE_USER","parts":[{part}]}}"#);
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{{"message":{message}}}}}"#
        );
        let read = JsonRpcRequest::read(request.as_bytes()).unwrap();
        for error in [
            read.params::<SendMessageRequest>().unwrap_err(),
            read.params::<v0_3::In<SendMessageRequest>>().unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::ParseError, "{error}");
        }
        assert!(serde_json::from_str::<Message>(&message).is_err());
        assert!(serde_json::from_str::<rest::In<Message>>(&message).is_err());
    }
}
