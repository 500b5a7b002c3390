//! A temporary PostgreSQL server.

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

/// Timeout of a start. After a crash the server recovers from its log first.
const START: Duration = Duration::from_secs(60);

/// `cargo xtask postgres`: runs a command with a server, or keeps a server until standard input ends
/// and executes the commands of its lines.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mut server = super::postgres()?;
    if let Some((program, args)) = args.split_first() {
        let mut command = Command::new(program);
        super::hand_over(command.args(args), &server)?;
        return tools::run(&mut command);
    }
    println!("listening on {}", server.url());
    for command_name in std::io::stdin().lock().lines() {
        let command_name = command_name?;
        server.execute(&command_name).with_context(|| format!("`{command_name}`"))?;
        println!("done {command_name}");
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
    /// The last field, so that it is dropped last: it removes the folder.
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

    /// The URL with user and password.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn initialise(&self) -> Result<()> {
        let mut command = self.program("initdb")?;
        command.args(["--username=oxikit", "--pwfile=password", "--auth=scram-sha-256"]);
        command.args(["--encoding=UTF8", "--locale=C", "--no-sync", "--pgdata=data"]);
        tools::run(&mut command).with_context(|| self.log())
    }

    /// Starts the server with its existing data, if it does not run.
    pub(crate) fn start(&mut self) -> Result<()> {
        if self.process.is_some() {
            return Ok(());
        }
        let port = format!("port={}", self.port);
        let mut command = self.program("postgres")?;
        command.args(["-D", "data", "-c", &port, "-c", "listen_addresses=127.0.0.1"]);
        command.args(["-c", "unix_socket_directories=", "-c", "max_connections=200"]);
        // `fsync` stays on, so that acknowledged writes are on the disk as in production.
        command.args(["-c", "fsync=on", "-c", "synchronous_commit=on"]);
        // A separate process group, so that Ctrl-C does not end it; the keeper does.
        command.process_group(0);
        self.process = Some(command.spawn().context("cannot start `postgres`")?);
        self.wait_until_ready()
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let began = Instant::now();
        // The eighth line of this file is the state of the server.
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

    fn execute(&mut self, command_name: &str) -> Result<()> {
        match command_name {
            "start" => self.start(),
            "stop" => self.stop(),
            "crash" => self.crash(),
            "freeze" => self.freeze(),
            "thaw" => self.thaw(),
            _ => bail!("there are the commands start, stop, crash, freeze and thaw"),
        }
    }

    /// Stops the server cleanly and closes all connections.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.end("-INT")
    }

    /// Stops the server immediately, so that the next start recovers from its log.
    pub(crate) fn crash(&mut self) -> Result<()> {
        self.end("-QUIT")
    }

    /// Suspends all processes of the server. Connections stay open, the system accepts new ones, and
    /// none is answered.
    pub(crate) fn freeze(&self) -> Result<()> {
        let postmaster = self.pid()?;
        // The main process first, so that it starts no others meanwhile.
        signal("-STOP", &[postmaster])?;
        signal("-STOP", &tools::children(postmaster))
    }

    /// Resumes all processes of the server.
    pub(crate) fn thaw(&self) -> Result<()> {
        let postmaster = self.pid()?;
        signal("-CONT", &tools::children(postmaster))?;
        signal("-CONT", &[postmaster])
    }

    fn pid(&self) -> Result<u32> {
        Ok(self.process.as_ref().context("the server does not run")?.id())
    }

    fn end(&mut self, how: &str) -> Result<()> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        signal(how, &[process.id()])?;
        process.wait()?;
        Ok(())
    }

    /// A command of a program of PostgreSQL, with its output in the log.
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

    /// The end of the log.
    fn log(&self) -> String {
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("; ")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.process.is_some() {
            // A frozen server does not react to signals. The keeper stops it if this fails.
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
    fn a_server_starts_executes_and_leaves_nothing_behind() {
        let Some(mut server) = server() else { return };
        let folder = server.folder.clone();
        for command_name in ["freeze", "thaw", "stop", "start", "crash", "start"] {
            server.execute(command_name).unwrap();
            assert_eq!(
                is_running(&folder),
                !["stop", "crash"].contains(&command_name),
                "{command_name}"
            );
        }
        assert!(server.execute("dance").is_err());
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
