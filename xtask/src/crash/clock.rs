//! The wall clocks of two servers jump by an hour in both directions, while one server holds the
//! leases of all sessions and the other one requests them. No lease may be lost or taken over, and
//! the order of snapshots must stay correct.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use super::Setting;
use super::programs::{Programs, free_port};
use crate::tools;

const SESSIONS: usize = 30;
const HOUR: i64 = 3600;
const LIMIT: Duration = Duration::from_secs(120);
/// Half of the maximum duration of a turn in milliseconds. Turns last long enough for leases to be
/// held while the clocks jump; in the long form leases are also renewed.
const PACE: &str = "2000";
const LONG_PACE: &str = "12000";

pub(super) fn run(setting: &Setting, rng: &mut fastrand::Rng) -> Result<String> {
    let Setting { programs, store, is_long, .. } = setting;
    let clocks = ["one", "other"].map(|name| Clock { programs, name });
    build_shim(programs)?;
    for clock in &clocks {
        clock.prove()?;
    }
    let pace = if *is_long { LONG_PACE } else { PACE };
    let serve = |clock: &Clock<'_>, port, pace| {
        programs.serve_by(clock.command("server")?, store, port, &["--pace", pace])
    };
    let holder = serve(&clocks[0], free_port(rng)?, pace)?;
    let other = serve(&clocks[1], free_port(rng)?, "20")?;
    let talk = |name, server, turns, attempts| {
        let options = ["--by-session", "--turns", turns, "--attempts", attempts];
        programs.talk(name, "clock", SESSIONS, &[server], &options)
    };
    // One turn each, so that both servers have connected to the store before the trial.
    talk("before", &other, "1", "100")?.end(LIMIT)?;
    talk("warm", &holder, "1", "100")?.end(LIMIT)?;
    let held = talk("held", &holder, "1", "1")?;
    // The turns have begun. Those that end before the other server asks do not count.
    std::thread::sleep(Duration::from_millis(600));
    let ended = programs.count_seen("held")?;
    let contending = talk("contending", &other, "2", "100000")?;
    for jump in [HOUR, -HOUR, 0] {
        clocks[0].jump(jump)?;
        clocks[1].jump(-jump)?;
        std::thread::sleep(Duration::from_millis(400));
    }
    clocks[0].jump(-HOUR)?;
    clocks[1].jump(HOUR)?;
    let held = held.end(LIMIT)?;
    let contended = contending.end(LIMIT)?;
    println!("{ended} ended before; holders: {held}; contenders: {contended}");
    let found = programs.check(store, &["before", "warm", "held", "contending"])?.good()?;
    if held["acknowledged"].as_u64() != Some(SESSIONS as u64) {
        bail!("of {SESSIONS} turns with a lease, not all were acknowledged: {held}");
    }
    if found.count("acknowledged") != 5 * SESSIONS as u64 {
        bail!("{found}, but there were {} turns", 5 * SESSIONS);
    }
    let refused = contended["failures"]["ABORTED"].as_u64().unwrap_or_default();
    if ended == SESSIONS || refused == 0 {
        bail!("no lease was held while the clocks jumped: {contended}");
    }
    let still_held = SESSIONS - ended;
    Ok(format!(
        "{still_held} leases held over jumps of ±1 h, stolen 0, {found}, {refused} refusals"
    ))
}

/// The wall clock of one server.
struct Clock<'a> {
    programs: &'a Programs,
    name: &'static str,
}

impl Clock<'_> {
    /// A command of one of the programs, with this clock.
    fn command(&self, program: &str) -> Result<Command> {
        self.jump(0)?;
        let mut command = self.programs.command(program)?;
        command.env("LD_PRELOAD", self.programs.path("clock.so"));
        command.env("OXIKIT_CLOCK", self.programs.path(self.name));
        Ok(command)
    }

    /// Sets the clock to this number of seconds after the true time.
    fn jump(&self, seconds: i64) -> Result<()> {
        // A rename is atomic, so no program reads an incomplete file.
        let (new, path) = (self.programs.path("clock.new"), self.programs.path(self.name));
        fs::write(&new, seconds.to_string())?;
        Ok(fs::rename(new, path)?)
    }

    /// Fails unless a program with this clock reads the changed time.
    fn prove(&self) -> Result<()> {
        let mut command = self.command("clock")?;
        self.jump(HOUR)?;
        let output = command.stdin(Stdio::null()).output()?;
        let seen: u64 = String::from_utf8_lossy(&output.stdout).trim().parse()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        if seen < now + HOUR.unsigned_abs() / 2 {
            bail!("a program with a moved clock reads {seen}, but the true time is {now}");
        }
        Ok(())
    }
}

fn build_shim(programs: &Programs) -> Result<()> {
    let source = programs.path("clock.c");
    fs::write(&source, include_str!("clock.c"))?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(programs.path("clock.so")).arg(source);
    tools::read(&mut compiler).context("the clock could not be built; is there a C compiler?")?;
    Ok(())
}
