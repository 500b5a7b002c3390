//! Commands whose output is a pipe without a reader still end on request.

use std::fs::{self, File};
use std::io::PipeReader;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;

use super::hostile::runtime::post_traces;
use super::kit::{Started, TIMEOUT, ended, is_alive, lines_of, oxikit, signal, until};
use oxikit_testing::manager::{ReceivedRequest, ScriptedRuntime, soon};

/// Maximum time to end, including the application.
const SOON: Duration = Duration::from_secs(4);
/// A pipe holds 64 KiB; with this it is as good as full.
const FULL: u64 = 56 << 10;

/// Starts a command with one pipe for both outputs, which is not read.
fn unread(command: &mut Command) -> (Unread, PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
    // The ends of the pipe that the command holds.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    (Unread(child), reader)
}

/// A process that is killed when dropped.
struct Unread(Child);

impl Drop for Unread {
    fn drop(&mut self) {
        // The guard ends the application.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn is_full(pipe: &PipeReader) -> bool {
    ioctl_fionread(pipe).unwrap() >= FULL
}

/// An application that writes more than the queue can hold, and then its process id.
const FLOOD: &str = "yes 'a line of the application that nobody reads' | head -c 20000000; \
    yes 'and of its errors' | head -c 2000000 >&2; echo $$ > done; sleep 600";

/// Starts the application and waits until it has written everything. Returns its process id.
fn flood(dir: &Path, command: &mut Command) -> (Unread, PipeReader, u32) {
    command.args(["start", "--port=0", "--reflection-port=0", "--telemetry-port=0"]);
    let (tools, pipe) = unread(command.args(["--", "sh", "-c", FLOOD]));
    let mut pid = None;
    let is_reported = until(TIMEOUT, || {
        pid = fs::read_to_string(dir.join("done")).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    assert!(is_reported, "the application waits for a reader");
    assert!(until(TIMEOUT, || is_full(&pipe)));
    (tools, pipe, pid.unwrap())
}

#[track_caller]
fn check_ends(mut tools: Unread, app: u32) {
    let asked = Instant::now();
    let status = ended(&mut tools.0, SOON);
    assert_eq!(status.expect("the developer tools wait for a reader").code(), Some(0));
    assert!(asked.elapsed() < SOON);
    assert!(until(SOON, || !is_alive(app)));
}

#[test]
fn the_tools_end_without_a_reader() {
    for kind in [Signal::TERM, Signal::INT, Signal::HUP] {
        let dir = tempfile::tempdir().unwrap();
        let (tools, _pipe, app) = flood(dir.path(), &mut oxikit(dir.path()));
        signal(tools.0.id(), kind);
        check_ends(tools, app);
    }
}

#[test]
fn a_key_ends_the_tools_without_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let mut command = oxikit(dir.path());
    command.stdin(File::open(name).unwrap());
    let (tools, _pipe, app) = flood(dir.path(), &mut command);
    rustix::io::write(&master, b"r\nwhat\nq\n").unwrap();
    check_ends(tools, app);
}

#[test]
fn lines_that_were_not_read_in_time_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (tools, pipe, app) = flood(dir.path(), &mut oxikit(dir.path()));
    let lines = lines_of(pipe);
    let counted = lines.iter().find(|line| line.contains("lines not shown")).unwrap();
    let number = counted.split(' ').find_map(|word| word.parse::<u64>().ok());
    assert!(number.is_some_and(|number| number > 10_000), "{counted}");
    signal(tools.0.id(), Signal::TERM);
    check_ends(tools, app);
    assert!(lines.iter().any(|line| line == "oxikit | shutting down"), "the last lines are shown");
}

/// Starts developer tools. Returns them and their manager file.
fn tools(dir: &Path) -> (Started, Value) {
    let mut started = Started::script(dir, "echo ready; sleep 600");
    started.line("ready");
    let file = started.manager_file();
    (started, file)
}

#[test]
fn a_command_that_follows_traces_ends_without_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (_tools, file) = tools(dir.path());
    for (kind, code) in [(Signal::INT, Some(0)), (Signal::TERM, None)] {
        let (mut tail, pipe) = unread(oxikit(dir.path()).args(["trace", "tail", "--json"]));
        assert!(until(TIMEOUT, || {
            post_traces(&file);
            is_full(&pipe)
        }));
        signal(tail.0.id(), kind);
        let status = ended(&mut tail.0, SOON);
        assert_eq!(status.expect("it waits for a reader").code(), code, "{kind:?}");
    }
}

/// The command as a terminal starts it. Jobs in the background of a script ignore `SIGINT`, and so do
/// the programs that they start: these tests may be such a job.
fn interruptible(dir: &Path) -> Command {
    let oxikit = oxikit(dir);
    if !cfg!(target_os = "linux") {
        return oxikit;
    }
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(oxikit.get_program());
    for (name, value) in oxikit.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(dir).stdin(Stdio::null());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_without_a_reader_is_cancelled_with_its_command() {
    let dir = tempfile::tempdir().unwrap();
    let (_tools, file) = tools(dir.path());
    let url = file["reflectionUrl"].as_str().unwrap().to_owned();
    let address = url.trim_start_matches("ws://").split('/').next().unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let (socket, _) = soon(client_async(&url, stream)).await.unwrap();
    let mut runtime = ScriptedRuntime::new(socket);
    runtime.register("app", std::process::id()).await;
    for kind in [Signal::TERM, Signal::INT] {
        let arguments = ["flow", "run", "endless", "-s", "--runtime", "app"];
        let (mut command, pipe) = unread(interruptible(dir.path()).args(arguments));
        let asked = loop {
            let mut message = runtime.next().await;
            let (id, params) = (message["id"].take(), message["params"].take());
            let asked = ReceivedRequest { id, params };
            match message["method"].as_str() {
                Some("runAction") => break asked,
                Some("listActions") => runtime.answer(&asked, json!({})).await,
                _ => {}
            }
        };
        runtime.state(&asked, "0123456789abcdef0123456789abcdef").await;
        while !is_full(&pipe) {
            runtime.chunk(&asked, json!("x".repeat(1 << 10))).await;
        }
        signal(command.0.id(), kind);
        let cancelled = async { while runtime.next().await["method"] != "cancelAction" {} };
        soon(cancelled).await;
        let status = ended(&mut command.0, SOON).expect("it waits for a reader");
        assert_eq!(status.code(), None, "{kind:?}");
        runtime.fail(&asked, json!({"code": -32000, "message": "cancelled"})).await;
    }
}
