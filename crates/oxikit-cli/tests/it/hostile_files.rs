//! Hostile files in a cloned repository: no command sends data to an address in them, writes
//! through a link, or blocks on a pipe.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use oxikit_cli::command_table;
use rustix::process::Signal;
use serde_json::json;

use super::kit::{ManagerFile, Started, TIMEOUT, oxikit, run, run_with};

/// Maximum time for a command to reject a file.
const SOON: Duration = Duration::from_secs(10);
/// Input that must not be sent to another program.
const SECRETS: [&str; 2] = ["secret-input", "secret-auth"];

/// The context of the caller, which is a secret too.
const CONTEXT: &str = r#"{"auth":{"uid":"secret-auth"}}"#;

/// A foreign program at the address: it records requests and answers with a redirect.
struct Canary {
    url: String,
    received: Arc<Mutex<Vec<String>>>,
}

impl Canary {
    fn new() -> Self {
        Self::answering("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned())
    }

    fn answering(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = received.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
                let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
                while let Ok(count @ 1..) = stream.read(&mut buffer) {
                    bytes.extend_from_slice(&buffer[..count]);
                    _ = stream.write_all(answer.as_bytes());
                }
                kept.lock().unwrap().push(String::from_utf8_lossy(&bytes).into_owned());
            }
        });
        Self { url, received }
    }

    fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }
}

/// The arguments for each command that calls the developer tools. `None` for commands that
/// do not read `manager.json` or have their own test.
fn test_arguments(command: &str) -> Option<&'static [&'static str]> {
    Some(match command {
        "start" | "mcp" | "prompts" | "config show" | "completions" | "__guard" | "__demo" => {
            return None;
        }
        "a2a card" | "a2a send" | "a2a stream" | "a2a chat" | "a2a task" | "a2a cancel" => {
            return None;
        }
        "app status" | "app restart" | "app stop" | "runtimes" | "action list" | "agent list"
        | "flow list" | "trace list" | "trace tail" | "dataset list" | "eval list"
        | "eval show" | "eval import" | "env" | "doctor" | "log list" => &[],
        "open" => &["--print"],
        "action run" => &["/flow/x", "\"secret-input\"", "--context", CONTEXT],
        "action show" => &["/flow/secret-input"],
        "flow run" => &["x", "secret-input", "--context", CONTEXT],
        "flow batch" => &["x", "inputs.json"],
        "agent chat" => &["x", "secret-input", "--context", CONTEXT],
        "session list" => &["x", "--context", CONTEXT],
        "session show" | "session fork" | "session delete" | "session export" => {
            &["x", "secret-input", "--context", CONTEXT]
        }
        "trace show" | "dataset show" | "dataset delete" | "eval delete" | "eval extract" => &["x"],
        "dataset create" | "dataset add" => &["set-of-x", "inputs.json"],
        "eval run" => &["x", "inputs.json", "--context", CONTEXT],
        "prompt list" | "prompt lint" => &[],
        "prompt show" | "prompt history" | "prompt diff" | "prompt label" => &["secret-input"],
        "prompt render" => &["x", r#"{"a":"secret-input"}"#],
        "eval judge" => &["inputs.json"],
        other => panic!("`oxikit {other}` has no test arguments: add them here"),
    })
}

/// Runs every command that calls the developer tools in a project. Each must fail in time with
/// this text.
#[track_caller]
fn check_all(dir: &Path, what: &str, text: &str) {
    fs::write(dir.join("inputs.json"), r#"["secret-input"]"#).unwrap();
    for arguments in command_table() {
        let Some(more) = test_arguments(&arguments.join(" ")) else { continue };
        let began = Instant::now();
        let ended = run_with(oxikit(dir).args(&arguments).args(more));
        assert!(began.elapsed() < SOON, "{what}: {arguments:?} took {:?}", began.elapsed());
        assert_eq!(ended.code, 3, "{what}: {arguments:?}: {ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(text), "{what}: {arguments:?}: {said}");
        assert!(!said.contains("GENKIT_REFLECTION_V2_SERVER="), "{what}: {arguments:?}: {said}");
    }
}

/// The name of a kind of file, and the function that creates it in a project.
type Planted<'a> = (&'a str, Box<dyn Fn(&Path) + 'a>);

fn pipe(path: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
}

#[test]
fn a_manager_file_is_only_used_if_it_is_private() {
    let canary = Canary::new();
    let good = ManagerFile::new(&canary.url);
    let with = |member: &str, value: serde_json::Value| {
        let mut file = good.clone();
        file.0[member] = value;
        file
    };
    let elsewhere = tempfile::tempdir().unwrap();
    good.write(elsewhere.path());
    let mut files: Vec<Planted<'_>> = vec![
        ("as git makes it", Box::new(|dir| good.write_with_modes(dir, 0o755, 0o644))),
        ("in an open folder", Box::new(|dir| good.write_with_modes(dir, 0o755, 0o600))),
        ("writable by all", Box::new(|dir| good.write_with_modes(dir, 0o700, 0o666))),
        (
            "a link",
            Box::new(|dir| {
                good.write(dir);
                fs::remove_file(dir.join(".oxikit/manager.json")).unwrap();
                let target = elsewhere.path().join(".oxikit/manager.json");
                symlink(target, dir.join(".oxikit/manager.json")).unwrap();
            }),
        ),
        (
            "a folder that is a link",
            Box::new(|dir| {
                symlink(elsewhere.path().join(".oxikit"), dir.join(".oxikit")).unwrap();
            }),
        ),
        (
            "a pipe",
            Box::new(|dir| {
                good.write(dir);
                fs::remove_file(dir.join(".oxikit/manager.json")).unwrap();
                pipe(&dir.join(".oxikit/manager.json"));
            }),
        ),
        (
            "endless",
            Box::new(|dir| {
                good.write(dir);
                fs::remove_file(dir.join(".oxikit/manager.json")).unwrap();
                symlink("/dev/zero", dir.join(".oxikit/manager.json")).unwrap();
            }),
        ),
    ];
    let host = canary.url.trim_start_matches("http://");
    for (what, file) in [
        ("of another machine", with("boot", json!("another"))),
        ("without a start", with("boot", json!(null))),
        ("too large", with("version", json!("x".repeat(70_000)))),
        ("with a user", with("apiUrl", json!(format!("http://x@{host}")))),
        ("with a path", with("apiUrl", json!(format!("http://{host}/admin")))),
        ("with a query", with("apiUrl", json!(format!("http://{host}?x=")))),
        ("with a fragment", with("apiUrl", json!(format!("http://{host}#")))),
        ("with another host", with("apiUrl", json!("http://192.0.2.1:4000"))),
        ("with a name", with("apiUrl", json!("http://tools.localhost:4000"))),
        ("with TLS", with("apiUrl", json!(format!("https://{host}")))),
        (
            "with a foreign socket",
            with("reflectionUrl", json!("ws://192.0.2.1:1/r/0123456789abcdef")),
        ),
        (
            "with a variable",
            with("telemetryUrl", json!("http://127.0.0.1:1/t/0123456789abcdef X=1")),
        ),
        ("with a short token", with("token", json!("x"))),
        ("without a token", with("token", json!(null))),
    ] {
        files.push((what, Box::new(move |dir| file.write(dir))));
    }
    for (what, write) in files {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path());
        check_all(dir.path(), what, ".oxikit");
    }
    assert_eq!(canary.received(), [""; 0]);
}

#[test]
fn another_program_at_the_address_gets_no_token_and_no_input() {
    let trap = Canary::new();
    let redirect = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {}/trap\r\ncontent-length: 0\r\n\r\n",
        trap.url
    );
    let good = "HTTP/1.1 200 OK\r\nx-oxikit-proof: 00\r\ncontent-length: 2\r\n\r\n{}".to_owned();
    for answer in [redirect, good] {
        let canary = Canary::answering(answer);
        let dir = tempfile::tempdir().unwrap();
        let file = ManagerFile::new(&canary.url);
        file.write(dir.path());
        check_all(dir.path(), "another program", "another program");
        let token = file.0["token"].as_str().unwrap().to_owned();
        for received in canary.received() {
            assert!(received.starts_with("GET / HTTP/1.1\r\n"), "{received}");
            assert!(!received.contains(&token), "{received}");
            assert!(!SECRETS.iter().any(|secret| received.contains(secret)), "{received}");
        }
    }
    assert_eq!(trap.received(), [""; 0]);
}

#[test]
fn a_start_follows_no_link_and_waits_for_no_file() {
    let check = |what: &str, plant: &dyn Fn(&Path, &Path), text: &str| {
        let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(dir.path().join(".oxikit")).unwrap();
        plant(dir.path(), elsewhere.path());
        let before: Vec<_> = fs::read_dir(elsewhere.path()).unwrap().collect();
        let began = Instant::now();
        let ports = ["--port=0", "--reflection-port=0", "--telemetry-port=0"];
        let mut command = oxikit(dir.path());
        let ended = run_with(command.arg("start").args(ports).args(["--", "true"]));
        assert!(began.elapsed() < SOON, "{what} took {:?}", began.elapsed());
        assert!(matches!(ended.code, 2 | 3), "{what}: {ended:?}");
        assert!(ended.stderr.contains(text), "{what}: {ended:?}");
        let after = fs::read_dir(elsewhere.path()).unwrap().count();
        assert_eq!(after, before.len(), "{what}: something was written elsewhere");
    };
    let data = |dir: &Path, name: &str| dir.join(".oxikit").join(name);
    check(
        "a folder that is a link",
        &|dir, elsewhere| {
            fs::remove_dir(dir.join(".oxikit")).unwrap();
            symlink(elsewhere, dir.join(".oxikit")).unwrap();
        },
        ".oxikit is a symbolic link",
    );
    for name in ["devtools.db", "devtools.db-wal", "demo.db", "manager.lock", ".gitignore"] {
        let link = |dir: &Path, elsewhere: &Path| {
            symlink(elsewhere.join("victim"), data(dir, name)).unwrap();
        };
        check(name, &link, name);
        check(name, &|dir, _| pipe(&data(dir, name)), name);
    }
    check("a pipe", &|dir, _| pipe(&data(dir, "config.toml")), "not a regular file");
    let endless = |dir: &Path, _: &Path| symlink("/dev/zero", data(dir, "config.toml")).unwrap();
    check("endless", &endless, "not a regular file");
    let large =
        |dir: &Path, _: &Path| fs::write(data(dir, "config.toml"), "#".repeat(70_000)).unwrap();
    check("too large", &large, "more than 65536 bytes");
    let opening = |dir: &Path, _: &Path| {
        fs::write(data(dir, "config.toml"), "allow_origin = [\"http://evil.example\"]").unwrap();
    };
    check("opening", &opening, "chmod 600");
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".oxikit")).unwrap();
    pipe(&data(dir.path(), "config.toml"));
    assert_eq!(run(dir.path(), &["config", "show"]).code, 2);
}

#[test]
fn a_start_replaces_a_file_that_is_not_its_own() {
    let canary = Canary::new();
    let dir = tempfile::tempdir().unwrap();
    ManagerFile::new(&canary.url).write_with_modes(dir.path(), 0o755, 0o644);
    let elsewhere = tempfile::tempdir().unwrap();
    symlink(elsewhere.path(), dir.path().join(".genkit")).unwrap();
    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    started.line("ready");
    let said = started.run(&["app", "status"]);
    assert_eq!(said.code, 0, "{said:?}");
    started.signal(Signal::TERM);
    started.end(TIMEOUT);
    assert_eq!(canary.received(), [""; 0]);
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0, "written through a link");
    let seen = started.seen.join("\n");
    assert!(seen.contains(".genkit is a symbolic link"), "{seen}");
}

#[test]
fn runtime_files_cause_no_requests_and_no_waiting() {
    let canary = Canary::new();
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("package.json"), "{}").unwrap();
    let runtimes = dir.path().join(".genkit/runtimes");
    fs::create_dir_all(&runtimes).unwrap();
    let write = |name: &str, url: &str| {
        let file = json!({"id": name, "pid": std::process::id(), "name": "x",
            "reflectionServerUrl": url, "timestamp": "2026-11-15T06:32:35.191Z",
            "genkitVersion": "nodejs/1.42.0", "reflectionApiSpecVersion": 1});
        fs::write(runtimes.join(format!("{name}.json")), file.to_string()).unwrap();
    };
    let url = &canary.url;
    let host = url.trim_start_matches("http://");
    for (name, url) in [
        ("fragment", format!("{url}/admin#")),
        ("only-fragment", format!("{url}#")),
        ("query", format!("{url}/admin?x=")),
        ("path", format!("{url}/admin")),
        ("user", format!("http://x@{host}")),
        ("name", format!("http://x.localhost:{}", host.rsplit(':').next().unwrap())),
    ] {
        write(name, &url);
    }
    pipe(&runtimes.join("pipe.json"));
    symlink("/dev/zero", runtimes.join("endless.json")).unwrap();
    fs::write(runtimes.join("large.json"), "x".repeat(70_000)).unwrap();

    let began = Instant::now();
    let doctor = run(dir.path(), &["doctor", "--json"]);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let findings = doctor.json();
    let findings: Vec<&str> = findings
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["check"] == "runtime files" && finding["verdict"] == "bad")
        .map(|finding| finding["detail"].as_str().unwrap())
        .collect();
    assert_eq!(findings.len(), 9, "{findings:#?}");

    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    let mut refused = 0;
    while refused < 7 {
        started.line("ignored a runtime file");
        refused += 1;
    }
    assert_eq!(started.run(&["runtimes", "--json"]).json()["runtimes"], json!([]));
    assert_eq!(canary.received(), [""; 0]);
}
