//! One document, one writer and many readers: how long an update takes to reach a reader, and what
//! a delivery costs the server.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU32, AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, Message, protocol::WebSocketConfig},
};

use crate::{Meter, Opt, mem_mb, pct, r};

type Socket = WebSocketStream<TcpStream>;
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// An update that has not reached all readers by then is lost.
const LOST: Duration = Duration::from_secs(10);
/// Of a reader that stops reading, so that the server notices it early.
const STALLED_BUFFER: u32 = 4096;
/// Before the time of an update in nanoseconds, in its content.
const MARK: &str = "sent at ";

pub async fn room(o: &Opt) -> Value {
    match measure(o).await {
        Ok(out) => out,
        Err(error) => json!({"cmd": "room", "failed": error.to_string()}),
    }
}

/// What the readers have received.
struct Heard {
    began: Instant,
    /// Deliveries whose latency is stored.
    count: AtomicUsize,
    /// The next free place among the latencies.
    started: AtomicUsize,
    /// Of every delivery, in microseconds.
    latencies: Vec<AtomicU32>,
}

async fn measure(o: &Opt) -> Result<Value, Failed> {
    let before: f64 = o.pids.iter().map(|pid| mem_mb(*pid, "VmRSS")).sum();
    let updates = usize::try_from(o.warm + o.n)?;
    let latencies = (0..o.c * updates).map(|_| AtomicU32::default()).collect();
    let (count, started) = (AtomicUsize::default(), AtomicUsize::default());
    let heard = Arc::new(Heard { began: Instant::now(), count, started, latencies });
    let mut readers = JoinSet::new();
    for number in 0..o.c {
        let socket = join(&o.url, None).await.map_err(|error| explain(number, o.c, &error))?;
        readers.spawn(read(socket, heard.clone()));
    }
    let mut stalled = Vec::new();
    for _ in 0..o.stalled {
        stalled.push(join(&o.url, Some(STALLED_BUFFER)).await?);
    }
    let mut writer = Writer {
        socket: join(&o.url, None).await?,
        pad: "x".repeat(o.size),
        heard: heard.clone(),
        readers: o.c,
        expected: 0,
        lost: 0,
    };
    for _ in 0..o.warm {
        writer.update().await?;
    }
    let (warmed, lost) = (heard.count(), writer.lost);
    let meter = Meter::start(&o.pids);
    let (mut acks, mut rounds) = (Vec::new(), Vec::new());
    for _ in 0..o.n {
        let (ack, round) = writer.update().await?;
        acks.push(ack);
        rounds.push(round);
    }
    let count = heard.count();
    let mut latencies: Vec<u64> =
        heard.latencies[warmed..count].iter().map(|at| at.load(Relaxed).into()).collect();
    let out = json!({"cmd": "room", "readers": o.c, "updates": o.n, "delivered": count - warmed,
        "errors": writer.lost - lost, "p50_ms": pct(&mut latencies, 0.5),
        "p99_ms": pct(&mut latencies, 0.99), "ack_p50_ms": pct(&mut acks, 0.5),
        "ack_p99_ms": pct(&mut acks, 0.99), "all_p50_ms": pct(&mut rounds, 0.5),
        "all_p99_ms": pct(&mut rounds, 0.99), "rss_before_mb": r(before)});
    let mut out = meter.into_json(out, o.n as f64);
    let cpu = out["cpu_s"].as_f64().unwrap_or_default();
    out["cpu_us_per_delivery"] = r(cpu * 1e6 / (count - warmed).max(1) as f64);
    for socket in stalled {
        // One that has received all updates was not stalled: the buffers of the kernel were too large.
        if updates_in(socket).await >= updates {
            return Err("the stalled reader has stalled nothing: use more or larger updates".into());
        }
    }
    Ok(out)
}

/// Opens the document and reads its content.
async fn join(url: &str, buffer: Option<u32>) -> Result<Socket, Failed> {
    let host = url.strip_prefix("ws://").and_then(|rest| rest.split('/').next());
    let host = host.filter(|host| host.starts_with("127.0.0.1:")).expect("loopback only");
    let tcp = TcpSocket::new_v4()?;
    if let Some(bytes) = buffer {
        tcp.set_recv_buffer_size(bytes)?;
    }
    let tcp = tcp.connect(host.parse()?).await?;
    tcp.set_nodelay(true)?;
    let config = WebSocketConfig::default().read_buffer_size(4096).write_buffer_size(0);
    let (mut socket, _) = client_async_with_config(url, tcp, Some(config)).await?;
    match timeout(LOST, socket.next()).await? {
        Some(Ok(Message::Text(_))) => Ok(socket),
        other => Err(format!("the document was not opened: {other:?}").into()),
    }
}

fn explain(number: usize, count: usize, error: &Failed) -> String {
    let advice = "both programs need as many open files as there are readers: `ulimit -n 20000`";
    format!("reader {number} of {count} cannot join: {error}; {advice}")
}

async fn read(mut socket: Socket, heard: Arc<Heard>) {
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else { continue };
        if let Some(sent) = sent_at(&text) {
            let now = heard.began.elapsed().as_nanos() as u64;
            heard.add(((now - sent) / 1000) as u32);
        }
    }
}

/// When an update was sent; `None` of another message.
fn sent_at(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once(MARK)?;
    rest.split_once(';')?.0.parse().ok()
}

/// Number of updates that a reader receives which has read none of them so far.
async fn updates_in(mut socket: Socket) -> usize {
    let mut count = 0;
    while let Ok(Some(Ok(message))) = timeout(Duration::from_secs(1), socket.next()).await {
        count += usize::from(message.to_text().is_ok_and(|text| sent_at(text).is_some()));
    }
    count
}

impl Heard {
    fn add(&self, latency: u32) {
        let slot = self.started.fetch_add(1, Relaxed);
        if let Some(place) = self.latencies.get(slot) {
            place.store(latency, Relaxed);
        }
        self.count.fetch_add(1, Release);
    }

    fn count(&self) -> usize {
        self.count.load(Acquire).min(self.latencies.len())
    }
}

struct Writer {
    socket: Socket,
    pad: String,
    heard: Arc<Heard>,
    readers: usize,
    /// Deliveries so far, if none is lost.
    expected: usize,
    lost: usize,
}

impl Writer {
    /// Sends an update and waits until all have received it. The microseconds until it was
    /// acknowledged, and until all had it.
    async fn update(&mut self) -> Result<(u64, u64), Failed> {
        self.expected += self.readers;
        let wanted = self.expected - self.lost;
        let began = Instant::now();
        let sent = self.heard.began.elapsed().as_nanos();
        let content = format!("{MARK}{sent}; {}", self.pad);
        let update = json!({"action": "update", "content": content}).to_string();
        self.socket.send(Message::text(update)).await?;
        timeout(LOST, self.acknowledged()).await??;
        let acknowledged = began.elapsed();
        while self.heard.count() < wanted && began.elapsed() < LOST {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        self.lost += wanted.saturating_sub(self.heard.count());
        Ok((acknowledged.as_micros() as u64, began.elapsed().as_micros() as u64))
    }

    /// Reads until the answer: a server may send pings before it.
    async fn acknowledged(&mut self) -> Result<(), Failed> {
        while let Some(message) = self.socket.next().await {
            let Message::Text(text) = message? else { continue };
            if text.contains("\"update_status\"") {
                let is_refused = text.contains("\"success\":false");
                return if is_refused { Err(text.to_string().into()) } else { Ok(()) };
            }
        }
        Err(tungstenite::Error::ConnectionClosed.into())
    }
}
