//! Frames that are too large, many at once, and messages that never end. The manager closes each
//! connection with a reason, memory stays limited, and other calls stay fast.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::{SinkExt, StreamExt};
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

use super::pinger::{Callee, Pinger};
use super::raw_socket::{Part, RawSocket};
use super::tools::{Project, Tools};
use super::{Setting, streamer};
use crate::figures::Figures;

/// Shorter timeouts than the defaults of 30 s. These sockets neither register nor answer pings, so
/// the timeout of a message must be the first one that ends.
const SHORT: &str = "limits = { message_ms = 3000, register_ms = 6000 }";
const LONG: &str = "limits = { register_ms = 36000, no_pong_ms = 60000 }";
const UNFINISHED: usize = 20;
/// Number of callers of a list, and of its entries.
const LISTS: usize = 4;
const ENTRIES: usize = 500_000;
const MEMORY: u64 = 64_000_000;

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let settings = if setting.is_long { LONG } else { SHORT };
    let project = Project::new(setting, "large", settings)?;
    let tools = Arc::new(project.start().await?);
    let _other = streamer::spawn(&tools.endpoints.reflection_url, "other").await?;
    for _ in 0..20 {
        tools.call("other").await?;
    }
    let health = Pinger::start(&tools, Callee::Health);
    let others = Pinger::start(&tools, Callee::Runtime("other"));
    let idle = tokio::spawn(closed(tools.clone(), Vec::new()));
    let mut figures = Figures::default();

    let before = tools.resident()?;
    let one = at_once(&tools, 1, || vec![frame(101)]).await?;
    figures.all("101 MiB closed 1009", count(&one, 1009), 1);
    let ten = at_once(&tools, 10, || vec![frame(90)]).await?;
    figures.all("90 MiB closed 1009", count(&ten, 1009), 10);
    figures.bytes("growth", tools.peak()?.saturating_sub(before), MEMORY);

    let before = tools.resident()?;
    let began = Instant::now();
    let pieces = || (0..12).map(|number| piece(number == 0)).collect();
    let unfinished = at_once(&tools, UNFINISHED, pieces).await?;
    let (crowded, late) = (count(&unfinished, 1013), count(&unfinished, 1002));
    figures.all("12 MiB without end closed 1013 or 1002", crowded + late, UNFINISHED);
    figures.holds("those within the memory limit had the full time", late > 0);
    let limit = Duration::from_secs(if setting.is_long { 30 } else { 3 });
    figures.time("the last after", began.elapsed(), limit + Duration::from_secs(2));
    figures.bytes("growth", tools.peak()?.saturating_sub(before), MEMORY);
    figures.all("a socket without a runtime closed 1008", count(&[idle.await??], 1008), 1);

    let before = tools.resident()?;
    let refused = request_endless_lists(&tools).await?;
    figures.all("lists of 500,000 actions refused", refused, LISTS);
    figures.bytes("growth", tools.peak()?.saturating_sub(before), MEMORY);

    let (calls, p99) = health.p99().await?;
    figures.time(&format!("{calls} × health, p99"), p99, Duration::from_millis(50));
    let (calls, p99) = others.p99().await?;
    figures.time(&format!("{calls} calls of a runtime, p99"), p99, Duration::from_millis(50));
    Ok(figures)
}

/// Requests a list with far too many actions several times at once. Returns how many callers
/// received `RESOURCE_EXHAUSTED`.
async fn request_endless_lists(tools: &Arc<Tools>) -> Result<usize> {
    let (mut sink, mut stream) =
        streamer::connect(&tools.endpoints.reflection_url, "endless").await?.split();
    let serving = tokio::spawn(async move {
        let entry = |number| format!(r#""/flow/{number:010}":{{"name":"flow-{number:010}"}}"#);
        let list: Vec<String> = (0..ENTRIES).map(entry).collect();
        let list = list.join(",");
        while let Some(Ok(message)) = stream.next().await {
            let Message::Text(text) = message else { continue };
            let asked: serde_json::Value = serde_json::from_str(&text)?;
            if asked["method"] == "listActions" {
                let id = &asked["id"];
                let answer =
                    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"actions":{{{list}}}}}}}"#);
                sink.send(Message::text(answer)).await?;
            }
        }
        anyhow::Ok(())
    });
    let mut callers = JoinSet::new();
    for _ in 0..LISTS {
        let tools = tools.clone();
        callers.spawn(async move { tools.get("/api/v1/actions?runtime=endless").await });
    }
    let mut refused = 0;
    for answer in callers.join_all().await {
        refused += usize::from(answer?["status"] == "RESOURCE_EXHAUSTED");
    }
    serving.abort();
    Ok(refused)
}

/// Opens this number of sockets, each of which sends these parts. Returns their close codes and
/// reasons.
async fn at_once(
    tools: &Arc<Tools>,
    sockets: usize,
    parts: impl Fn() -> Vec<Part>,
) -> Result<Vec<(u16, String)>> {
    let mut closed_ones = JoinSet::new();
    for _ in 0..sockets {
        closed_ones.spawn(closed(tools.clone(), parts()));
    }
    closed_ones.join_all().await.into_iter().collect()
}

async fn closed(tools: Arc<Tools>, parts: Vec<Part>) -> Result<(u16, String)> {
    RawSocket::connect(&tools.endpoints.reflection_url).await?.send_until_closed(parts).await
}

fn count(closed: &[(u16, String)], code: u16) -> usize {
    closed.iter().filter(|(its, reason)| *its == code && !reason.is_empty()).count()
}

fn frame(mebibytes: usize) -> Part {
    Part { is_first: true, is_last: true, bytes: mebibytes << 20 }
}

fn piece(is_first: bool) -> Part {
    Part { is_first, is_last: false, bytes: 1 << 20 }
}
