//! A hundred thousand invalid messages of one runtime. The log stays short, and calls of other
//! runtimes stay fast.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::Message;

use super::pinger::{Callee, Pinger};
use super::tools::Project;
use super::{Setting, streamer};
use crate::figures::Figures;

const MESSAGES: usize = 100_000;
/// Number of messages between two flushes.
const FED_AT_ONCE: usize = 100;

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "garbage", "")?;
    let mut tools = Arc::new(project.start().await?);
    let url = tools.endpoints.reflection_url.clone();
    let _other = streamer::spawn(&url, "other").await?;
    tools.call("other").await?;
    let (before, resident) = (project.log()?.len(), tools.resident()?);
    let others = Pinger::start(&tools, Callee::Runtime("other"));
    let began = Instant::now();
    let (mut sink, mut stream) = streamer::connect(&url, "garbage").await?.split();
    // The manager answers some of the messages, so the responses have to be read.
    let reader = tokio::spawn(async move { while let Some(Ok(_)) = stream.next().await {} });
    for number in 0..MESSAGES {
        sink.feed(garbage(number)).await?;
        if number % FED_AT_ONCE == 0 {
            sink.flush().await?;
        }
    }
    sink.close().await?;
    reader.await?;
    let took = began.elapsed();
    let (calls, p99) = others.p99().await?;
    let mut figures = Figures::default();
    let log = project.log()?;
    figures.bytes("log", (log.len() - before) as u64, 1_000_000);
    figures.holds(
        "which counts them",
        log[before..].contains("received frames that are not JSON-RPC messages"),
    );
    let what = format!("{calls} calls of another in {:.1} s, p99", took.as_secs_f64());
    figures.time(&what, p99, Duration::from_millis(50));
    figures.bytes("growth", tools.peak()?.saturating_sub(resident), 16_000_000);
    let is_alive = Arc::get_mut(&mut tools).is_some_and(|tools| tools.is_alive().unwrap_or(false));
    figures.holds("the tools still run", is_alive);
    Ok(figures)
}

fn garbage(number: usize) -> Message {
    let texts = [
        "garbage",
        "",
        "null",
        "[1,2]",
        "{",
        "{}",
        r#"{"jsonrpc":"2.0","method":"streamChunk","params":{"requestId":"7","chunk":1}}"#,
        r#"{"jsonrpc":"2.0","method":"streamChunk","params":7}"#,
        r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"7","method":"register","params":[]}"#,
        r#"{"jsonrpc":"2.0","id":"8","method":"register","params":{"id":"other","pid":1}}"#,
        r#"{"jsonrpc":"2.0","id":{"a":[]},"method":"nothing"}"#,
        r#"{"method":7,"id":true}"#,
    ];
    match number % (texts.len() + 1) {
        place if place < texts.len() => Message::text(texts[place]),
        _ => Message::binary(vec![0xff, 0xfe, 0x00]),
    }
}
