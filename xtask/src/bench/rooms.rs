//! The measurements of live editing: documents with one writer and many readers. Each trial loads one
//! peer, and returns the figures of the load client.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::devtools::DevTools;
use super::peers::{self, Peer, Server};
use super::runner::answer;

/// Number of open files that the server and the load client each need, and a few more.
const OPEN_FILES: u64 = 20_000;
/// Pause after a start, until the memory is stable.
const SETTLE: Duration = Duration::from_millis(500);
/// The documents of our server; the other servers know any.
const DOCUMENTS: [&str; 3] = ["room", "stalled", "idle"];
/// Minimum number of updates of the smaller one of two rooms that are compared.
const FEW_UPDATES: u32 = 100;
/// Readers of the room in which one more stops reading.
const BESIDE_STALLED: u32 = 200;
/// Bytes of an update in that room, and updates before those that are counted: 6 MB. It is more than
/// the kernel buffers for a connection (4 MB), so that the server has to wait.
const STALLING: (&str, &str) = ("20000", "300");

/// The servers that stay between the trials of a run.
#[derive(Default)]
pub(super) struct Rooms {
    standing: HashMap<Peer, RoomServer>,
}

impl Rooms {
    fn server(&mut self, peer: Peer) -> Result<&RoomServer> {
        Ok(match self.standing.entry(peer) {
            Entry::Occupied(server) => server.into_mut(),
            Entry::Vacant(place) => place.insert(RoomServer::start(peer)?),
        })
    }
}

/// Updates of a document with this number of readers.
pub(super) fn room<const READERS: u32>(
    tools: &mut DevTools,
    peer: Peer,
    count: u32,
) -> Result<Value> {
    let server = tools.rooms.server(peer)?;
    updates(server, READERS, count)
}

/// The same, and its CPU beside that of fewer readers: the ratio per delivery, and the cost of each
/// further reader, which does not contain that of storing the update.
pub(super) fn growth<const FEW: u32, const READERS: u32>(
    tools: &mut DevTools,
    peer: Peer,
    count: u32,
) -> Result<Value> {
    let server = tools.rooms.server(peer)?;
    let few = updates(server, FEW, count.max(FEW_UPDATES))?;
    let mut answer = updates(server, READERS, count)?;
    let ratio =
        |field: &str| Ok::<_, anyhow::Error>(number(&answer, field)? / number(&few, field)?);
    let times = ratio("cpu_us_per_delivery")?;
    let more = number(&answer, "cpu_us_per_req")? - number(&few, "cpu_us_per_req")?;
    answer["times_few"] = times.into();
    answer["cpu_us_per_reader"] = (more / f64::from(READERS - FEW)).into();
    answer["errors"] = (errors(&answer) + errors(&few)).into();
    Ok(answer)
}

fn updates(server: &RoomServer, readers: u32, count: u32) -> Result<Value> {
    let (readers, count) = (readers.to_string(), count.to_string());
    server.load("room", "room", &["-c", &readers, "-n", &count])
}

/// A room without and with a reader that has stopped reading, alternately. The figures are the
/// ratios of the latencies of all others.
pub(super) fn stalled(tools: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = tools.rooms.server(peer)?;
    let (readers, count) = (BESIDE_STALLED.to_string(), count.to_string());
    let (size, warm) = STALLING;
    let run = |stalled: &str| {
        let load = ["-c", &readers, "-n", &count, "--size", size, "--warm", warm];
        server.load("room", "stalled", &[&load[..], &["--stalled", stalled]].concat())
    };
    let runs = [run("0")?, run("1")?, run("0")?, run("1")?];
    let ratio = |field: &str| -> Result<f64> {
        let [one, one_stalled, two, two_stalled] = [0, 1, 2, 3].map(|at| number(&runs[at], field));
        Ok((one_stalled? + two_stalled?) / (one? + two?))
    };
    let errors: u64 = runs.iter().map(errors).sum();
    let (p50, p99) = (ratio("p50_ms")?, ratio("p99_ms")?);
    Ok(json!({"p50_times": p50, "p99_times": p99, "errors": errors, "runs": runs}))
}

/// Sockets that read a document in which nothing happens.
pub(super) fn idle(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = RoomServer::start(peer)?;
    std::thread::sleep(SETTLE);
    server.load("sockets", "idle", &["-c", &count.to_string(), "--secs", "8"])
}

/// A running server; it ends, and its folder is removed, when this is dropped.
struct RoomServer {
    server: Server,
    _folder: Folder,
}

impl RoomServer {
    fn start(peer: Peer) -> Result<Self> {
        let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
        check_open_files(&limits)?;
        let folder = Folder::new()?;
        let server = match peer {
            Peer::Prompts => start_ours(&folder.0)?,
            _ => Server::start(peer, &[("TMPDIR", &folder.0.to_string_lossy())])?,
        };
        Ok(Self { server, _folder: folder })
    }

    /// Runs a command of the load client on a document.
    fn load(&self, command: &str, document: &str, options: &[&str]) -> Result<Value> {
        let url = format!("ws://127.0.0.1:{}/api/prompts/ws/{document}", self.server.port);
        let mut load = Command::new("sh");
        load.args(["-c", "ulimit -n 20000; exec \"$0\" \"$@\""]).arg(peers::load_client());
        load.args([command, &url]).args(options).args(["--pid", &self.server.pid()]);
        let answer = answer(&mut load)?;
        ensure!(answer["failed"].is_null(), "{}", answer["failed"]);
        Ok(answer)
    }
}

/// Our server as a user starts it: files in a folder, their history in SQLite.
fn start_ours(folder: &Path) -> Result<Server> {
    let prompts = folder.join("prompts");
    std::fs::create_dir(&prompts)?;
    for document in DOCUMENTS {
        std::fs::write(prompts.join(format!("{document}.md")), "Tell a joke.\n")?;
    }
    // The folder is the root of its project.
    std::fs::write(folder.join("package.json"), "{}")?;
    let port = peers::free_port()?;
    Server::launch(Peer::Prompts, port, |command| {
        command.args(["prompts", "prompts", "--port", &port.to_string()]).current_dir(folder);
    })
}

/// Fails if the programs cannot have as many open files as they need. The content is that of
/// `/proc/self/limits`.
fn check_open_files(limits: &str) -> Result<()> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let hard = line.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("unlimited");
    let hard: u64 = hard.parse().unwrap_or(u64::MAX);
    ensure!(
        hard >= OPEN_FILES,
        "the hard limit of open files is {hard}, and {OPEN_FILES} are needed: raise it, for example \
         with `sudo prlimit --nofile={OPEN_FILES} --pid $$`"
    );
    Ok(())
}

fn number(answer: &Value, field: &str) -> Result<f64> {
    answer[field].as_f64().with_context(|| format!("the load client has not said {field}"))
}

fn errors(answer: &Value) -> u64 {
    answer["errors"].as_u64().unwrap_or_default()
}

/// A folder for a server alone.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = peers::out_dir()?.join(format!("rooms-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_open_files_are_an_error_that_says_how_to_have_more() {
        let limits = |hard: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\n\
                 Max open files            1024                 {hard}               files\n"
            )
        };
        let error = check_open_files(&limits("4096")).unwrap_err().to_string();
        assert!(error.contains("is 4096, and 20000 are needed"), "{error}");
        for enough in ["20000", "1048576", "unlimited"] {
            check_open_files(&limits(enough)).unwrap();
        }
        check_open_files("").unwrap();
    }
}
