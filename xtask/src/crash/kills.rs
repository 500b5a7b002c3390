//! The server is killed while all of its clients wait for a turn, and started again. Each client
//! must be able to continue, and all acknowledged turns must be stored.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::Value;

use super::Setting;
use super::programs::free_port;

/// Timeout of a thousand turns on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) fn run(setting: &Setting, rng: &mut fastrand::Rng) -> Result<String> {
    let Setting { programs, store, clients, cycles, .. } = setting;
    let port = free_port(rng)?;
    let mut server = programs.serve(store, port, &[])?;
    let mut talk = programs.talk("kills", "kills", *clients, &[&server], &[])?;
    // The clients measure the first start like a restart.
    talk.tell("killed")?;
    talk.tell("back")?;
    talk.answer(LIMIT)?;
    let mut slowest = 0;
    for cycle in 1..=*cycles {
        std::thread::sleep(Duration::from_millis(rng.u64(100..800)));
        talk.tell("count")?;
        let under_way = talk.answer(LIMIT)?["underWay"].clone();
        server.kill();
        talk.tell("killed")?;
        let began = Instant::now();
        server = programs.serve(store, port, &[])?;
        let opened = began.elapsed().as_millis();
        talk.tell("back")?;
        let went_on = talk.answer(LIMIT)?;
        let millis = |what: &str| went_on[what].as_u64().unwrap_or_default();
        slowest = slowest.max(millis("p99"));
        println!(
            "kill {cycle} of {under_way} turns: server back after {opened} ms, {clients} clients \
             continued after {} ms (p50), {} ms (p99), {} ms (all)",
            millis("p50"),
            millis("p99"),
            millis("max"),
        );
    }
    let talked = talk.stop(LIMIT)?;
    server.kill();
    println!("the clients: {talked}");
    let found = programs.check(store, &["kills"])?.good()?;
    none(&talked, "refused", "a session could not be continued")?;
    none(&talked, "lateAborted", "the lease of a killed process was still valid after 2 s")?;
    Ok(format!("{cycles} kills of {clients} turns, {found}, p99 to continue {slowest} ms at most"))
}

fn none(talked: &Value, what: &str, why: &str) -> Result<()> {
    match talked[what].as_u64() {
        Some(0) => Ok(()),
        count => bail!("{why}, {} times", count.unwrap_or_default()),
    }
}
