//! The store is away while clients talk: PostgreSQL is stopped, the file of SQLite is
//! locked by another process. Every request is answered in time, nothing that was
//! acknowledged is lost, and all go on soon after the store is back.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::Setting;
use super::programs::{Process, free_port};
use crate::services::{self, Postgres};

/// Few, so that the time to go on is not that of their turns.
const CLIENTS: usize = 20;
/// Longer than a store waits for its database.
const SHORT: Duration = Duration::from_secs(6);
const LONG: Duration = Duration::from_secs(30);
/// A store gives up after 5 s; the rest is the turn itself on a busy machine.
const ANSWERED: Duration = Duration::from_secs(6);
/// Besides the time that the same clients take for their first turns at the start, when
/// connections are opened too: that is what this machine and build need for it.
const BACK_TO_NORMAL: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(60);

/// A store that can be away.
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

    /// Takes it away for so long.
    fn be_away(&mut self, time: Duration, mut began: impl FnMut() -> Result<()>) -> Result<()> {
        match self {
            Self::Sqlite(setting) => {
                let mut command = setting.programs.command("lock")?;
                let mut lock = Process::start(command.args(["--store", &setting.store]))?;
                lock.line(LIMIT).context("the file could not be locked")?;
                began()?;
                std::thread::sleep(time);
                lock.tell("end")?;
                lock.line(LIMIT).context("the file stays locked").map(drop)
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
        // One of its own: the others go on with theirs.
        "postgres" => Store::Postgres(Box::new(services::postgres()?)),
        _ => Store::Sqlite(setting),
    };
    let address = store.address();
    let server = programs.serve(&address, free_port(rng)?, &[])?;
    let mut talk = programs.talk("outage", "outage", CLIENTS, &[&server], &[])?;
    // The start is to them like a store that is back.
    talk.tell("killed")?;
    talk.tell("back")?;
    let first = Duration::from_millis(talk.answer(LIMIT)?["p99"].as_u64().unwrap_or_default());
    std::thread::sleep(Duration::from_millis(rng.u64(300..900)));
    let time = if setting.is_long { LONG } else { SHORT };
    store.be_away(time, || talk.tell("killed"))?;
    talk.tell("back")?;
    let went_on = talk.answer(LIMIT)?;
    // Turns go on as before.
    std::thread::sleep(Duration::from_secs(1));
    let talked = talk.stop(LIMIT)?;
    println!("first turns {first:?}; away for {time:?}; back: {went_on}; the clients: {talked}");
    let found = programs.check(&address, &["outage"])?.good()?;
    let within = |what: &str, millis: Option<u64>, limit: Duration| match millis {
        Some(millis) if u128::from(millis) <= limit.as_millis() => Ok(millis),
        millis => bail!("{what} after {millis:?} ms, {limit:?} are allowed"),
    };
    let answered = within("a request was answered", talked["slowestMillis"].as_u64(), ANSWERED)?;
    let normal = within("a client went on", went_on["p99"].as_u64(), BACK_TO_NORMAL + first)?;
    if talked["failures"].as_object().is_none_or(|failures| !failures.contains_key("UNAVAILABLE")) {
        bail!("no client was told that the store is away: {talked}");
    }
    let seconds = time.as_secs();
    let first = first.as_millis();
    Ok(format!(
        "away for {seconds} s, {found}, slowest answer {answered} ms, p99 to go on {normal} ms \
         (at the start {first} ms)"
    ))
}
