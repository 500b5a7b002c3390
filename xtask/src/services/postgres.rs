//! A throw-away PostgreSQL server.

use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io::BufRead;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::install::{self, User};
use super::keeper::Keeper;
use crate::tools;

/// A server is ready within a second; after a crash it reads its log first.
const START: Duration = Duration::from_secs(60);

/// `cargo xtask postgres`: with a command, runs it beside a server; without one,
/// keeps a server until standard input ends, and obeys what is read there.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut server = super::postgres()?;
    if let Some((program, args)) = args.split_first() {
        let mut command = Command::new(program);
        super::hand_over(command.args(args), &server)?;
        return tools::run(&mut command);
    }
    println!("listening on {}", server.url());
    for order in std::io::stdin().lock().lines() {
        let order = order?;
        server.obey(&order).with_context(|| format!("`{order}`"))?;
        println!("done {order}");
    }
    Ok(())
}

/// A running server with an empty database.
#[derive(Debug)]
pub(crate) struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<User>,
    port: u16,
    url: String,
    process: Option<Child>,
    /// The last to be dropped: it removes the folder.
    _keeper: Keeper,
}

impl Postgres {
    pub(super) fn launch() -> Result<Self> {
        let programs = install::programs()?;
        let user = install::unprivileged()?;
        let folder = std::env::temp_dir().join(format!("oxikit-postgres-{}", random()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let keeper = Keeper::of(&folder)?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let password = random();
        let url = format!("postgres://oxikit:{password}@127.0.0.1:{port}/postgres");
        fs::write(folder.join("password"), password)?;
        for path in [folder.clone(), folder.join("password")] {
            if let Some(User { uid, gid }) = user {
                chown(path, Some(uid), Some(gid))?;
            }
        }
        let mut server = Self { programs, folder, user, port, url, process: None, _keeper: keeper };
        server.initialise()?;
        server.start()?;
        Ok(server)
    }

    /// Where it is, with name and password.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn initialise(&self) -> Result<()> {
        let mut command = self.program("initdb")?;
        command.args(["--username=oxikit", "--pwfile=password", "--auth=scram-sha-256"]);
        command.args(["--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata=data"]);
        tools::run(&mut command).with_context(|| self.log())
    }

    /// Starts it, if it is not running, with the data it had.
    pub(crate) fn start(&mut self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let port = format!("port={}", self.port);
        let mut command = self.program("postgres")?;
        command.args(["-D", "data", "-c", &port, "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=200"]);
        // What it acknowledges is on the disk, as in production.
        command.args(["-c", "fsync=on", "-c", "synchronous_commit=on"]);
        // Not interrupted with us: the keeper ends it.
        command.process_group(0);
        self.process = Some(command.spawn().context("cannot start `postgres`")?);
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let began = Instant::now();
        // The eighth line of this file says how far it is.
        let is_ready =
            |file: String| file.lines().nth(7).is_some_and(|line| line.trim() == "ready");
        while !fs::read_to_string(self.folder.join("data/postmaster.pid")).is_ok_and(is_ready) {
            let has_ended = match &mut self.process {
                Some(process) => process.try_wait()?.is_some(),
                None => true,
            };
            if has_ended || began.elapsed() > START {
                bail!("PostgreSQL did not start: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn obey(&mut self, order: &str) -> Result<()> {
        match order {
            "start" => self.start(),
            "stop" => self.stop(),
            "crash" => self.crash(),
            "freeze" => self.freeze(),
            "thaw" => self.thaw(),
            _ => bail!("there are the orders start, stop, crash, freeze and thaw"),
        }
    }

    /// Ends it in order; whoever is connected is cut off.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.end("-INT")
    }

    /// Ends it at once, so that its next start recovers from its log.
    pub(crate) fn crash(&mut self) -> Result<()> {
        self.end("-QUIT")
    }

    /// Stops all its processes where they are. Connections stay open, new ones are
    /// taken by the system, and nobody answers.
    pub(crate) fn freeze(&self) -> Result<()> {
        let postmaster = self.pid()?;
        // It first, so that it starts no others meanwhile.
        signal("-STOP", &[postmaster])?;
        signal("-STOP", &tools::children(postmaster))
    }

    /// Lets it go on.
    pub(crate) fn thaw(&self) -> Result<()> {
        let postmaster = self.pid()?;
        signal("-CONT", &tools::children(postmaster))?;
        signal("-CONT", &[postmaster])
    }

    fn pid(&self) -> Result<u32> {
        Ok(self.process.as_ref().context("it is not running")?.id())
    }

    fn end(&mut self, how: &str) -> Result<()> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        signal(how, &[process.id()])?;
        process.wait()?;
        Ok(())
    }

    /// A program of PostgreSQL in our folder, its output in the log.
    fn program(&self, name: &str) -> Result<Command> {
        let log = File::options().create(true).append(true).open(self.folder.join("log"))?;
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        if let Some(User { uid, gid }) = self.user {
            command.uid(uid).gid(gid);
        }
        Ok(command)
    }

    /// The end of what it has said.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("; ")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.process.is_some() {
            // A frozen one hears nothing. What fails here is left to the keeper.
            _ = self.thaw();
            _ = self.crash();
        }
    }
}

fn signal(signal: &str, processes: &[u32]) -> Result<()> {
    let processes = processes.iter().map(ToString::to_string);
    tools::read(Command::new("kill").arg(signal).args(processes)).map(drop)
}

/// Sixty-four random bits.
fn random() -> String {
    format!("{:016x}", RandomState::new().hash_one(Instant::now()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// `None` where there is none to be had.
    fn server() -> Option<Postgres> {
        match super::super::postgres() {
            Ok(server) => Some(server),
            Err(error) if !tools::is_ci() => {
                eprintln!("skipped: {error:#}");
                None
            }
            Err(error) => panic!("{error:#}"),
        }
    }

    fn is_running(folder: &Path) -> bool {
        folder.join("data/postmaster.pid").exists()
    }

    #[test]
    fn a_server_starts_obeys_and_leaves_nothing_behind() {
        let Some(mut server) = server() else { return };
        let folder = server.folder.clone();
        for order in ["freeze", "thaw", "stop", "start", "crash", "start"] {
            server.obey(order).unwrap();
            assert_eq!(is_running(&folder), !["stop", "crash"].contains(&order), "{order}");
        }
        assert!(server.obey("dance").is_err());
        server.freeze().unwrap();
        drop(server);
        assert!(!folder.exists());
    }

    #[test]
    fn the_keeper_ends_a_server_that_nobody_has_ended() {
        let Some(mut server) = server() else { return };
        let folder = server.folder.clone();
        server.freeze().unwrap();
        let mut process = server.process.take().unwrap();
        // As it goes when we are killed: only the keeper is left.
        drop(server);
        assert!(!folder.exists());
        // Would wait for ever if it were still there.
        process.wait().unwrap();
    }
}
