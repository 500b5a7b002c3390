//! A store that answers before it has committed must be found out, or else the other
//! trials prove nothing.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Setting;
use super::programs::free_port;

/// Such a store commits 20 ms late and one write at a time; more clients would wait
/// in line for longer than it waits for the file.
const CLIENTS: usize = 10;
/// A kill meets an answer that is not committed about every second time.
const KILLS: u32 = 30;
/// Clients that have seen it cannot go on, so it does not help to wait for all.
const PAUSE: std::ops::Range<u64> = 300..900;

pub(super) fn run(setting: &Setting, rng: &mut fastrand::Rng) -> Result<String> {
    let programs = &setting.programs;
    let store = programs.path("planted.db").to_string_lossy().into_owned();
    let port = free_port(rng)?;
    let mut server = programs.serve(&store, port, &["--planted-fault"])?;
    let talk = programs.talk("planted", "planted", CLIENTS, &[&server], &[])?;
    for kill in 1..=KILLS {
        std::thread::sleep(Duration::from_millis(rng.u64(PAUSE)));
        server.kill();
        // What has been answered is on its way to the clients.
        std::thread::sleep(Duration::from_millis(200));
        let found = programs.check(&store, &["planted"])?;
        println!("kill {kill}: {found}");
        if found.count("lost") > 0 {
            drop(talk);
            return Ok(format!("found after {kill} kills: {found}"));
        }
        server = programs.serve(&store, port, &["--planted-fault"])?;
    }
    bail!("{KILLS} kills did not show that the store answers before it commits")
}
