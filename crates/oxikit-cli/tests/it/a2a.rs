//! `oxikit a2a`, with the agent of the demo and with scripted cards.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use super::kit::{Ended, Started, TIMEOUT, ended, oxikit, run};

/// The demo, and the URL of its agent, which it shows at the start.
fn demo(dir: &Path) -> (Started, String) {
    let mut started = Started::new(dir, &["--demo"]);
    let line = started.line("try: oxikit a2a chat ");
    let url = line.rsplit(' ').next().unwrap().trim().to_owned();
    (started, url)
}

#[test]
fn the_agent_of_the_demo_is_called() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, url) = demo(dir.path());
    let ways = ["jsonrpc", "http"].map(|binding| ["1.0", "0.3"].map(|it| (binding, it)));
    for (binding, protocol) in ways.into_iter().flatten() {
        let way = ["--binding", binding, "--protocol", protocol];
        let call = |arguments: &[&str]| run(dir.path(), &[&["a2a"], arguments, &way].concat());
        let sent = call(&["send", &url, "hello", "--json"]);
        assert_eq!(sent.code, 0, "{sent:?}");
        let reply = sent.json();
        assert_eq!(reply["ok"], true);
        assert!(reply["text"].as_str().unwrap().contains("You said: hello"), "{reply}");
        let id = reply["task"]["id"].as_str().unwrap();
        assert_eq!(call(&["task", &url, id, "--json"]).json()["task"], reply["task"]);
        let shown = call(&["task", &url, id]);
        assert!(shown.stdout.starts_with("completed\n"), "{shown:?}");
        let late = call(&["cancel", &url, id, "--json"]);
        assert_eq!((late.code, &late.json()["error"]["details"]["code"]), (1, &json!(-32002)));
        let streamed = call(&["stream", &url, "hello"]);
        assert!(streamed.stdout.contains("You said: hello"), "{streamed:?}");
        let events = call(&["stream", &url, "hello", "--json"]).json_lines();
        assert!(events[0]["event"]["task"].is_object(), "{events:?}");
        assert_eq!(events.last().unwrap()["ok"], true);
    }
}

#[test]
fn a_chat_is_one_conversation() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, url) = demo(dir.path());
    let mut command = oxikit(dir.path());
    let command = command.args(["a2a", "chat", &url, "--json"]);
    let mut chat = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    chat.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    let mut stdout = String::new();
    chat.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(ended(&mut chat, TIMEOUT).unwrap().code(), Some(0));
    let chat = Ended { code: 0, stdout, stderr: String::new() };
    let replies = chat.json_lines();
    assert_eq!(replies.len(), 2, "{replies:?}");
    assert_eq!(replies[0]["task"]["contextId"], replies[1]["task"]["contextId"]);
}

#[test]
fn the_card_of_the_demo_is_shown_and_right() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, url) = demo(dir.path());
    let shown = run(dir.path(), &["a2a", "card", &url]);
    assert_eq!(shown.code, 0, "{shown:?}");
    assert!(shown.stdout.contains("JSONRPC") && shown.stdout.contains(&url), "{shown:?}");
    let card = run(dir.path(), &["a2a", "card", &url, "--json"]).json();
    assert_eq!((&card["ok"], &card["problems"]), (&json!(true), &json!([])));
    assert_eq!(card["card"]["protocolVersion"], "0.3.0");
}

const SIGNED: &str = include_str!("../../../../recordings/a2a-signed/signed-by-oxikit.json");
const KEY: &str = include_str!("../../../../recordings/a2a-signed/signed-by-oxikit.pem");

/// Shows a card that is served once, with these arguments.
fn card(dir: &Path, text: &str, arguments: &[&str]) -> Ended {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/agent-card.json", listener.local_addr().unwrap());
    let body = text.to_owned();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        _ = stream.read(&mut [0; 4096]).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let ended = run(dir, &[&["a2a", "card", &url], arguments].concat());
    server.join().unwrap();
    ended
}

#[test]
fn the_signature_of_a_card_is_shown_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("key.pem"), KEY).unwrap();
    let shown = card(dir.path(), SIGNED, &[]);
    assert!(shown.stdout.contains("signed with the key `key-1` (not checked"), "{shown:?}");
    let unsigned = card(dir.path(), "{\"name\":\"A\"}", &[]);
    assert!(unsigned.stdout.contains("not signed"), "{unsigned:?}");
    let valid = card(dir.path(), SIGNED, &["--key", "key.pem"]);
    assert!(
        valid.stdout.contains("signed with the key `key-1`; the signature is valid"),
        "{valid:?}"
    );
    let json = card(dir.path(), SIGNED, &["--key", "key.pem", "--json"]).json();
    assert_eq!(json["verified"], true);
    assert_eq!(json["signatures"][0], json!({ "algorithm": "ES256", "keyId": "key-1" }));
    let changed = SIGNED.replace("Tea", "Coffee");
    let refused = card(dir.path(), &changed, &["--key", "key.pem", "--json"]);
    assert_eq!((refused.code, &refused.json()["verified"]), (1, &json!(false)));
    let problems = refused.json()["problems"].to_string();
    assert!(problems.contains("no signature of the card is valid"), "{problems}");
}

#[test]
fn a_key_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("other.txt"), "not a key").unwrap();
    for (arguments, text) in [
        (["--key", "missing.pem"], "--key missing.pem cannot be used"),
        (["--key", "other.txt"], "--key other.txt cannot be used: the PEM text is not a public"),
        (["--jwks", "http://keys.example"], "--jwks http://keys.example cannot be used"),
    ] {
        let url = "http://127.0.0.1:1/agent-card.json";
        let ended = run(dir.path(), &[&["a2a", "card", url], &arguments[..]].concat());
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains(text), "{ended:?}");
    }
}

/// The problems that `a2a card` finds in this card.
fn problems(json: &Value) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let ended = card(dir.path(), &json.to_string(), &["--json"]);
    assert_eq!(ended.code, 1, "{ended:?}");
    serde_json::from_value(ended.json()["problems"].clone()).unwrap()
}

#[test]
fn a_wrong_card_is_explained() {
    let found = problems(&json!({
        "name": "", "protocolVersion": "1.0", "url": "http://other.example/a2a",
        "additionalInterfaces": [{ "url": "ftp://other.example", "transport": "HTTP+JSON" }],
        "skills": [{ "id": "a" }],
    }));
    for text in [
        "`description` is missing",
        "`defaultInputModes` is missing",
        "`name` is empty",
        "`protocolVersion` is `1.0`; beside `url` it must be `0.3.0`",
        "`additionalInterfaces` does not repeat `url`",
        "`http://other.example/a2a` is at another server",
        "`ftp://other.example` is not an HTTP address",
        "`skills[0].tags` is missing",
    ] {
        assert!(found.iter().any(|problem| problem.contains(text)), "{text}: {found:#?}");
    }
    let found = problems(&json!({
        "name": "A", "skills": [], "supportedInterfaces":
            [{ "url": "here", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0.1" }],
    }));
    for text in [
        "there are no skills",
        "no address has the binding `JSONRPC`",
        "`here` is not a URL",
        "the protocolVersion `1.0.1`",
    ] {
        assert!(found.iter().any(|problem| problem.contains(text)), "{text}: {found:#?}");
    }
    assert!(problems(&json!({ "name": "A" })).iter().any(|it| it.contains("there is no address")));
}

#[test]
fn wrong_interfaces_are_explained() {
    let interface = |url: &str, binding: &str, version: &str| json!({ "url": url, "protocolBinding": binding, "protocolVersion": version, "tenant": "x" });
    let found = problems(&json!({ "name": "A", "supportedInterfaces": [
        interface("http://a.example/rpc", "JSONRPC", "1.0"),
        interface("http://a.example/other", "JSONRPC", "1.0"),
        interface("http://a.example/v1/", "HTTP+JSON", "0.3"),
        interface("http://a.example:50051", "GRPC", "1.0"),
        interface("a.example:50051", "GRPC", "0.3"),
        interface("http://a.example", "REST", "1.0"),
        interface("http://a.example", "urn:own-binding", "1.0"),
    ] }));
    for text in [
        "`JSONRPC` is listed twice with the version `1.0`",
        "`http://a.example/v1/` ends in `/v1`",
        "the gRPC address `http://a.example:50051` is not of the form `host:port`",
        "the binding `REST`; clients look for",
        "of version 0.3 has a `tenant`",
    ] {
        assert!(found.iter().any(|problem| problem.contains(text)), "{text}: {found:#?}");
    }
    let wrong = |text: &str| found.iter().any(|problem| problem.contains(text));
    assert!(!wrong("`a.example:50051`") && !wrong("own-binding"), "{found:#?}");
}

#[test]
fn the_card_for_authenticated_callers_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, url) = demo(dir.path());
    // The demo has no such card.
    let none = run(dir.path(), &["a2a", "card", &url, "--extended", "--json"]);
    assert_eq!((none.code, &none.json()["error"]["details"]["code"]), (1, &json!(-32004)));
}

#[test]
fn wrong_arguments_and_missing_agents_have_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let header = run(dir.path(), &["a2a", "card", "http://127.0.0.1:1", "--header", "secret"]);
    assert_eq!(header.code, 2, "{header:?}");
    assert!(!header.stderr.contains("secret"), "{header:?}");
    let binding = run(dir.path(), &["a2a", "send", "http://127.0.0.1:1", "hi", "--binding", "x"]);
    assert_eq!(binding.code, 2, "{binding:?}");
    assert!(binding.stderr.contains("use one of: jsonrpc, http, grpc"), "{binding:?}");
    let url = run(dir.path(), &["a2a", "send", "nowhere", "hi"]);
    assert_eq!(url.code, 1, "{url:?}");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let gone = run(dir.path(), &["a2a", "card", &format!("http://{closed}")]);
    assert_eq!(gone.code, 3, "{gone:?}");
}
