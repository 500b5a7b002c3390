//! A telemetry server that keeps what it is sent: a file that only grows, and an index by
//! start in memory. It promises no more than the page cache does.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io::Write,
    os::unix::fs::FileExt,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::{RawQuery, State},
    http::header,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

pub fn router() -> Router {
    let traces = Arc::new(Mutex::new(Traces::new()));
    Router::new().route("/kept/api/traces", post(keep).get(list)).with_state(traces)
}

struct Traces {
    log: File,
    end: u64,
    by_start: BTreeMap<(u64, String), (u64, usize)>,
}

impl Traces {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("floor-traces-{}", std::process::id()));
        let mut options = File::options();
        let log = options.create(true).truncate(true).read(true).write(true).open(&path);
        let log = log.expect("a file for the traces");
        // It is gone with the process.
        let _ = std::fs::remove_file(path);
        Self { log, end: 0, by_start: BTreeMap::new() }
    }
}

#[derive(Deserialize)]
struct Trace<'a> {
    #[serde(rename = "traceId")]
    id: String,
    #[serde(rename = "startTime", default)]
    start: f64,
    #[serde(borrow)]
    spans: HashMap<String, Span<'a>>,
}

#[derive(Deserialize)]
struct Span<'a> {
    #[serde(rename = "spanId")]
    _id: &'a str,
    #[serde(rename = "startTime")]
    _start: f64,
    #[serde(borrow, rename = "attributes")]
    _attributes: Option<&'a RawValue>,
}

type Shared = State<Arc<Mutex<Traces>>>;

async fn keep(State(traces): Shared, body: Bytes) -> Response {
    let Ok(trace) = serde_json::from_slice::<Trace>(&body) else { return super::bad() };
    if trace.spans.is_empty() {
        return super::bad();
    }
    let mut traces = traces.lock().expect("no panic");
    let at = traces.end;
    traces.log.write_all(&body).expect("append");
    traces.end += body.len() as u64;
    traces.by_start.insert((trace.start as u64, trace.id), (at, body.len()));
    "OK".into_response()
}

async fn list(State(traces): Shared, RawQuery(query): RawQuery) -> Response {
    let limit = query.as_deref().and_then(|query| query.strip_prefix("limit=")?.parse().ok());
    let traces = traces.lock().expect("no panic");
    let mut out = b"{\"traces\":[".to_vec();
    for (place, (at, length)) in
        traces.by_start.values().rev().take(limit.unwrap_or(10)).enumerate()
    {
        if place > 0 {
            out.push(b',');
        }
        let old = out.len();
        out.resize(old + length, 0);
        traces.log.read_exact_at(&mut out[old..], *at).expect("read back");
    }
    out.extend_from_slice(b"]}");
    ([(header::CONTENT_TYPE, "application/json")], out).into_response()
}
