//! The load client for oxikit and its peers. Every command prints one JSON line.
//!
//!   load unary  URL  [-c conns] [-n requests] [-b body | --get] [-H 'k: v']… [--pid P]…
//!               [--rate R] no more than R requests a second  [--settle s] what the server
//!               does so long after the last answer is counted too  [--expect text] an answer
//!               that does not end with this text in its last 4 kB has failed
//!   load stream URL  same, reads streams to their end, counts blocks (--lines: lines)
//!   load traces URL  same, each request a trace of its own  [--spans s] [--base first]
//!               [--split] a request a span
//!   load posts       writes the bodies of these requests to the standard output
//!   load append URL  [-n spans] [--base b]   one trace that grows, span by span
//!   load idle   URL  [-c conns] [--secs s]    holds streams that say nothing
//!   load runtime WS  [-c runtimes]   plays fast runtimes until it is stopped
//!   load sockets WS  [-c sockets] [--secs s]   holds sockets that say nothing
//!   load room   WS   [-c readers] [-n updates] [--size bytes]   one writer; all readers must
//!               receive each update before the next one  [--warm updates] before those that
//!               are counted  [--stalled readers] that join and never read
//!   load chat   URL  [-c sessions] [-n turns]   conversations that grow: what a turn costs around
//!               the 10th and the last
//!   load stall  URL  [-c conns] [--secs s]    reads the head of a long stream, then no more
//!   load start  URL  [-b body | --get] -- cmd…   time from exec to the first 200, memory, then stops it
//!
//! --pid P: CPU time (user + system, from /proc/P) and resident memory of P over the
//! run. It speaks to loopback only.

mod posts;
mod rooms;
mod sockets;

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use bytes::{Buf, BytesMut};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};
#[derive(Clone, Default)]
struct Opt {
    cmd: String,
    url: String,
    c: usize,
    n: u64,
    body: String,
    get: bool,
    headers: Vec<String>,
    pids: Vec<u32>,
    secs: f64,
    rate: f64,
    settle: f64,
    lines: bool,
    spans: usize,
    base: u64,
    split: bool,
    expect: String,
    size: usize,
    warm: u64,
    stalled: usize,
    child: Vec<String>,
}

fn args() -> Opt {
    let body = "{}".into();
    let mut o = Opt { c: 16, n: 1000, secs: 3.0, spans: 10, size: 2000, body, ..Opt::default() };
    let mut a = std::env::args().skip(1);
    o.cmd = a.next().unwrap_or_default();
    if o.cmd != "posts" {
        o.url = a.next().unwrap_or_default();
    }
    while let Some(k) = a.next() {
        if k == "--" {
            o.child = a.collect();
            break;
        }
        let mut v = || a.next().unwrap_or_else(|| panic!("{k} wants a value"));
        match k.as_str() {
            "-c" => o.c = v().parse().expect("-c"),
            "-n" => o.n = v().parse().expect("-n"),
            "-b" => o.body = v(),
            "-H" => o.headers.push(v()),
            "--get" => o.get = true,
            "--pid" => o.pids.push(v().parse().expect("--pid")),
            "--secs" => o.secs = v().parse().expect("--secs"),
            "--rate" => o.rate = v().parse().expect("--rate"),
            "--lines" => o.lines = true,
            "--spans" => o.spans = v().parse().expect("--spans"),
            "--base" => o.base = v().parse().expect("--base"),
            "--split" => o.split = true,
            "--expect" => o.expect = v(),
            "--size" => o.size = v().parse().expect("--size"),
            "--warm" => o.warm = v().parse().expect("--warm"),
            "--stalled" => o.stalled = v().parse().expect("--stalled"),
            "--settle" => o.settle = v().parse().expect("--settle"),
            _ => panic!("unknown option {k}"),
        }
    }
    o
}

fn main() {
    let o = args();
    if o.cmd == "posts" {
        return posts::print(&o);
    }
    let rt = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("runtime");
    let out = rt.block_on(async {
        match o.cmd.as_str() {
            "unary" | "stream" | "traces" => http(o).await,
            "append" => posts::append(&o).await,
            "runtime" => sockets::runtimes(&o).await,
            "sockets" => sockets::idle(&o).await,
            "room" => rooms::room(&o).await,
            "chat" => chat(o).await,
            "idle" => idle(o).await,
            "stall" => stall(o).await,
            "start" => start(o).await,
            _ => {
                eprintln!("see the head of the source for usage");
                std::process::exit(2)
            }
        }
    });
    println!("{out}");
    std::process::exit(0);
}

// ---- processes --------------------------------------------------------------------------------------

/// CPU seconds so far: nanosecond counters of the living threads where the kernel has them, else 10 ms ticks.
fn cpu_s(pid: u32) -> f64 {
    let fine: f64 = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|t| {
            std::fs::read_to_string(t.path().join("schedstat"))
                .ok()?
                .split(' ')
                .next()?
                .parse::<f64>()
                .ok()
        })
        .sum();
    let (u, s) = cpu_split(pid);
    if fine > 0.0 && fine / 1e9 + 0.05 > u + s { fine / 1e9 } else { u + s }
}
fn cpu_split(pid: u32) -> (f64, f64) {
    let Ok(s) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return (0.0, 0.0) };
    let rest = &s[s.rfind(')').unwrap_or(0) + 1..];
    let f: Vec<&str> = rest.split_whitespace().collect();
    let t = |i: usize| f.get(i).and_then(|x| x.parse::<f64>().ok()).unwrap_or(0.0);
    (t(11) / 100.0, t(12) / 100.0)
}
fn mem_mb(pid: u32, key: &str) -> f64 {
    let Ok(s) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return 0.0 };
    s.lines()
        .find(|l| l.starts_with(key))
        .and_then(|l| l.split_whitespace().nth(1)?.parse::<f64>().ok())
        .map_or(0.0, |kb| kb / 1024.0)
}
struct Meter {
    pids: Vec<u32>,
    cpu: f64,
    sys: f64,
    own: f64,
    at: Instant,
}
impl Meter {
    fn start(pids: &[u32]) -> Self {
        Self {
            pids: pids.to_vec(),
            cpu: pids.iter().map(|p| cpu_s(*p)).sum(),
            sys: pids.iter().map(|p| cpu_split(*p).1).sum(),
            own: cpu_s(std::process::id()),
            at: Instant::now(),
        }
    }
    fn into_json(self, mut o: Value, requests: f64) -> Value {
        let wall = self.at.elapsed().as_secs_f64();
        let cpu: f64 = self.pids.iter().map(|p| cpu_s(*p)).sum::<f64>() - self.cpu;
        let sys: f64 = self.pids.iter().map(|p| cpu_split(*p).1).sum::<f64>() - self.sys;
        o["wall_s"] = r(wall);
        o["kernel_share"] = r(if cpu > 0.0 { sys / cpu } else { 0.0 });
        o["cpu_s"] = r(cpu);
        o["cpu_us_per_req"] = r(cpu * 1e6 / requests.max(1.0));
        o["client_cpu_s"] = r(cpu_s(std::process::id()) - self.own);
        o["rss_mb"] = r(self.pids.iter().map(|p| mem_mb(*p, "VmRSS")).sum());
        o["peak_mb"] = r(self.pids.iter().map(|p| mem_mb(*p, "VmHWM")).sum());
        o
    }
}
fn r(x: f64) -> Value {
    json!((x * 1000.0).round() / 1000.0)
}
fn pct(v: &mut [u64], p: f64) -> f64 {
    if v.is_empty() {
        return 0.0;
    }
    v.sort_unstable();
    v[((v.len() - 1) as f64 * p) as usize] as f64 / 1000.0
}

// ---- HTTP/1.1 by hand: the client must cost less than the fastest server ---------------------------------

fn target(url: &str) -> (String, String) {
    let rest = url.strip_prefix("http://").expect("an http:// address");
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    assert!(host.starts_with("127.0.0.1:"), "loopback only");
    (host.to_owned(), format!("/{path}"))
}
fn request(o: &Opt, body: &str) -> Vec<u8> {
    let (host, path) = target(&o.url);
    let mut h =
        format!("{} {path} HTTP/1.1\r\nhost: {host}\r\n", if o.get { "GET" } else { "POST" });
    for x in &o.headers {
        h += &format!("{x}\r\n");
    }
    if o.get {
        return (h + "\r\n").into_bytes();
    }
    if ["stream", "chat", "idle", "stall"].contains(&o.cmd.as_str()) {
        h += "accept: text/event-stream\r\n";
    }
    h += &format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    h.into_bytes()
}
#[derive(Default)]
struct Seen {
    status: u16,
    bytes: u64,
    blocks: u64,
    first: Option<Duration>,
    close: bool,
    failed: bool,
    /// The last 4 kB.
    tail: Vec<u8>,
}
impl Seen {
    fn is_expected(&self, text: &str) -> bool {
        text.is_empty() || String::from_utf8_lossy(&self.tail).contains(text)
    }
}
struct Counter {
    /// Every line is a block, not only one with an empty line behind it.
    lines: bool,
    last_nl: bool,
    tail: Vec<u8>,
}
impl Counter {
    fn eat(&mut self, seen: &mut Seen, b: &[u8], t0: Instant) {
        seen.bytes += b.len() as u64;
        for &x in b {
            match x {
                b'\r' => {}
                b'\n' => {
                    if self.lines || self.last_nl {
                        seen.blocks += 1;
                        if seen.first.is_none() {
                            seen.first = Some(t0.elapsed());
                        }
                        self.last_nl = false;
                    } else {
                        self.last_nl = true;
                    }
                }
                _ => self.last_nl = false,
            }
        }
        self.tail.extend_from_slice(b);
        let cut = self.tail.len().saturating_sub(4096);
        self.tail.drain(..cut);
    }
}
async fn read_more(s: &mut TcpStream, buf: &mut BytesMut) -> io::Result<()> {
    buf.reserve(64 << 10);
    if s.read_buf(buf).await? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
/// One exchange. With `only_first` it returns at the first block and leaves the stream open.
async fn exchange(
    s: &mut TcpStream,
    buf: &mut BytesMut,
    req: &[u8],
    lines: bool,
    only_first: bool,
) -> io::Result<Seen> {
    let t0 = Instant::now();
    s.write_all(req).await?;
    let mut seen = Seen::default();
    let (mut length, mut chunked) = (None, false);
    loop {
        if !buf.is_empty() {
            let mut hs = [httparse::EMPTY_HEADER; 64];
            let mut resp = httparse::Response::new(&mut hs);
            if let httparse::Status::Complete(n) = resp.parse(buf).map_err(io::Error::other)? {
                seen.status = resp.code.unwrap_or(0);
                for h in resp.headers.iter() {
                    let v = std::str::from_utf8(h.value).unwrap_or("");
                    match h.name.to_ascii_lowercase().as_str() {
                        "content-length" => length = v.trim().parse::<usize>().ok(),
                        "transfer-encoding" => chunked = v.contains("chunked"),
                        "connection" => seen.close = v.eq_ignore_ascii_case("close"),
                        _ => {}
                    }
                }
                buf.advance(n);
                break;
            }
        }
        read_more(s, buf).await?;
    }
    let mut count = Counter { lines, last_nl: false, tail: Vec::new() };
    if !chunked {
        let mut left = length.unwrap_or(0);
        while left > 0 {
            if buf.is_empty() {
                read_more(s, buf).await?;
            }
            let k = left.min(buf.len());
            count.eat(&mut seen, &buf[..k], t0);
            buf.advance(k);
            left -= k;
        }
        seen.tail = count.tail;
        return Ok(seen);
    }
    loop {
        let (head, size) = loop {
            match httparse::parse_chunk_size(buf) {
                Ok(httparse::Status::Complete(x)) => break x,
                Ok(httparse::Status::Partial) => read_more(s, buf).await?,
                Err(_) => return Err(io::Error::other("chunk size")),
            }
        };
        buf.advance(head);
        let mut left = size as usize;
        while left > 0 {
            if buf.is_empty() {
                read_more(s, buf).await?;
            }
            let k = left.min(buf.len());
            count.eat(&mut seen, &buf[..k], t0);
            buf.advance(k);
            left -= k;
            if only_first && seen.blocks > 0 {
                return Ok(seen);
            }
        }
        while buf.len() < 2 {
            read_more(s, buf).await?;
        }
        buf.advance(2);
        if size == 0 {
            let t = String::from_utf8_lossy(&count.tail);
            seen.failed = t.contains("error: {") || t.contains("data: {\"error\"");
            seen.tail = count.tail;
            return Ok(seen);
        }
    }
}
async fn connect(o: &Opt) -> io::Result<TcpStream> {
    let s = TcpStream::connect(target(&o.url).0).await?;
    s.set_nodelay(true)?;
    Ok(s)
}

#[derive(Default)]
struct Tally {
    lat: Vec<u64>,
    first: Vec<u64>,
    blocks: u64,
    bytes: u64,
    errors: u64,
}
async fn http(o: Opt) -> Value {
    let ticket = Arc::new(AtomicU64::new(0));
    let all = Arc::new(Mutex::new(Tally::default()));
    let meter = Meter::start(&o.pids);
    let began = meter.at;
    let tasks: Vec<_> = (0..o.c)
        .map(|_| {
            let (o, ticket, all) = (o.clone(), ticket.clone(), all.clone());
            tokio::spawn(async move {
                let mut t = Tally::default();
                let mut req = request(&o, &o.body);
                let (mut s, mut buf) = (connect(&o).await.ok(), BytesMut::new());
                loop {
                    let k = ticket.fetch_add(1, Relaxed);
                    if k >= o.n {
                        break;
                    }
                    if o.rate > 0.0 {
                        let due = began + Duration::from_secs_f64(k as f64 / o.rate);
                        tokio::time::sleep_until(due.into()).await;
                    }
                    if s.is_none() {
                        s = connect(&o).await.ok();
                        buf.clear();
                    }
                    let Some(sock) = s.as_mut() else {
                        t.errors += 1;
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        continue;
                    };
                    if o.cmd == "traces" {
                        req = request(&o, &posts::body(&o, k));
                    }
                    let t0 = Instant::now();
                    let answer = exchange(sock, &mut buf, &req, o.lines, false);
                    match timeout(Duration::from_secs(60), answer).await {
                        Ok(Ok(x)) if x.status == 200 && !x.failed && x.is_expected(&o.expect) => {
                            t.lat.push(t0.elapsed().as_micros() as u64);
                            t.blocks += x.blocks;
                            t.bytes += x.bytes;
                            t.first.extend(x.first.map(|d| d.as_micros() as u64));
                            if x.close {
                                s = None;
                            }
                        }
                        _ => {
                            t.errors += 1;
                            s = None;
                        }
                    }
                }
                let mut a = all.lock().unwrap();
                a.lat.extend(t.lat);
                a.first.extend(t.first);
                a.blocks += t.blocks;
                a.bytes += t.bytes;
                a.errors += t.errors;
            })
        })
        .collect();
    for t in tasks {
        let _ = t.await;
    }
    let wall = meter.at.elapsed().as_secs_f64();
    tokio::time::sleep(Duration::from_secs_f64(o.settle)).await;
    let mut a = all.lock().unwrap();
    let done = a.lat.len() as f64;
    let mut out = json!({"cmd":o.cmd,"c":o.c,"ok":a.lat.len(),"errors":a.errors,"req_s":r(done/wall),
        "p50_ms":pct(&mut a.lat,0.5),"p99_ms":pct(&mut a.lat,0.99),"mb":r(a.bytes as f64/1e6)});
    if o.cmd == "stream" {
        out["chunks"] = json!(a.blocks);
        out["chunks_s"] = r(a.blocks as f64 / wall);
        out["ttfc_p50_ms"] = json!(pct(&mut a.first, 0.5));
        out["ttfc_p99_ms"] = json!(pct(&mut a.first, 0.99));
    }
    let blocks = a.blocks as f64;
    let mut out = meter.into_json(out, done);
    if o.cmd == "stream" {
        out["cpu_us_per_chunk"] = r(out["cpu_s"].as_f64().unwrap_or(0.0) * 1e6 / blocks.max(1.0));
    }
    out
}

// ---- conversations ------------------------------------------------------------------------------------

/// Number of turns that are measured around the 10th and before the last. What is written late is measured
/// over a quarter of all turns: a database moves its log into its file every some hundred turns, and
/// a short window would contain that or not.
const WINDOW: u64 = 10;

struct Talk {
    conn: TcpStream,
    buf: BytesMut,
    req: Vec<u8>,
}
/// All sessions at the same time, each turn after turn. On new connections: a server
/// may have closed those that waited for the slowest one.
async fn turns(o: &Opt, talks: Vec<Talk>, count: u64) -> io::Result<Vec<Talk>> {
    let tasks: Vec<_> = talks
        .into_iter()
        .map(|mut t| {
            let o = o.clone();
            tokio::spawn(async move {
                t.conn = connect(&o).await?;
                t.buf.clear();
                for _ in 0..count {
                    let x = timeout(
                        Duration::from_secs(60),
                        exchange(&mut t.conn, &mut t.buf, &t.req, false, false),
                    );
                    let x = x.await??;
                    if x.status != 200 || x.failed {
                        return Err(io::Error::other(format!("status {}", x.status)));
                    }
                }
                Ok(t)
            })
        })
        .collect();
    let mut talks = Vec::new();
    for t in tasks {
        talks.push(t.await.map_err(io::Error::other)??);
    }
    Ok(talks)
}
/// CPU and bytes written to the disk of a turn, while this number of turns is taken.
async fn window(o: &Opt, talks: Vec<Talk>, count: u64) -> io::Result<(Vec<Talk>, f64, f64)> {
    let requests = (talks.len() as u64 * count) as f64;
    let cpu = || o.pids.iter().map(|p| cpu_s(*p)).sum::<f64>();
    let written = || o.pids.iter().map(|p| written_bytes(*p)).sum::<f64>();
    let before = (cpu(), written());
    let talks = turns(o, talks, count).await?;
    // What is written behind the answer belongs to it too.
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok((talks, (cpu() - before.0) * 1e6 / requests, (written() - before.1) / requests))
}
fn written_bytes(pid: u32) -> f64 {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = io.lines().find_map(|l| l.strip_prefix("write_bytes: ")?.parse().ok());
    line.unwrap_or(0.0)
}
async fn chat(o: Opt) -> Value {
    match conversations(&o).await {
        Ok(out) => out,
        Err(e) => json!({"cmd":"chat","failed":e.to_string()}),
    }
}
async fn conversations(o: &Opt) -> io::Result<Value> {
    let run = fastrand::u64(..);
    let mut talks = Vec::new();
    for i in 0..o.c {
        let body = format!(
            r#"{{"data":{{"message":{{"role":"user","content":[{{"text":"what is this about?"}}]}}}},"init":{{"sessionId":"talk-{run:x}-{i}"}}}}"#
        );
        talks.push(Talk { conn: connect(o).await?, buf: BytesMut::new(), req: request(o, &body) });
    }
    let memory = || o.pids.iter().map(|p| mem_mb(*p, "VmRSS")).sum::<f64>();
    let talks = turns(o, talks, 5).await?;
    let (talks, cpu_10, bytes_10) = window(o, talks, WINDOW).await?;
    let (early, at) = (memory(), 5 + WINDOW);
    let writing = o.n / 4;
    let talks = turns(o, talks, o.n.saturating_sub(at + writing + WINDOW)).await?;
    let (talks, _, bytes_last) = window(o, talks, writing).await?;
    let (_talks, cpu_last, _) = window(o, talks, WINDOW).await?;
    let messages = (o.n - at) as f64 * 2.0 * o.c as f64;
    Ok(
        json!({"cmd":"chat","sessions":o.c,"turns":o.n,"cpu_us_turn_10":r(cpu_10),"cpu_us_last":r(cpu_last),
        "times_turn_10":r(cpu_last / cpu_10.max(0.001)),"bytes_turn_10":r(bytes_10),"bytes_last":r(bytes_last),
        "kb_per_message":r((memory() - early) * 1024.0 / messages.max(1.0)),"rss_mb":r(memory())}),
    )
}

// ---- idle connections ---------------------------------------------------------------------------------

async fn idle(o: Opt) -> Value {
    let before: f64 = o.pids.iter().map(|p| mem_mb(*p, "VmRSS")).sum();
    let req = request(&o, &o.body);
    let (mut held, mut errors) = (Vec::new(), 0u64);
    let t0 = Instant::now();
    for _ in 0..o.c {
        let Ok(mut s) = connect(&o).await else {
            errors += 1;
            continue;
        };
        let mut buf = BytesMut::new();
        match timeout(Duration::from_secs(20), exchange(&mut s, &mut buf, &req, false, true)).await
        {
            Ok(Ok(x)) if x.status == 200 => held.push(s),
            _ => errors += 1,
        }
    }
    let open = held.len();
    let opened = t0.elapsed().as_secs_f64();
    let meter = Meter::start(&o.pids);
    tokio::time::sleep(Duration::from_secs_f64(o.secs)).await;
    let mut out = meter.into_json(json!({"cmd":"idle","open":open,"errors":errors,"open_s":r(opened),"rss_before_mb":r(before)}), 1.0);
    let after = out["rss_mb"].as_f64().unwrap_or(0.0);
    out["kb_per_conn"] = r((after - before) * 1024.0 / (open as f64).max(1.0));
    out["idle_cpu_pct"] = r(out["cpu_s"].as_f64().unwrap_or(0.0) / o.secs * 100.0);
    out
}

// ---- readers that stopped ----------------------------------------------------------------------------------

/// Reads the head of each answer and then no more; what the server keeps for
/// them is how much it grew, at its worst, until `--secs` later.
async fn stall(o: Opt) -> Value {
    let memory = || o.pids.iter().map(|p| mem_mb(*p, "VmRSS")).sum::<f64>();
    let before = memory();
    let req = request(&o, &o.body);
    let (mut held, mut errors) = (Vec::new(), 0u64);
    for _ in 0..o.c {
        match timeout(Duration::from_secs(20), head_only(&o, &req)).await {
            Ok(Ok(s)) => held.push(s),
            _ => errors += 1,
        }
    }
    let meter = Meter::start(&o.pids);
    let mut worst = memory();
    while meter.at.elapsed().as_secs_f64() < o.secs {
        tokio::time::sleep(Duration::from_millis(50)).await;
        worst = worst.max(memory());
    }
    let out = json!({"cmd":"stall","open":held.len(),"errors":errors,"rss_before_mb":r(before),"growth_mb":r(worst - before)});
    meter.into_json(out, 1.0)
}
async fn head_only(o: &Opt, req: &[u8]) -> io::Result<TcpStream> {
    let mut s = connect(o).await?;
    s.write_all(req).await?;
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        seen.push(s.read_u8().await?);
    }
    if seen.starts_with(b"HTTP/1.1 200") { Ok(s) } else { Err(io::Error::other("status")) }
}

// ---- start-up ---------------------------------------------------------------------------------------------

async fn start(o: Opt) -> Value {
    let req = request(&o, &o.body);
    let t0 = Instant::now();
    let mut child = tokio::process::Command::new(&o.child[0])
        .args(&o.child[1..])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("spawn");
    let pid = child.id().expect("pid");
    let ready = loop {
        if t0.elapsed() > Duration::from_secs(60) {
            break None;
        }
        if let Ok(mut s) = connect(&o).await {
            let mut buf = BytesMut::new();
            if let Ok(Ok(x)) =
                timeout(Duration::from_secs(10), exchange(&mut s, &mut buf, &req, false, false))
                    .await
                && x.status == 200
            {
                break Some(t0.elapsed());
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    };
    let cpu = cpu_s(pid);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let rss = mem_mb(pid, "VmRSS");
    let _ = child.kill().await;
    json!({"cmd":"start","ready_ms":ready.map(|d| r(d.as_secs_f64()*1e3)),"cpu_s":r(cpu),"rss_mb":r(rss)})
}
