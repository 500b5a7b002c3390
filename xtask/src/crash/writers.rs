//! Many writers in two processes use one session. A rejected writer tries again, and every
//! acknowledged turn must be in the session once.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::Setting;
use super::programs::free_port;

const WRITERS: usize = 16;
const TURNS: usize = 2000;
const LIMIT: Duration = Duration::from_secs(300);
/// Turns without pauses, so that a writer always waits for the lease.
const OPTIONS: [&str; 2] = ["--pace", "0"];

pub(super) fn run(setting: &Setting, rng: &mut fastrand::Rng) -> Result<String> {
    let Setting { programs, store, .. } = setting;
    let one = programs.serve(store, free_port(rng)?, &OPTIONS)?;
    let other = programs.serve(store, free_port(rng)?, &OPTIONS)?;
    let each = (TURNS / WRITERS).to_string();
    let began = Instant::now();
    let options = ["--one-session", "--turns", &each];
    let talk = programs.talk("writers", "writers", WRITERS, &[&one, &other], &options)?;
    let talked = talk.end(LIMIT)?;
    let time = began.elapsed().as_secs_f64();
    println!("{TURNS} turns in {time:.1} s; the clients: {talked}");
    let found = programs.check(store, &["writers"])?.good()?;
    if found.count("acknowledged") != TURNS as u64 {
        bail!("{found}, but there were {TURNS} turns");
    }
    let refused = &talked["failures"]["ABORTED"];
    Ok(format!("{WRITERS} writers in 2 processes, {found}, {refused} refusals"))
}
