//! Values come back as they were sent, or are refused: never changed.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

use oxikit::prelude::*;
use oxikit_core::Payload;
use oxikit_serve::Server;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tokio::sync::oneshot;

use crate::kit::{Answer, Client, post};

/// Members of known names, of any name, and any JSON.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Typed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    a: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<BTreeMap<String, Value>>,
    #[serde(flatten)]
    more: HashMap<String, Value>,
}

struct App {
    address: SocketAddr,
    _stop: oneshot::Sender<()>,
}

async fn app() -> App {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("tree", |input: Value| async move { Ok(input) });
    ai.define_flow("typed", |input: Typed| async move { Ok(input) });
    ai.define_flow("map", |input: BTreeMap<String, Value>| async move { Ok(input) });
    ai.define_flow("raw", |input: Payload| async move { Ok(input) });
    let agent = oxikit::Agent::builder("helper")
        .turn(|it: oxikit::Turn| async move { Ok(it.answer("yes")) });
    ai.define_agent(agent).unwrap();
    let server = Server::new(&ai).agents_api().port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(async move { drop(stopped.await) }));
    App { address, _stop: stop }
}

/// JSON as it stands in a text: numbers as they are written, members as often as they
/// are there.
#[derive(Debug, Clone, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    fn write(&self, out: &mut String) {
        let quoted = |text: &str| serde_json::to_string(text).unwrap();
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(&value.to_string()),
            Self::Number(number) => out.push_str(number),
            Self::Text(text) => out.push_str(&quoted(text)),
            Self::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, member)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    out.push_str(&quoted(name));
                    out.push(':');
                    member.write(out);
                }
                out.push('}');
            }
        }
    }

    /// Reads what a server has written; it is compact, and strings have no braces.
    fn read(text: &str) -> Self {
        let (value, rest) = Self::read_some(text);
        assert_eq!(rest, "", "{text}");
        value
    }

    fn read_some(text: &str) -> (Self, &str) {
        if let Some(mut rest) = text.strip_prefix('[') {
            let mut items = Vec::new();
            while !rest.starts_with(']') {
                let (item, after) = Self::read_some(rest.trim_start_matches([',', ' ']));
                items.push(item);
                rest = after;
            }
            return (Self::List(items), &rest[1..]);
        }
        if let Some(mut rest) = text.strip_prefix('{') {
            let mut members = Vec::new();
            while !rest.starts_with('}') {
                let (name, after) = Self::read_some(rest.trim_start_matches([',', ' ']));
                let Self::Text(name) = name else { panic!("{text}") };
                let (member, after) = Self::read_some(after.strip_prefix(':').unwrap());
                members.push((name, member));
                rest = after;
            }
            return (Self::Object(members), &rest[1..]);
        }
        let end = match text.strip_prefix('"') {
            Some(inside) => inside.find('"').unwrap() + 2,
            None => text.find([',', ']', '}']).unwrap_or(text.len()),
        };
        let (word, rest) = text.split_at(end);
        let value = match word {
            "null" => Self::Null,
            "true" | "false" => Self::Bool(word == "true"),
            text if text.starts_with('"') => Self::Text(serde_json::from_str(text).unwrap()),
            number => Self::Number(number.to_owned()),
        };
        (value, rest)
    }

    /// Whether both say the same: the order of members does not matter.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => is_same_number(one, other),
            (Self::List(one), Self::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, two)| one.is_same(two))
            }
            (Self::Object(one), Self::Object(other)) => {
                one.len() == other.len()
                    && one.iter().all(|(name, member)| {
                        other.iter().any(|(twin, two)| name == twin && member.is_same(two))
                    })
            }
            _ => self == other,
        }
    }

    /// Without members that say nothing: a type may leave them out.
    fn shortened(mut self) -> Self {
        if let Self::Object(members) = &mut self {
            let says_nothing =
                |member: &Self| matches!(member, Self::Null) || *member == Self::List(Vec::new());
            members.retain(|(_, member)| !says_nothing(member));
        }
        self
    }

    /// Whether every JSON parser reads the same value: no name is repeated, and every number fits.
    fn is_plain(&self) -> bool {
        match self {
            Self::Number(number) => {
                number.parse::<i64>().is_ok()
                    || number.parse::<u64>().is_ok()
                    || (number.len() <= 15 && number.parse::<f64>().unwrap().is_finite())
            }
            Self::List(items) => items.iter().all(Self::is_plain),
            Self::Object(members) => {
                let names: std::collections::HashSet<_> =
                    members.iter().map(|(name, _)| name).collect();
                names.len() == members.len() && members.iter().all(|(_, member)| member.is_plain())
            }
            _ => true,
        }
    }
}

/// Integers are compared digit by digit, fractions as doubles.
fn is_same_number(one: &str, other: &str) -> bool {
    let value = |number: &str| number.parse::<f64>().unwrap();
    let is_small = value(one).abs() < 9_007_199_254_740_992.0;
    let is_integer = |number: &str| !number.contains(['.', 'e', 'E']);
    if is_small && !is_integer(one) {
        return value(one) == value(other);
    }
    digits(one) == digits(other)
}

/// Sign, digits without zeros at the ends, and the place of the first one.
fn digits(number: &str) -> (bool, String, i64) {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let whole = whole.trim_start_matches(['-', '+']);
    let all = format!("{whole}{fraction}");
    let rest = all.trim_start_matches('0');
    if rest.is_empty() {
        return (false, String::new(), 0);
    }
    let place = exponent.parse::<i64>().unwrap() + (whole.len() + rest.len() - all.len()) as i64;
    (number.starts_with('-'), rest.trim_end_matches('0').to_owned(), place)
}

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<u128>().prop_map(|number| number.to_string()),
        any::<i128>().prop_map(|number| number.to_string()),
        // Around the limits of 53, 63 and 64 bits.
        (prop_oneof![Just(53_u32), Just(63), Just(64), Just(70)], -3_i128..=3, any::<bool>())
            .prop_map(|(bits, more, is_negative)| {
                let number = (1_i128 << bits) + more;
                if is_negative { (-number).to_string() } else { number.to_string() }
            }),
        // As JavaScript and Rust write doubles.
        any::<f64>()
            .prop_filter("JSON has no others", |number| number.is_finite())
            .prop_map(|number| format!("{number:?}")),
        (1_u64.., 16_u32..30).prop_map(|(digits, zeros)| format!("{digits}e{zeros}")),
        (1_u64.., 0_u64..).prop_map(|(whole, fraction)| format!("{whole}.{fraction}")),
        Just("-0".to_owned()),
        Just("1e999".to_owned()),
        Just("18446744073709552000".to_owned()),
        "[1-9][0-9]{15,60}",
    ]
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]",
        1 => Just("__proto__".to_owned()),
        1 => Just("constructor".to_owned()),
        1 => Just("é".to_owned()),
        2 => "[a-z]{1,3}",
    ]
}

fn json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        numbers().prop_map(Json::Number),
        "[a-z0-9 ]{0,6}".prop_map(Json::Text),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::List),
            prop::collection::vec((names(), inner), 0..12).prop_map(Json::Object),
        ]
    })
}

fn text_of(value: &Json) -> String {
    let mut text = String::new();
    value.write(&mut text);
    text
}

/// The result of a flow as it was written, or `None` if the input was refused.
fn result(answer: &Answer) -> Option<&str> {
    if answer.status != 200 {
        answer.assert_error(400, "INVALID_ARGUMENT");
        return None;
    }
    Some(answer.text().strip_prefix("{\"result\":").unwrap().strip_suffix('}').unwrap())
}

/// Sends it to all flows, on one connection.
async fn check(address: SocketAddr, value: &Json) {
    let mut client = Client::connect(address).await;
    let text = text_of(value);
    let mut ask = async |path: &str| {
        client.send(post(path, "", format!("{{\"data\":{text}}}"))).await;
        client.answer().await.unwrap()
    };
    assert_eq!(result(&ask("/raw").await), Some(text.as_str()), "passed on as it is");
    let tree = ask("/tree").await;
    match result(&tree) {
        Some(read) => assert!(Json::read(read).is_same(value), "{text} became {read}"),
        None => assert!(!value.is_plain(), "{text} was refused: {tree:?}"),
    }
    for path in ["/typed", "/map"] {
        let answer = ask(path).await;
        let fits = matches!(value, Json::Object(_)) && path == "/map";
        match result(&answer) {
            Some(read) => {
                let is_same = Json::read(read).shortened().is_same(&value.clone().shortened());
                assert!(is_same, "{path}: {text} became {read}");
            }
            None => assert!(!fits || !value.is_plain(), "{text} was refused: {answer:?}"),
        }
    }
}

#[test]
fn a_value_comes_back_as_it_was_sent_or_is_refused() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let app = runtime.block_on(app());
    let address = app.address;
    let mut runner =
        TestRunner::new(Config { cases: 1000, failure_persistence: None, ..Config::default() });
    runner
        .run(&json(), |value| {
            let checked =
                runtime.block_on(runtime.spawn(async move { check(address, &value).await }));
            checked.map_err(|failure| TestCaseError::fail(format!("{failure:?}")))
        })
        .unwrap();
}

#[tokio::test]
async fn a_refusal_names_the_number_or_the_member() {
    let app = app().await;
    let mut client = Client::connect(app.address).await;
    for (path, data, expected) in [
        ("/tree", "18446744073709551616", "the number 18446744073709551616"),
        ("/tree", r#"[{"n":-9223372036854775809}]"#, "the number -9223372036854775809"),
        ("/tree", r#"{"price":1,"x":{},"price":2}"#, "the member `price`"),
        ("/tree", r#"{"a":{"\u0062":1,"b":2}}"#, "the member `b`"),
        ("/map", r#"{"price":1,"price":2}"#, "the member `price`"),
        ("/typed", r#"{"a":{"x":1,"x":1}}"#, "the member `x`"),
        ("/typed", r#"{"list":[{"x":1,"x":1}]}"#, "the member `x`"),
        ("/typed", r#"{"a":1,"a":1}"#, "duplicate field `a`"),
        (
            "/typed",
            r#"{"a":340282366920938463463374607431768211455}"#,
            "the number 3402823669209384",
        ),
    ] {
        client.send(post(path, "", format!("{{\"data\":{data}}}"))).await;
        let answer = client.answer().await.unwrap();
        answer.assert_error(400, "INVALID_ARGUMENT");
        assert!(answer.text().contains(expected), "{path} {data}: {answer:?}");
    }
    // Values that arrive unchanged.
    for data in ["18446744073709551615", "-9223372036854775808", "-0.0", r#"{"__proto__":{"a":1}}"#]
    {
        client.send(post("/tree", "", format!("{{\"data\":{data}}}"))).await;
        let answer = client.answer().await.unwrap();
        assert_eq!(result(&answer), Some(data));
    }
}

#[tokio::test]
async fn what_an_agent_is_sent_is_kept_or_refused() {
    let app = app().await;
    let mut client = Client::connect(app.address).await;
    for (inside, is_kept) in [
        (r#"{"n":18446744073709551615}"#, true),
        (r#"{"n":18446744073709551616}"#, false),
        (r#"{"n":{"a":1,"a":2}}"#, false),
    ] {
        let message =
            format!(r#"{{"role":"user","content":[{{"text":"hi"}}],"metadata":{inside}}}"#);
        let state = format!(r#"{{"custom":{inside}}}"#);
        for request in [
            post("/api/agents/helper/execute", "", format!(r#"{{"input":{message}}}"#)),
            post(
                "/api/agents/helper/execute",
                "",
                format!(r#"{{"input":{{"message":{message}}}}}"#),
            ),
            post(
                "/api/agents/helper/execute",
                "",
                format!(r#"{{"input":"hi","init":{{"state":{state}}}}}"#),
            ),
            post(
                "/api/agents/helper/execute",
                "",
                format!(r#"{{"input":"hi","telemetryLabels":{inside}}}"#),
            ),
            post("/helper", "", format!(r#"{{"data":{{"message":{message}}},"init":{{}}}}"#)),
            post(
                "/helper",
                "",
                format!(r#"{{"data":{{"message":{message}}},"init":{{"state":{state}}}}}"#),
            ),
        ] {
            client.send(&request).await;
            let answer = client.answer().await.unwrap();
            let request = String::from_utf8_lossy(&request);
            assert_eq!(answer.status == 200, is_kept, "{request}\n{answer:?}");
            if !is_kept {
                answer.assert_error(400, "INVALID_ARGUMENT");
            }
        }
    }
}
