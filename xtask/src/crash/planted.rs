//! A store that acknowledges turns before they are written. The checker must find the lost turns,
//! or else the other trials prove nothing.

use std::time::Duration;

use anyhow::{Result, bail};

use super::Setting;
use super::programs::free_port;

/// Number of clients. This store writes 20 ms late and one turn after the other, so the turns of
/// more clients would exceed their timeout.
const CLIENTS: usize = 10;
/// Maximum number of kills. About every second one happens between an acknowledgement and its write.
const KILLS: u32 = 30;
/// Milliseconds between two kills. The trial does not wait for all clients, because those with a
/// lost turn cannot continue.
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
        // Responses that were sent before the kill must reach the clients.
        std::thread::sleep(Duration::from_millis(200));
        let found = programs.check(&store, &["planted"])?;
        println!("kill {kill}: {found}");
        if found.count("lost") > 0 {
            drop(talk);
            return Ok(format!("found after {kill} kills: {found}"));
        }
        server = programs.serve(&store, port, &["--planted-fault"])?;
    }
    bail!("{KILLS} kills did not show that the store answers before it writes")
}
