//! A server is frozen during its turns for longer than the duration of a lease, and another server
//! continues its sessions. When the first one resumes, the store must reject its writes.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Setting;
use super::programs::free_port;

const SESSIONS: usize = 50;
/// Timeout of a trial. A lease lasts 30 s after the next writer has first requested it.
const LIMIT: Duration = Duration::from_secs(120);
/// With these pauses most turns are active when their server is frozen, and some of them are about
/// to end.
const SLOW: [&str; 2] = ["--pace", "6000"];
const FROZEN_AFTER: Duration = Duration::from_secs(4);

pub(super) fn run(setting: &Setting, rng: &mut fastrand::Rng) -> Result<String> {
    let Setting { programs, store, .. } = setting;
    let slow = programs.serve(store, free_port(rng)?, &SLOW)?;
    let quick = programs.serve(store, free_port(rng)?, &[])?;
    let talk = |name, server, turns, attempts| {
        let options = ["--by-session", "--turns", turns, "--attempts", attempts];
        programs.talk(name, "frozen", SESSIONS, &[server], &options)
    };
    talk("before", &quick, "1", "100")?.end(LIMIT)?;
    let late = talk("late", &slow, "1", "1")?;
    std::thread::sleep(FROZEN_AFTER);
    slow.freeze()?;
    // Responses that were sent before the freeze must reach the clients.
    std::thread::sleep(Duration::from_millis(500));
    let in_time = programs.count_seen("late")?;
    let meanwhile = talk("meanwhile", &quick, "3", "10000")?.end(LIMIT)?;
    println!("{in_time} turns ended in time; clients of the other server: {meanwhile}");
    slow.thaw()?;
    println!("clients of the frozen server: {}", late.end(LIMIT)?);
    let too_late = programs.count_seen("late")? - in_time;
    let found = programs.check(store, &["before", "late", "meanwhile"])?.good()?;
    let frozen = SESSIONS - in_time;
    if too_late > 0 || frozen == 0 {
        bail!("{too_late} of {frozen} late turns were acknowledged");
    }
    Ok(format!("{frozen} turns frozen, late writes accepted 0, {found}"))
}
