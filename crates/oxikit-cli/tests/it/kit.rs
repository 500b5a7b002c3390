//! Helpers that run the `oxikit` command as a process, read its lines, and wait with a timeout.

use std::fs::{File, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Maximum time to wait for an event, after which a test fails.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// The command, without the variables of the test environment that would change it.
pub(crate) fn oxikit(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oxikit"));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if ["GENKIT_", "OXIKIT_", "OTEL_", "RUST_LOG"].iter().any(|start| name.starts_with(start)) {
            command.env_remove(name);
        }
    }
    command.current_dir(dir).stdin(Stdio::null());
    command
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Parses each line of the output as JSON.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("{error}: {line:?} of {self:?}"),
        };
        self.stdout.lines().map(parse).collect()
    }

    /// Parses the output, which must be one line of JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let mut lines = self.json_lines();
        assert_eq!(lines.len(), 1, "{self:?}");
        lines.remove(0)
    }
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn run(dir: &Path, arguments: &[&str]) -> Ended {
    run_with(oxikit(dir).args(arguments))
}

#[track_caller]
pub(crate) fn run_with(command: &mut Command) -> Ended {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (stdout, stderr) = (all_of(child.stdout.take()), all_of(child.stderr.take()));
    let status = ended(&mut child, TIMEOUT).unwrap_or_else(|| {
        child.kill().unwrap();
        panic!("the command did not end within the timeout")
    });
    Ended {
        code: status.code().expect("the command was killed"),
        stdout: stdout.recv_timeout(TIMEOUT).unwrap(),
        stderr: stderr.recv_timeout(TIMEOUT).unwrap(),
    }
}

fn all_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (tx, rx) = channel();
    let mut pipe = pipe.unwrap();
    std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).unwrap();
        _ = tx.send(text);
    });
    rx
}

/// Waits for the end of a process; `None` if it still runs after this time.
pub(crate) fn ended(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let mut status = None;
    until(within, || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status
}

/// Waits until the condition holds; `false` if it does not within this time.
pub(crate) fn until(within: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + within;
    while !holds() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Sends a signal to a process that the test has started.
pub(crate) fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

/// Receives the lines of a pipe as they arrive.
pub(crate) fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tx, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            _ = tx.send(line);
        }
    });
    lines
}

/// Whether a process runs. A zombie does not.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

/// A running `oxikit start`, killed when dropped.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) child: Child,
    dir: PathBuf,
    lines: Receiver<String>,
    /// All lines that were read so far.
    pub(crate) seen: Vec<String>,
}

impl Started {
    /// Starts on free ports.
    pub(crate) fn new(dir: &Path, arguments: &[&str]) -> Self {
        Self::with_stdin(dir, arguments, Stdio::null())
    }

    pub(crate) fn with_stdin(dir: &Path, arguments: &[&str], stdin: Stdio) -> Self {
        Self::with_command(dir, oxikit(dir).stdin(stdin), arguments)
    }

    /// Starts this command, which may have additional variables.
    pub(crate) fn with_command(dir: &Path, command: &mut Command, arguments: &[&str]) -> Self {
        let ports = ["--port=0", "--reflection-port=0", "--telemetry-port=0"];
        command.arg("start").args(ports).args(arguments);
        Self::spawn(dir, command)
    }

    /// A running `oxikit prompts` on a free port.
    pub(crate) fn prompts(dir: &Path, arguments: &[&str]) -> Self {
        Self::spawn(dir, oxikit(dir).args(["prompts", "--port=0"]).args(arguments))
    }

    fn spawn(dir: &Path, command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (tx, lines) = channel();
        let pipes: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for pipe in pipes {
            let tx = tx.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    _ = tx.send(line);
                }
            });
        }
        Self { child, dir: dir.to_owned(), lines, seen: Vec::new() }
    }

    /// An application that is a script for `sh`.
    pub(crate) fn script(dir: &Path, script: &str) -> Self {
        Self::new(dir, &["--", "sh", "-c", script])
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line that contains this text.
    #[track_caller]
    pub(crate) fn line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no line with {text:?} after {:#?}", self.seen);
            };
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The number at the end of the next line that contains this text.
    #[track_caller]
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        let line = self.line(text);
        line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number")
    }

    pub(crate) fn signal(&self, kind: Signal) {
        signal(self.pid(), kind);
    }

    /// Waits for the end, reads the remaining lines and returns the exit status.
    #[track_caller]
    pub(crate) fn end(&mut self, within: Duration) -> ExitStatus {
        let status = ended(&mut self.child, within).expect("the developer tools still run");
        self.seen.extend(self.lines.iter());
        status
    }

    /// Runs another command for the same project.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) -> Ended {
        run(&self.dir, arguments)
    }

    /// The status of the application.
    #[track_caller]
    pub(crate) fn app(&self) -> Value {
        self.run(&["app", "status", "--json"]).json()
    }

    /// The file with the addresses and tokens of the developer tools.
    pub(crate) fn manager_file(&self) -> Value {
        let path = self.dir.join(".oxikit/manager.json");
        serde_json::from_reader(File::open(path).unwrap()).unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        // The guard ends the application.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A `manager.json` as the developer tools write it.
#[derive(Debug, Clone)]
pub(crate) struct ManagerFile(pub(crate) Value);

impl ManagerFile {
    /// A file for developer tools at this URL, with the id of this process.
    pub(crate) fn new(api_url: &str) -> Self {
        let token = "0123456789abcdef".repeat(6);
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        Self(json!({
            "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION"), "startedAt": "",
            "apiUrl": api_url, "token": token, "boot": boot.trim(),
            "reflectionUrl": format!("ws://127.0.0.1:1/r/{token}"),
            "telemetryUrl": format!("http://127.0.0.1:1/t/{token}"),
        }))
    }

    pub(crate) fn of_process(mut self, pid: u32) -> Self {
        self.0["pid"] = pid.into();
        self
    }

    /// Writes the file into a project, with the modes that the developer tools use.
    pub(crate) fn write(&self, dir: &Path) {
        self.write_with_modes(dir, 0o700, 0o600);
    }

    pub(crate) fn write_with_modes(&self, dir: &Path, folder: u32, file: u32) {
        let data = dir.join(".oxikit");
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join("manager.json"), self.0.to_string()).unwrap();
        for (path, mode) in [(data.join("manager.json"), file), (data, folder)] {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
    }
}
