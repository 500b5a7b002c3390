//! The CPU time that the export of a run costs.
//!
//! `cargo test --release -p oxikit-telemetry --test it -- --ignored --nocapture cost`

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpListener;

use oxikit_core::{Call, Registry, SpanExporter as _};

use crate::application::{Application, echo};
use crate::raw_server::OK;

const RUNS: u32 = 40_000;

/// A server in a thread of its own that answers whatever looks like a request.
fn sink() -> String {
    const REQUEST: &[u8] = b"POST /api/traces";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serve = move || {
        let (mut peer, _) = listener.accept().unwrap();
        let mut read = vec![0; 1 << 20];
        // The end of one piece may be the beginning of a request.
        let mut kept = 0;
        while let Ok(many @ 1..) = peer.read(&mut read[kept..]) {
            let here = &read[..kept + many];
            let requests = here.windows(REQUEST.len()).filter(|piece| *piece == REQUEST).count();
            let begin = here.len().saturating_sub(REQUEST.len() - 1);
            kept = here.len() - begin;
            read.copy_within(begin..begin + kept, 0);
            peer.write_all(&OK.repeat(requests)).unwrap();
        }
    };
    std::thread::Builder::new().name("sink".to_owned()).spawn(serve).unwrap();
    url
}

/// Nanoseconds of CPU by thread.
fn cpu() -> BTreeMap<String, u64> {
    let mut cpu = BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let task = task.unwrap().path();
        let Ok(name) = std::fs::read_to_string(task.join("comm")) else { continue };
        let account = std::fs::read_to_string(task.join("schedstat")).unwrap();
        let spent: u64 = account.split_whitespace().next().unwrap().parse().unwrap();
        *cpu.entry(name.trim().to_owned()).or_default() += spent;
    }
    cpu
}

/// Microseconds of CPU a run, by thread.
async fn measure(what: &str, runs: u32, work: impl AsyncFn()) {
    let before = cpu();
    work().await;
    let spent: Vec<_> = cpu()
        .into_iter()
        .map(|(name, spent)| {
            let spent = spent - before.get(&name).copied().unwrap_or(0);
            (name, spent as f64 / 1000.0 / f64::from(runs))
        })
        .filter(|(_, spent)| *spent > 0.005)
        .collect();
    eprintln!("{what}: {spent:.2?} µs a run");
}

#[tokio::test]
#[ignore = "a measurement"]
async fn cost_of_a_traced_run() {
    let (flow, registry) = (echo(), Registry::default());
    measure("not traced", RUNS, async || {
        for n in 0..RUNS {
            flow.run(Call::new(n).in_registry(&registry)).await.unwrap();
        }
    })
    .await;
    for (batch, runs) in [(1000, RUNS), (200, RUNS), (20, RUNS), (1, RUNS / 10)] {
        let app = Application::telling(&sink());
        measure(&format!("traced, flushed every {batch}"), runs, async || {
            for _ in 0..runs / batch {
                app.echo(batch).await;
                app.exporter.flush().await;
            }
        })
        .await;
        assert_eq!(app.exporter.dropped(), 0);
    }
}
