//! Durable streams: the run goes on without its reader, and is read again.

use std::net::SocketAddr;
use std::sync::Arc;

use oxikit::prelude::*;
use oxikit_core::ports::StreamStore;
use oxikit_core::ports::memory::MemoryStreams;
use oxikit_serve::{Expose, Server, context_from};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, oneshot};

/// A server whose flow `steps` waits for a signal before its second chunk.
struct App {
    address: SocketAddr,
    go_on: Arc<Notify>,
    _stop: oneshot::Sender<()>,
}

async fn app() -> App {
    app_on(Arc::new(MemoryStreams::default())).await
}

async fn app_on(streams: Arc<dyn StreamStore>) -> App {
    let ai = Oxikit::builder().build().unwrap();
    let go_on = Arc::new(Notify::new());
    let signal = go_on.clone();
    let steps = ai.define_flow("steps", move |fails: bool, _: Context, out: Emitter<String>| {
        let signal = signal.clone();
        async move {
            out.send("one".into()).await?;
            signal.notified().await;
            out.send("two".into()).await?;
            if fails { Err(Status::not_found("no more")) } else { Ok("end") }
        }
    });
    let plain = ai.define_flow("plain", |_: Value, _: Context, out: Emitter<u8>| async move {
        out.send(1).await?;
        Ok(2)
    });
    let who = context_from(|request| {
        let uid = request.header("x-user").unwrap_or("nobody");
        Ok(ActionContext::default().with("auth", json!({ "uid": uid })))
    });
    let server = Server::new(&ai)
        .auth(who)
        .stream_store(streams)
        .expose(Expose::new(&steps).durable())
        .expose(&plain)
        .port(0)
        .bind()
        .await
        .unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(async move { drop(stopped.await) }));
    App { address, go_on, _stop: stop }
}

/// Sends a streaming request.
async fn send(app: &App, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(app.address).await.unwrap();
    let request = format!(
        "POST /{path} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n{headers}\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// The head and body of an answer, read to its end.
async fn finish(mut stream: TcpStream) -> (String, String) {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), without_sizes(body))
}

/// The content of a chunked body: lines of chunk sizes are left out.
fn without_sizes(body: &str) -> String {
    body.split("\r\n").filter(|line| usize::from_str_radix(line, 16).is_err()).collect()
}

async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 1024];
    while !text.contains(wanted) {
        let length = stream.read(&mut buffer).await.unwrap();
        assert_ne!(length, 0, "ended before `{wanted}`: {text}");
        text.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
    }
    text
}

fn stream_id(head: &str) -> String {
    let line =
        head.lines().find(|line| line.starts_with("x-genkit-stream-id: ")).expect("a stream id");
    line["x-genkit-stream-id: ".len()..].trim().to_owned()
}

const ALL: &str =
    "data: {\"message\":\"one\"}\n\ndata: {\"message\":\"two\"}\n\ndata: {\"result\":\"end\"}\n\n";

#[tokio::test]
async fn a_run_goes_on_when_its_reader_leaves_and_is_read_again_from_the_start() {
    let app = app().await;
    let mut first = send(&app, "steps", "", r#"{"data":false}"#).await;
    let head = read_until(&mut first, "one").await;
    let id = stream_id(&head);
    drop(first);

    let second = send(&app, "steps", &format!("x-genkit-stream-id: {id}\r\n"), "{}").await;
    app.go_on.notify_one();
    let (head, body) = finish(second).await;
    assert_eq!(body, ALL);
    assert_eq!(stream_id(&head), id);
    let again = send(&app, "steps", &format!("x-genkit-stream-id: {id}\r\n"), "{}").await;
    assert_eq!(finish(again).await.1, ALL);
}

#[tokio::test]
async fn a_reader_with_a_position_gets_what_follows() {
    let app = app().await;
    app.go_on.notify_one();
    let (head, body) = finish(send(&app, "steps", "", r#"{"data":false}"#).await).await;
    assert_eq!(body, ALL);
    let headers =
        format!("x-genkit-stream-id: {}\r\nx-oxikit-stream-position: 1\r\n", stream_id(&head));
    let (_, body) = finish(send(&app, "steps", &headers, "{}").await).await;
    assert_eq!(body, "data: {\"message\":\"two\"}\n\ndata: {\"result\":\"end\"}\n\n");
}

#[tokio::test]
async fn a_failure_is_replayed_too() {
    let app = app().await;
    app.go_on.notify_one();
    let (head, first) = finish(send(&app, "steps", "", r#"{"data":true}"#).await).await;
    assert!(
        first
            .ends_with("error: {\"error\":{\"status\":\"NOT_FOUND\",\"message\":\"no more\"}}\n\n"),
        "{first}"
    );
    let headers = format!("x-genkit-stream-id: {}\r\n", stream_id(&head));
    assert_eq!(finish(send(&app, "steps", &headers, "{}").await).await.1, first);
}

#[tokio::test]
async fn an_unknown_stream_and_a_strangers_stream_are_the_same_204() {
    let app = app().await;
    app.go_on.notify_one();
    let (head, _) = finish(send(&app, "steps", "x-user: ada\r\n", r#"{"data":false}"#).await).await;
    let id = stream_id(&head);
    let ask = async |headers: String| {
        let (head, body) = finish(send(&app, "steps", &headers, "{}").await).await;
        (head.lines().next().unwrap().to_owned(), body)
    };
    let nothing = ("HTTP/1.1 204 No Content".to_owned(), String::new());
    assert_eq!(
        ask("x-genkit-stream-id: 5f0c2e9e-0000-4000-8000-000000000000\r\n".into()).await,
        nothing
    );
    assert_eq!(ask(format!("x-genkit-stream-id: {id}\r\nx-user: eve\r\n")).await, nothing);
    assert_eq!(ask(format!("x-genkit-stream-id: {id}\r\nx-user: ada\r\n")).await.1, ALL);
}

#[tokio::test]
async fn the_id_means_nothing_to_an_action_that_is_not_durable() {
    let app = app().await;
    let (head, body) = finish(send(&app, "plain", "x-genkit-stream-id: x\r\n", "{}").await).await;
    assert!(!head.contains("x-genkit-stream-id"), "{head}");
    assert_eq!(body, "data: {\"message\":1}\n\ndata: {\"result\":2}\n\n");
}

#[tokio::test]
async fn a_refused_input_is_a_block_and_leaves_no_stream() {
    let app = app().await;
    let (head, body) = finish(send(&app, "steps", "", r#"{"data":"yes"}"#).await).await;
    assert!(!head.contains("x-genkit-stream-id"), "{head}");
    assert!(body.starts_with("error: {\"error\":{\"status\":\"INVALID_ARGUMENT\""), "{body}");
}

#[tokio::test]
async fn a_stream_in_a_file_is_read_again_by_another_server() {
    let folder = tempfile::tempdir().unwrap();
    let open = || oxikit_sql::SqliteStore::open(folder.path().join("app.db")).unwrap();
    let first = app_on(open().streams()).await;
    first.go_on.notify_one();
    let (head, body) = finish(send(&first, "steps", "", r#"{"data":false}"#).await).await;
    assert_eq!(body, ALL);
    drop(first);

    let second = app_on(open().streams()).await;
    let again = format!("x-genkit-stream-id: {}\r\n", stream_id(&head));
    assert_eq!(finish(send(&second, "steps", &again, "{}").await).await.1, ALL);
    let from_one = format!("{again}x-oxikit-stream-position: 1\r\n");
    let (_, rest) = finish(send(&second, "steps", &from_one, "{}").await).await;
    assert!(!rest.contains("one") && rest.contains("two"), "{rest}");
}
