//! B2: JSON a thousand, a hundred thousand and two million levels deep, at every door.
//! What is read is refused or passed on; nothing overflows.

use std::time::Duration;

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use oxikit_devtools::server::route_table;
use serde_json::Value;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::figures::Figures;
use super::tools::{PATIENCE, Project, Tools};
use super::{Setting, streamer};

const DEPTHS: [usize; 3] = [1_000, 100_000, 2_000_000];
/// Ends the tools, and reads nothing.
const QUIT: &str = "/api/__quitquitquit";
/// What posts are read for, by one route or another. The deepest is only one of them.
const MEMBERS: [&str; 8] =
    ["input", "init", "chunk", "context", "message", "state", "spans", "resourceSpans"];
/// How often a body is there at once: it is read in pieces and put together, written as
/// a message, and that into the buffer of the socket; and an echo comes back.
const COPIES: u64 = 6;
/// So long is listened to an answer that has begun.
const QUIET: Duration = Duration::from_millis(500);
/// Buffers of connections, and what the allocator keeps of bodies that are gone: after forty
/// of four megabytes 5 to 14 MB were seen.
const ALLOWANCE: u64 = 16_000_000;

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "deep", "")?;
    let mut tools = project.start().await?;
    let _other = streamer::spawn(&tools.doors.reflection_url, "other").await?;
    tools.call("other").await?;
    let mut figures = Figures::default();
    let urls = doors(&tools);
    let mut wrong = Vec::new();
    for depth in DEPTHS {
        let members = if depth == DEPTHS[2] { &MEMBERS[..1] } else { &MEMBERS };
        let body = bytes::Bytes::from(body(members, depth));
        let before = tools.resident()?;
        for url in &urls {
            if let Err(error) = knock(&tools, url, body.clone()).await {
                wrong.push(format!("{url}, depth {depth}: {error:#}"));
            }
        }
        let grown = tools.peak()?.saturating_sub(before);
        let allowed = body.len() as u64 * COPIES + ALLOWANCE;
        figures.bytes(&format!("depth {depth}: growth"), grown, allowed);
    }
    figures.none(&format!("without a clean answer, of {} doors", urls.len()), &wrong);
    let before = tools.resident()?;
    for depth in DEPTHS {
        pass_on(&tools, depth).await?;
        say(&tools, depth).await?;
    }
    let allowed = (DEPTHS[2] * 2) as u64 * COPIES + ALLOWANCE;
    figures.bytes("on the socket: growth", tools.peak()?.saturating_sub(before), allowed);
    figures.holds("chunks and results passed on as they are", true);
    tools.call("other").await?;
    figures.holds("the tools live", tools.is_alive()?);
    Ok(figures)
}

/// Every door that takes a body.
fn doors(tools: &Tools) -> Vec<String> {
    let routes =
        route_table().into_iter().filter(|(method, path)| *method == "POST" && path != QUIT);
    let own = routes.map(|(_, path)| tools.url(&fill(&path)));
    let spans = ["traces", "otlp", "otlp/v1/traces", "otlp/v1/logs", "otlp/t1/s1"];
    let spans = spans.map(|path| format!("{}/api/{path}", tools.doors.telemetry_url));
    own.chain(spans).collect()
}

/// Puts a name in each place of a path.
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

/// An answer that is whole, and JSON or a line of text.
async fn knock(tools: &Tools, url: &str, body: bytes::Bytes) -> Result<()> {
    let request = tools.http.post(url).bearer_auth(&tools.doors.token);
    let request = request.header("content-type", "application/json").body(body);
    let response = timeout(PATIENCE, request.send()).await.context("no answer")??;
    // One that waits for a trace to come says nothing.
    let text = timeout(QUIET, response.text()).await.unwrap_or(Ok("OK".to_owned()))?;
    let is_json = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
    let is_stream = text.starts_with("event: ") || text.starts_with("id: ");
    // The official tools say some things in plain words.
    let is_words = text.len() < 200 && !text.contains(['<', '/']);
    let is_clean = is_json || is_stream || is_words;
    anyhow::ensure!(is_clean, "{}", text.chars().take(200).collect::<String>());
    Ok(())
}

/// A runtime answers with a chunk and a result of this depth.
async fn pass_on(tools: &Tools, depth: usize) -> Result<()> {
    let mut socket = streamer::dial(&tools.doors.reflection_url, "deep").await?;
    let body = r#"{"key":"/flow/f","runtimeId":"deep","stream":true}"#;
    let asked = tools.post("/api/streamAction", body);
    let answer = async {
        let id = loop {
            let message = socket.next().await.context("the manager has closed")??;
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
    anyhow::ensure!(text == expected, "depth {depth}: what was passed on has changed");
    Ok(())
}

/// Says this depth wherever a runtime may say anything; each request is answered.
async fn say(tools: &Tools, depth: usize) -> Result<()> {
    let mut socket = streamer::dial(&tools.doors.reflection_url, "deep-too").await?;
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
    // The last request is answered: all before it were read.
    loop {
        let message = socket.next().await.context("the manager has closed")??;
        if let Message::Text(text) = message
            && serde_json::from_str::<Value>(&text)?["id"] == "4"
        {
            return Ok(());
        }
    }
}
