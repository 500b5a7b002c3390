//! Traces as a Genkit runtime posts them.

use std::{
    io::{self, Write},
    time::{Duration, Instant},
};

use bytes::BytesMut;
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use crate::{Opt, connect, cpu_s, exchange, r, request};

/// The body of request `k`: a trace of `--spans` spans or, with `--split`, the next span of one.
pub fn body(o: &Opt, k: u64) -> String {
    let spans = o.spans as u64;
    if o.split {
        return trace(o.base + k / spans, o.spans, Some((k % spans) as usize));
    }
    trace(o.base + k, o.spans, None)
}

/// Writes the bodies, a line each, for whoever fills a store with them.
pub fn print(o: &Opt) {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for k in 0..o.n {
        writeln!(out, "{}", body(o, k)).expect("somebody reads");
    }
    out.flush().expect("somebody reads");
}

/// A root action and its steps, with inputs and outputs. Steps end before the root does: one
/// by one they come in that order.
fn trace(k: u64, spans: usize, only: Option<usize>) -> String {
    let id = format!(
        "{:032x}",
        (u128::from(k) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    );
    let start = 1_794_724_500_000 + k * 7;
    let order = only.map_or((0..spans).collect(), |place| vec![(place + 1) % spans]);
    let has_root = order.contains(&0);
    let all: Map<_, _> = order.into_iter().map(|place| span(&id, k, start, place)).collect();
    if has_root {
        let end = start as f64 + 9.5;
        json!({"traceId": id, "displayName": "greet", "startTime": start, "endTime": end, "spans": all}).to_string()
    } else {
        json!({"traceId": id, "spans": all}).to_string()
    }
}

fn span(trace: &str, k: u64, start: u64, place: usize) -> (String, Value) {
    let id_of = |place: u64| {
        format!("{:016x}", (k * 65_536 + place + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let (id, name) =
        (id_of(place as u64), if place == 0 { "greet".to_owned() } else { format!("step{place}") });
    let start = start + place as u64;
    let mut span = json!({
        "spanId": id, "traceId": trace, "startTime": start, "endTime": start as f64 + 5.25,
        "attributes": {
            "genkit:type": if place == 0 { "action" } else { "flowStep" }, "genkit:name": name,
            "genkit:path": format!("/{{greet,t:flow}}/{{{name}}}"),
            "genkit:input": format!("{{\"question\":\"what is number{k} about\"}}"),
            "genkit:output": "{\"text\":\"a reply of a sentence or two, as models give\"}",
            "genkit:state": "success",
        },
        "displayName": name, "links": [], "instrumentationLibrary": {"name": "genkit-tracer", "version": "v1"},
        "spanKind": "INTERNAL", "sameProcessAsParentSpan": {"value": true}, "status": {"code": 0},
        "timeEvents": {"timeEvent": []},
    });
    if place == 0 {
        span["attributes"]["genkit:isRoot"] = true.into();
        span["attributes"]["genkit:metadata:subtype"] = "flow".into();
    } else {
        span["parentSpanId"] = id_of(0).into();
    }
    (id, span)
}

/// Number of spans that are measured together: our tools index the words of as many spans in one
/// step, so that each window contains one step, wherever it falls.
const WINDOW: u64 = 1024;

/// One trace that grows, span by span: the CPU of a span at its beginning and at its end, and
/// how long the first thousand took.
pub async fn append(o: &Opt) -> Value {
    match grow(o).await {
        Ok(out) => out,
        Err(error) => json!({"cmd": "append", "failed": error.to_string()}),
    }
}

async fn grow(o: &Opt) -> io::Result<Value> {
    let (mut conn, mut buf) = (connect(o).await?, BytesMut::new());
    let cpu = || o.pids.iter().map(|pid| cpu_s(*pid)).sum::<f64>() * 1e6 / WINDOW as f64;
    let first = 10;
    // The spans that the windows begin with, and the CPU time before each.
    let (starts, mut before) = ([first, o.n.saturating_sub(WINDOW)], [0.0; 2]);
    let mut windows = Vec::new();
    let (began, mut thousand) = (Instant::now(), None);
    for k in 0..o.n {
        for (start, before) in starts.iter().zip(&mut before) {
            if k == *start {
                *before = cpu();
            }
        }
        let body = trace(o.base, o.n as usize, Some(k as usize));
        let req = request(o, &body);
        let x = timeout(Duration::from_secs(60), exchange(&mut conn, &mut buf, &req, false, false))
            .await??;
        if x.status != 200 {
            return Err(io::Error::other(format!("status {}", x.status)));
        }
        for (start, before) in starts.iter().zip(&before) {
            if k + 1 == start + WINDOW {
                windows.push(cpu() - before);
            }
        }
        if k + 1 == 1000 {
            thousand = Some(began.elapsed().as_secs_f64());
        }
    }
    let [early, late] = windows[..] else { return Err(io::Error::other("too few spans")) };
    Ok(
        json!({"cmd": "append", "spans": o.n, "thousand_s": thousand, "cpu_us_early": r(early), "cpu_us_late": r(late),
        "times_early": r(late / early.max(0.001))}),
    )
}
