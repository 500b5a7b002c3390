//! JSON of a thousand, a hundred thousand and two million levels, sent to every route that takes a
//! body. The tools reject or forward it; no stack overflows, and memory stays limited.

use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use oxikit_devtools::route_table;
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::tools::{PATIENCE, Project, Tools};
use super::{Setting, streamer};
use crate::figures::Figures;

const DEPTHS: [usize; 3] = [1_000, 100_000, 2_000_000];
/// Ends the tools, so it is left out. It does not read its body.
const QUIT: &str = "/api/__quitquitquit";
/// Members that one of the routes reads. At the largest depth only the first one is sent.
const MEMBERS: [&str; 8] =
    ["input", "init", "chunk", "context", "message", "state", "spans", "resourceSpans"];
/// Number of copies of a body that may be in memory at once: its pieces, the assembled body, the
/// message to the runtime, the buffer of the socket, and the echo that comes back.
const COPIES: u64 = 6;
/// Time for which a response that has begun is read.
const QUIET: Duration = Duration::from_millis(500);
/// Bytes for buffers of connections and for memory that the allocator keeps. After forty bodies of
/// four megabytes, 5 to 14 MB were measured.
const ALLOWANCE: u64 = 16_000_000;

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "deep", "")?;
    let mut tools = project.start().await?;
    let _other = streamer::spawn(&tools.endpoints.reflection_url, "other").await?;
    tools.call("other").await?;
    let mut figures = Figures::default();
    let urls = endpoints(&tools);
    let mut wrong = Vec::new();
    for depth in DEPTHS {
        let members = if depth == DEPTHS[2] { &MEMBERS[..1] } else { &MEMBERS };
        let body = bytes::Bytes::from(body(members, depth));
        let before = tools.resident()?;
        for url in &urls {
            if let Err(error) = post(&tools, url, body.clone()).await {
                wrong.push(format!("{url}, depth {depth}: {error:#}"));
            }
        }
        let grown = tools.peak()?.saturating_sub(before);
        let allowed = body.len() as u64 * COPIES + ALLOWANCE;
        figures.bytes(&format!("depth {depth}: growth"), grown, allowed);
    }
    figures.none(&format!("without a clean answer, of {} endpoints", urls.len()), &wrong);
    let before = tools.resident()?;
    for depth in DEPTHS {
        forward(&tools, depth).await?;
        send_all(&tools, depth).await?;
    }
    let allowed = (DEPTHS[2] * 2) as u64 * COPIES + ALLOWANCE;
    figures.bytes("on the socket: growth", tools.peak()?.saturating_sub(before), allowed);
    figures.holds("chunks and results forwarded unchanged", true);
    tools.call("other").await?;
    figures.holds("the tools still run", tools.is_alive()?);
    Ok(figures)
}

/// Every route that takes a body.
fn endpoints(tools: &Tools) -> Vec<String> {
    let routes =
        route_table().into_iter().filter(|(method, path)| *method == "POST" && path != QUIT);
    let own = routes.map(|(_, path)| tools.url(&fill(&path)));
    let spans = ["traces", "otlp", "otlp/v1/traces", "otlp/v1/logs", "otlp/t1/s1"];
    let spans = spans.map(|path| format!("{}/api/{path}", tools.endpoints.telemetry_url));
    own.chain(spans).collect()
}

/// Replaces the parameters of a path with a name.
fn fill(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn nest(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn body(members: &[&str], depth: usize) -> String {
    let nest = nest(depth);
    let members = members.iter().map(|name| format!(r#","{name}":{nest}"#));
    format!(
        r#"{{"key":"/flow/echo","runtimeId":"other","traceId":"x"{}}}"#,
        members.collect::<String>()
    )
}

/// Posts a body. Fails unless the response is complete and is JSON, a stream or a short text.
async fn post(tools: &Tools, url: &str, body: bytes::Bytes) -> Result<()> {
    let request = tools.http.post(url).bearer_auth(&tools.endpoints.token);
    let request = request.header("content-type", "application/json").body(body);
    let response = timeout(PATIENCE, request.send()).await.context("no answer")??;
    // A stream that waits for a trace sends nothing.
    let text = timeout(QUIET, response.text()).await.unwrap_or(Ok("OK".to_owned()))?;
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
    let is_stream = text.starts_with("event: ") || text.starts_with("id: ");
    // The official tools send some responses as plain text.
    let is_plain_text = text.len() < 200 && !text.contains(['<', '/']);
    let is_clean = is_json || is_stream || is_plain_text;
    anyhow::ensure!(is_clean, "{}", text.chars().take(200).collect::<String>());
    Ok(())
}

/// A runtime answers with a chunk and a result of this depth. The caller must receive both
/// unchanged.
async fn forward(tools: &Tools, depth: usize) -> Result<()> {
    let mut socket = streamer::connect(&tools.endpoints.reflection_url, "deep").await?;
    let body = r#"{"key":"/flow/f","runtimeId":"deep","stream":true}"#;
    let asked = tools.post("/api/streamAction", body);
    let answer = async {
        let id = loop {
            let message =
                socket.next().await.context("the manager has closed the connection")??;
            if let Message::Text(text) = message {
                let request: Value = serde_json::from_str(&text)?;
                // The manager also sends its configuration.
                if request["method"] == "runAction" {
                    break request["id"].to_string();
                }
            }
        };
        let nest = nest(depth);
        let chunk = format!(
            r#"{{"jsonrpc":"2.0","method":"streamChunk","params":{{"requestId":{id},"chunk":{nest}}}}}"#
        );
        socket.send(Message::text(chunk)).await?;
        let result = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"result":{nest}}}}}"#);
        Ok::<_, anyhow::Error>(socket.send(Message::text(result)).await?)
    };
    let (response, answered) = tokio::join!(asked, answer);
    answered?;
    let text = response?.text().await?;
    let expected = format!("{0}\n{{\"result\":{0}}}", nest(depth));
    anyhow::ensure!(text == expected, "depth {depth}: the forwarded text differs");
    Ok(())
}

/// Sends this depth in every message that a runtime may send. The manager must answer the last
/// request.
async fn send_all(tools: &Tools, depth: usize) -> Result<()> {
    let mut socket = streamer::connect(&tools.endpoints.reflection_url, "deep-too").await?;
    let nest = nest(depth);
    let messages = [
        nest.clone(),
        format!(r#"{{"jsonrpc":"2.0","id":{nest},"method":"register","params":{{}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"2","method":"register","params":{nest}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"3","method":"register","params":{{"id":{nest}}}}}"#),
        format!(
            r#"{{"jsonrpc":"2.0","method":"runActionState","params":{{"requestId":"1","state":{nest}}}}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","method":{nest}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"1","error":{{"code":1,"data":{nest}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":"4","method":"nothing","params":{nest}}}"#),
    ];
    for message in messages {
        socket.send(Message::text(message)).await?;
    }
    // The response to the last request shows that the manager has read all messages.
    loop {
        let message = socket.next().await.context("the manager has closed the connection")??;
        if let Message::Text(text) = message
            && serde_json::from_str::<Value>(&text)?["id"] == "4"
        {
            return Ok(());
        }
    }
}
