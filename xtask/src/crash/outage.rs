//! The store is unavailable while clients send turns: PostgreSQL is stopped, or another process locks
//! the SQLite file. Every request must be answered in time, no acknowledged turn may be lost, and
//! all clients must continue soon after the store is available again.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Setting;
use super::programs::{Process, free_port};
use crate::services::{self, Postgres};

/// Number of clients. It is small, so that their turns do not delay each other.
const CLIENTS: usize = 20;
/// Duration of the outage: longer than the time that a store waits for its database.
const SHORT: Duration = Duration::from_secs(6);
const LONG: Duration = Duration::from_secs(30);
/// Maximum time until a response. A store gives up after 5 s; the rest is for the turn itself on a
/// busy machine.
const ANSWERED: Duration = Duration::from_secs(6);
/// Maximum time until all clients have continued, in addition to the time of their first turns,
/// which is a measure of this machine and build.
const BACK_TO_NORMAL: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(60);

/// A store that can be made unavailable.
enum Store<'a> {
    Sqlite(&'a Setting),
    Postgres(Box<Postgres>),
}

impl Store<'_> {
    fn address(&self) -> String {
        match self {
            Self::Sqlite(setting) => setting.store.clone(),
            Self::Postgres(server) => server.url().to_owned(),
        }
    }

    /// Makes the store unavailable for this time. Calls `began` when the outage has begun.
    fn interrupt(&mut self, time: Duration, mut began: impl FnMut() -> Result<()>) -> Result<()> {
        match self {
            Self::Sqlite(setting) => {
                let mut command = setting.programs.command("lock")?;
                let mut lock = Process::start(command.args(["--store", &setting.store]))?;
                lock.line(LIMIT).context("the file could not be locked")?;
                began()?;
                std::thread::sleep(time);
                lock.tell("end")?;
                lock.line(LIMIT).context("the file was not unlocked").map(drop)
            }
            Self::Postgres(server) => {
                server.stop()?;
                began()?;
                std::thread::sleep(time);
                server.start()
            }
        }
    }
}

pub(super) fn run(setting: &Setting, rng: &mut fastrand::Rng) -> Result<String> {
    let programs = &setting.programs;
    let mut store = match setting.name {
        // A separate server, because other trials use the shared one.
        "postgres" => Store::Postgres(Box::new(services::postgres()?)),
        _ => Store::Sqlite(setting),
    };
    let address = store.address();
    let server = programs.serve(&address, free_port(rng)?, &[])?;
    let mut talk = programs.talk("outage", "outage", CLIENTS, &[&server], &[])?;
    // The clients measure the first start like a return of the store.
    talk.tell("killed")?;
    talk.tell("back")?;
    let first = Duration::from_millis(talk.answer(LIMIT)?["p99"].as_u64().unwrap_or_default());
    std::thread::sleep(Duration::from_millis(rng.u64(300..900)));
    let time = if setting.is_long { LONG } else { SHORT };
    store.interrupt(time, || talk.tell("killed"))?;
    talk.tell("back")?;
    let went_on = talk.answer(LIMIT)?;
    // Some more turns after the outage.
    std::thread::sleep(Duration::from_secs(1));
    let talked = talk.stop(LIMIT)?;
    println!("first turns {first:?}; away for {time:?}; back: {went_on}; the clients: {talked}");
    let found = programs.check(&address, &["outage"])?.good()?;
    let within = |what: &str, millis: Option<u64>, limit: Duration| match millis {
        Some(millis) if u128::from(millis) <= limit.as_millis() => Ok(millis),
        millis => bail!("{what} after {millis:?} ms, {limit:?} are allowed"),
    };
    let answered = within("a request was answered", talked["slowestMillis"].as_u64(), ANSWERED)?;
    let normal = within("a client continued", went_on["p99"].as_u64(), BACK_TO_NORMAL + first)?;
    if talked["failures"].as_object().is_none_or(|failures| !failures.contains_key("UNAVAILABLE")) {
        bail!("no client received UNAVAILABLE during the outage: {talked}");
    }
    let seconds = time.as_secs();
    let first = first.as_millis();
    Ok(format!(
        "away for {seconds} s, {found}, slowest answer {answered} ms, p99 to continue {normal} ms \
         (at the start {first} ms)"
    ))
}
