//! `oxikit prompts`: a server for folders of prompts, until a signal ends it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use futures_util::{SinkExt, StreamExt};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::kit::{Started, TIMEOUT, run};

/// A project with one prompt.
fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("prompts")).unwrap();
    fs::write(dir.path().join("prompts/joke.md"), "Tell a joke.").unwrap();
    dir
}

/// The URL that the server shows.
fn url(started: &mut Started) -> String {
    let line = started.line("prompts    http://");
    line.split_whitespace().last().unwrap().trim_end_matches('/').to_owned()
}

async fn socket(url: &str, path: &str) -> WebSocketStream<TcpStream> {
    let address = url.trim_start_matches("http://");
    let stream = TcpStream::connect(address).await.unwrap();
    client_async(format!("ws://{address}{path}"), stream).await.unwrap().0
}

/// The next message; `null` for a close frame, with its code.
async fn next(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        match tokio::time::timeout(TIMEOUT, socket.next()).await.unwrap() {
            Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
            Some(Ok(Message::Close(Some(frame)))) => {
                return json!({"closed": u16::from(frame.code)});
            }
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

async fn update(socket: &mut WebSocketStream<TcpStream>, content: &str) {
    let message = json!({"action": "update", "content": content}).to_string();
    socket.send(Message::text(message)).await.unwrap();
    let status = next(socket).await;
    assert_eq!((&status["action"], &status["success"]), (&json!("update_status"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_closes_sockets_with_1001_and_the_history_continues() {
    let dir = project();
    for (start, signal) in [Signal::TERM, Signal::INT].into_iter().enumerate() {
        let mut started = Started::prompts(dir.path(), &[]);
        let url = url(&mut started);
        started.line("folder     ");
        let mut socket = socket(&url, "/api/prompts/ws/joke").await;
        let initial = next(&mut socket).await;
        assert_eq!(initial["rev"], start + 1, "{initial}");
        update(&mut socket, &format!("Edit {start}.")).await;
        started.signal(signal);
        assert_eq!(next(&mut socket).await, json!({"closed": 1001}));
        assert_eq!(started.end(TIMEOUT).code(), Some(0));
    }
    let text = fs::read_to_string(dir.path().join("prompts/joke.md")).unwrap();
    assert_eq!(text, "Edit 1.");
    let database = fs::metadata(dir.path().join(".oxikit/project.db")).unwrap();
    assert_eq!(database.permissions().mode() & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledged_edit_outlives_a_kill() {
    let dir = project();
    let mut started = Started::prompts(dir.path(), &[]);
    let url = url(&mut started);
    let mut socket = socket(&url, "/api/prompts/ws/joke").await;
    next(&mut socket).await;
    update(&mut socket, "Kept.").await;
    started.signal(Signal::KILL);
    started.end(TIMEOUT);
    let mut again = Started::prompts(dir.path(), &[]);
    let url = self::url(&mut again);
    let mut socket = self::socket(&url, "/api/prompts/ws/joke").await;
    let initial = next(&mut socket).await;
    assert_eq!((&initial["content"], &initial["rev"]), (&json!("Kept."), &json!(2)));
}

#[test]
fn the_openapi_document_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let printed = run(dir.path(), &["prompts", "--openapi"]);
    let document: Value = serde_json::from_str(&printed.stdout).unwrap();
    assert_eq!((printed.code, &document["openapi"]), (0, &json!("3.1.0")));
    assert!(document["paths"]["/api/prompts/{id}"]["put"].is_object());
    assert_eq!(run(dir.path(), &["prompts", "--openapi", "--json"]).json(), document);
    assert!(!dir.path().join(".oxikit").exists());
}

#[test]
fn what_cannot_be_served_is_explained() {
    let empty = tempfile::tempdir().unwrap();
    let project = project();
    let check = |dir: &Path, arguments: &[&str], code: i32, text: &str| {
        let ended = run(dir, &[&["prompts", "--port=0"], arguments].concat());
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(text), "{arguments:?}: {ended:?}");
    };
    check(empty.path(), &[], 2, "there is no folder `prompts`");
    check(project.path(), &["nowhere"], 3, "is not a directory");
    check(project.path(), &["--host", "0.0.0.0"], 2, "add --token");
    check(project.path(), &["--token=short"], 2, "32 to 256");
    check(project.path(), &["--database", "postgres://127.0.0.1:1/x"], 3, "--database");
    check(project.path(), &["--port=many"], 2, "--port");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_never_shown_outside_of_a_terminal() {
    let dir = project();
    let token = "0123456789abcdef0123456789abcdef";
    let argument = format!("--token={token}");
    let mut started = Started::prompts(dir.path(), &[&argument, "--host", "127.0.0.1"]);
    let url = url(&mut started);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let path = format!("{url}/api/prompts/all");
    assert_eq!(client.get(&path).send().await.unwrap().status(), 401);
    assert_eq!(client.get(&path).bearer_auth(token).send().await.unwrap().status(), 200);
    let quit = client.post(format!("{url}/api/shutdown")).bearer_auth(token).json(&json!({}));
    assert_eq!(quit.send().await.unwrap().status(), 200);
    assert_eq!(started.end(TIMEOUT).code(), Some(0));
    assert!(!started.seen.concat().contains(token), "{:?}", started.seen);
}

#[test]
fn one_project_has_one_server() {
    let dir = project();
    let mut started = Started::prompts(dir.path(), &[]);
    url(&mut started);
    let second = run(dir.path(), &["prompts", "--port=0"]);
    assert_eq!(second.code, 3, "{second:?}");
    assert!(second.stderr.contains("other developer tools"), "{second:?}");
}

#[test]
fn names_of_files_do_not_control_the_terminal() {
    let dir = project();
    let name = "prompts/\u{1b}]0;x\u{7}\u{202e}.md";
    fs::write(dir.path().join(name), [0xff, 0xfe]).unwrap();
    let mut started = Started::prompts(dir.path(), &[]);
    let line = started.line("is not served");
    assert!(!line.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{line:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_developer_tools_serve_the_prompts_of_their_project() {
    let dir = project();
    let mut started = Started::new(dir.path(), &["--", "sleep", "600"]);
    started.line("tools      http://");
    let file = started.manager_file();
    let (url, token) = (file["apiUrl"].as_str().unwrap(), file["token"].as_str().unwrap());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let path = format!("{url}/api/prompts/joke");
    assert_eq!(client.get(&path).send().await.unwrap().status(), 401);
    let joke: Value =
        client.get(&path).bearer_auth(token).send().await.unwrap().json().await.unwrap();
    assert_eq!(joke["content"], "Tell a joke.");
    assert_eq!(client.get(format!("{url}/prompts/")).send().await.unwrap().status(), 200);
    let mut socket = socket(url, &format!("/k/{token}/api/prompts/ws/joke")).await;
    next(&mut socket).await;
    update(&mut socket, "From the tools.").await;
    started.signal(Signal::TERM);
    assert_eq!(next(&mut socket).await, json!({"closed": 1001}));
    assert_eq!(started.end(TIMEOUT).code(), Some(0));
    // The history is that of `oxikit prompts` too.
    let mut prompts = Started::prompts(dir.path(), &[]);
    let url = self::url(&mut prompts);
    let joke: Value =
        client.get(format!("{url}/api/prompts/joke")).send().await.unwrap().json().await.unwrap();
    assert_eq!((&joke["content"], &joke["rev"]), (&json!("From the tools."), &json!(2)));
}

#[test]
fn a_configured_folder_replaces_the_usual_ones() {
    let dir = project();
    fs::create_dir(dir.path().join("texts")).unwrap();
    fs::create_dir(dir.path().join(".oxikit")).unwrap();
    fs::write(dir.path().join(".oxikit/config.toml"), "prompts = [\"texts\"]").unwrap();
    let shown = run(dir.path(), &["config", "show", "--json"]);
    assert_eq!(shown.json()["prompts"], json!(["texts"]), "{shown:?}");
}
