//! A runtime that streams numbers until its connection ends, and notes every chunk that its socket
//! has taken. It runs as a process, which can be killed and frozen, or as a task of a trial.

use std::fs::File;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::Args;

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Pause between two chunks of a run.
const PACE: Duration = Duration::from_millis(50);
/// Pause before it connects again.
const PAUSE: Duration = Duration::from_millis(200);
/// Maximum number of messages that wait to be written. Runs wait when the queue is full.
const QUEUE: usize = 64;

/// A message, and the note to write when the socket has taken it.
type Outgoing = (String, Option<String>);

/// `oxikit-crash streamer`: connects to the manager of `GENKIT_REFLECTION_V2_SERVER`, and
/// again after each connection.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let url = std::env::var("GENKIT_REFLECTION_V2_SERVER")
        .context("GENKIT_REFLECTION_V2_SERVER is not set")?;
    let mut notes = args.find("--log").map(File::create).transpose()?;
    loop {
        if let Ok(socket) = connect(&url, args.get("--id")?).await {
            serve(socket, notes.as_mut()).await;
        }
        sleep(PAUSE).await;
    }
}

/// Starts a runtime as a task, which runs until the handle is aborted or the connection ends.
pub(super) async fn spawn(url: &str, id: &str) -> Result<AbortHandle> {
    let socket = connect(url, id).await?;
    Ok(tokio::spawn(async move { serve(socket, None).await }).abort_handle())
}

/// Connects and registers a runtime with this id.
pub(super) async fn connect(url: &str, id: &str) -> Result<Socket> {
    let (mut socket, _) = connect_async(url).await?;
    let params = json!({"id": id, "pid": std::process::id(), "name": id,
        "genkitVersion": "crash/1", "reflectionApiSpecVersion": 1});
    let register = json!({"jsonrpc": "2.0", "id": "1", "method": "register", "params": params});
    socket.send(Message::text(register.to_string())).await?;
    loop {
        let message = socket.next().await.context("the manager has closed the connection")??;
        if let Message::Text(text) = message {
            let answer: Value = serde_json::from_str(&text)?;
            anyhow::ensure!(answer.get("result").is_some(), "not registered: {answer}");
            return Ok(socket);
        }
    }
}

async fn serve(socket: Socket, notes: Option<&mut File>) {
    let (sink, stream) = socket.split();
    let (outbox, queue) = mpsc::channel(QUEUE);
    // The connection ends with the first of the two.
    tokio::select! {
        () = write(sink, queue, notes) => {}
        () = read(stream, outbox) => {}
    }
}

async fn write(
    mut sink: SplitSink<Socket, Message>,
    mut queue: mpsc::Receiver<Outgoing>,
    mut notes: Option<&mut File>,
) {
    while let Some((text, note)) = queue.recv().await {
        // When this returns, the kernel has the message.
        if sink.send(Message::text(text)).await.is_err() {
            return;
        }
        if let (Some(file), Some(note)) = (notes.as_mut(), note) {
            // One write per line without a buffer, so that it survives a kill.
            _ = file.write_all(note.as_bytes());
        }
    }
}

async fn read(mut stream: SplitStream<Socket>, outbox: mpsc::Sender<Outgoing>) {
    let mut runs = JoinSet::new();
    while let Some(Ok(message)) = stream.next().await {
        let Message::Text(text) = message else { continue };
        runs.spawn(answer(text, outbox.clone()));
    }
}

/// A request of the manager. The input stays text, because it may be nested too deeply to parse.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    method: &'a str,
    #[serde(borrow, default)]
    params: Params<'a>,
}

#[derive(Default, Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(default)]
    stream: bool,
}

async fn answer(text: Utf8Bytes, outbox: mpsc::Sender<Outgoing>) -> Option<()> {
    let Request { id, method, params } = serde_json::from_str(&text).ok()?;
    let input = params.input.map_or("null", RawValue::get);
    let reply = |result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let send = async |text: String, note| outbox.send((text, note)).await.ok();
    let nonce = serde_json::from_str::<String>(input).ok().filter(|_| params.stream);
    match (method, nonce) {
        ("runAction", Some(nonce)) => {
            let state = json!({"requestId": id, "state": {"traceId": nonce}});
            send(notification("runActionState", &state), None).await?;
            for number in 0_u64.. {
                let chunk = json!({"requestId": id, "chunk": {"nonce": nonce, "number": number}});
                let note = format!("{nonce} {number}\n");
                send(notification("streamChunk", &chunk), Some(note)).await?;
                sleep(PACE).await;
            }
            None
        }
        ("runAction", None) => send(reply(&format!(r#"{{"result":{input}}}"#)), None).await,
        ("listActions", _) => send(reply(r#"{"actions":{}}"#), None).await,
        ("listValues", _) => send(reply(r#"{"values":{}}"#), None).await,
        ("cancelAction", _) => send(reply(r#"{"message":"Action cancelled"}"#), None).await,
        _ => None,
    }
}

fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}
