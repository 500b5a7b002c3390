//! Whole programs: this test program again; an environment variable selects its role.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit_serve::{Server, reflect};
use tempfile::TempDir;
use tokio::sync::mpsc;

use super::app::define;
use crate::kit::{Client, PATIENCE, post};

const ROLE: &str = "OXIKIT_SERVE_TEST_ROLE";

/// A program that plays a role. It is killed when dropped.
struct Program {
    process: Child,
    project: TempDir,
}

impl Program {
    fn start(role: &str, variables: &[(&str, &str)]) -> Self {
        let project = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "reflection_v1::child::play", "--nocapture"]);
        command.current_dir(&project).env(ROLE, role).env("PORT", "0");
        command.env("GENKIT_REFLECTION_PORT", "0").envs(variables.iter().copied());
        let process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Self { process, project }
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(folder) = fs::read_dir(self.project.path().join(".genkit/runtimes")) else {
            return Vec::new();
        };
        folder.map(|entry| entry.unwrap().path()).collect()
    }

    /// The address at which it listens for the developer tools.
    async fn url(&mut self) -> String {
        let began = Instant::now();
        loop {
            if let Some(file) = self.files().first() {
                let content: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
                return content["reflectionServerUrl"].as_str().unwrap().to_owned();
            }
            assert!(began.elapsed() < PATIENCE && self.process.try_wait().unwrap().is_none());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for its end: the code, and what it has logged.
    async fn end(&mut self) -> (Option<i32>, String) {
        let began = Instant::now();
        while self.process.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < PATIENCE, "it does not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut log = String::new();
        let mut stderr = self.process.stderr.take().unwrap();
        std::io::Read::read_to_string(&mut stderr, &mut log).unwrap();
        (self.process.wait().unwrap().code(), log)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Plays the role of the environment; without one there is nothing to test.
#[tokio::test]
async fn play() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let ai = define(mpsc::unbounded_channel().0);
    ai.define_flow("log", |_: Option<Value>| async {
        tracing::info!("a line of the flow");
        Ok(())
    });
    match role.as_str() {
        "reflect" => reflect(&ai).await.unwrap(),
        "serve" => Server::new(&ai).serve().await.unwrap(),
        "serve-alone" => Server::new(&ai).without_dev_tools().serve().await.unwrap(),
        role => panic!("nobody plays {role}"),
    }
}

/// Asks a program to run an action and waits for the head of the answer.
async fn run(url: &str, body: &str) -> Client {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut client = Client::connect(address.parse().unwrap()).await;
    client.send(post(&format!("/{path}/api/runAction"), "", body)).await;
    client
}

#[cfg(unix)]
#[tokio::test]
async fn a_signal_ends_a_program_at_once_and_its_file_with_it() {
    for role in ["reflect", "serve"] {
        for signal in ["-TERM", "-INT"] {
            let mut program = Program::start(role, &[("GENKIT_ENV", "dev")]);
            let url = program.url().await;
            let mut slow = run(&url, r#"{"key":"/flow/slow","input":1}"#).await;
            assert_eq!(slow.head().await.unwrap().status, 200);
            program.signal(signal);
            let began = Instant::now();
            let (code, log) = program.end().await;
            assert!(began.elapsed() < Duration::from_secs(1), "{:?} {role}", began.elapsed());
            assert_eq!((code, program.files()), (Some(0), Vec::new()), "{role} {signal} {log}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_log_of_a_program_is_seen_and_has_no_token_in_it() {
    let mut program = Program::start("serve", &[("GENKIT_ENV", "dev"), ("RUST_LOG", "trace")]);
    let url = program.url().await;
    let mut client = run(&url, r#"{"key":"/flow/log"}"#).await;
    assert_eq!(client.answer().await.unwrap().status, 200);
    program.signal("-TERM");
    let (code, log) = program.end().await;
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("a line of the flow") && log.contains("serving at http://"), "{log}");
    let token = url.rsplit('/').next().unwrap();
    assert!(!log.contains(token), "{log}");
}

#[cfg(all(unix, feature = "otlp"))]
#[tokio::test]
async fn spans_go_to_a_collector_that_the_environment_names() {
    for role in ["reflect", "serve"] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let variables = [
            ("GENKIT_ENV", "dev"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ];
        let mut program = Program::start(role, &variables);
        let url = program.url().await;
        let mut client = run(&url, r#"{"key":"/flow/noSchema"}"#).await;
        let sent = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut line = [0; 23];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut line).await.unwrap();
            line
        };
        let sent = tokio::time::timeout(PATIENCE, sent).await.expect("spans are sent");
        assert_eq!(&sent, b"POST /v1/traces HTTP/1.");
        // A collector that has gone does not hold the answer up.
        assert_eq!(client.answer().await.unwrap().status, 200);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn an_invalid_variable_is_reported() {
    for (role, name, expected) in [
        ("reflect", "GENKIT_REFLECTION_PORT", "GENKIT_REFLECTION_PORT is `nonsense`"),
        ("reflect", "GENKIT_TELEMETRY_SERVER", "the URL of the telemetry server"),
        #[cfg(feature = "otlp")]
        ("serve", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    ] {
        let mut program = Program::start(role, &[("GENKIT_ENV", "dev"), (name, "nonsense")]);
        let (code, log) = program.end().await;
        assert_ne!(code, Some(0), "{name}");
        assert!(log.contains(expected), "{name} {log}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn without_the_environment_nothing_of_it_runs() {
    let off = [("GENKIT_ENV", "prod"), ("RUST_LOG", "info")];
    let mut program = Program::start("reflect", &off);
    let (code, log) = program.end().await;
    assert_ne!(code, Some(0));
    assert!(log.contains("genkit start -- cargo run"), "{log}");
    let dev = [("GENKIT_ENV", "dev")];
    for (role, variables) in [("serve", off.as_slice()), ("serve-alone", &dev)] {
        let mut program = Program::start(role, variables);
        // It has nothing to say: give it time to do what it must not do.
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(program.process.try_wait().unwrap().is_none(), "{role}");
        assert!(!program.project.path().join(".genkit").exists(), "{role}");
        program.signal("-TERM");
        let (code, log) = program.end().await;
        assert!(code == Some(0) && !log.contains("developer tools"), "{role}: {log}");
    }
}

/// The URL of a server, from what it says at its start.
fn address_in(log: &str) -> Option<std::net::SocketAddr> {
    let (_, url) = log.split_once("serving at http://")?;
    url.split(": ").next()?.parse().ok()
}

#[cfg(unix)]
#[tokio::test]
async fn a_plain_server_says_where_it_is_what_it_serves_and_what_fails() {
    let mut program = Program::start("serve", &[]);
    let mut log = String::new();
    let mut stderr = std::io::BufReader::new(program.process.stderr.take().unwrap());
    let address = loop {
        assert_ne!(std::io::BufRead::read_line(&mut stderr, &mut log).unwrap(), 0, "{log}");
        if let Some(address) = address_in(&log) {
            break address;
        }
    };
    assert!(log.contains("/log") && log.contains("/docs"), "{log}");
    let mut client = Client::connect(address).await;
    client.send(post("/boom", "", "{}")).await;
    client.answer().await.unwrap().assert_error(500, "INTERNAL");
    client.send(post("/log", "", "{}")).await;
    assert_eq!(client.answer().await.unwrap().status, 200);
    program.signal("-TERM");
    std::io::Read::read_to_string(&mut stderr, &mut log).unwrap();
    for part in ["ERROR", "action=\"/flow/boom\"", "trace_id=", "a line of the flow"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!log.contains("oxikit::access"), "{log}");
    // `RUST_LOG` selects what is logged.
    for (filter, is_logged) in [("off", false), ("oxikit_serve=info", true)] {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let port = free.port().to_string();
        let mut program = Program::start("serve", &[("RUST_LOG", filter), ("PORT", &port)]);
        if is_logged {
            let mut stderr = std::io::BufReader::new(program.process.stderr.take().unwrap());
            let mut line = String::new();
            std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
            assert!(address_in(&line).is_some(), "{line}");
        } else {
            let until = std::time::Instant::now() + Duration::from_secs(10);
            while std::net::TcpStream::connect(free).is_err() {
                assert!(std::time::Instant::now() < until, "it does not listen");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            program.signal("-TERM");
            assert_eq!(program.end().await.1, "", "{filter}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_port_that_is_in_use_is_named() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut program = Program::start("serve", &[("PORT", &port)]);
    let (code, log) = program.end().await;
    assert_ne!(code, Some(0));
    let named = format!("port {port} is in use");
    assert!(log.contains(&named) && log.contains("Server::port"), "{log}");
    let dev = [("GENKIT_ENV", "dev"), ("GENKIT_REFLECTION_PORT", port.as_str())];
    let mut program = Program::start("reflect", &dev);
    let (_, log) = program.end().await;
    assert!(log.contains(&named) && log.contains("GENKIT_REFLECTION_PORT"), "{log}");
}
