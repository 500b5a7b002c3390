//! A coding agent: an MCP client that writes the messages of the protocol to `oxikit mcp`.

use std::io::Write;
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use serde_json::{Value, json};

use super::kit::{TIMEOUT, ended, lines_of, oxikit};

/// A secret in the environment of the command, which must not appear in its output.
const SECRET: &str = "planted-4711";

/// A running `oxikit mcp`, killed when dropped.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
    /// All lines of the standard output so far.
    pub(crate) seen: Vec<String>,
    requests: u64,
}

impl Agent {
    /// Starts the command and completes the handshake.
    #[track_caller]
    pub(crate) fn new(dir: &Path) -> Self {
        let mut agent = Self::uninitialized(dir);
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let hello = agent.ask("initialize", params);
        assert_eq!(hello["result"]["serverInfo"]["name"], "oxikit");
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        agent
    }

    /// Starts the command and sends nothing.
    pub(crate) fn uninitialized(dir: &Path) -> Self {
        let mut command = oxikit(dir);
        for port in ["OXIKIT_PORT", "OXIKIT_REFLECTION_PORT", "OXIKIT_TELEMETRY_PORT"] {
            command.env(port, "0");
        }
        command.env("OXIKIT_TEST_SECRET", SECRET);
        let pipes = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
        Self {
            stdin: child.stdin.take(),
            lines: lines_of(child.stdout.take().unwrap()),
            errors: lines_of(child.stderr.take().unwrap()),
            child,
            seen: Vec::new(),
            requests: 0,
        }
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let mut stdin = self.stdin.as_ref().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    /// Sends a request and does not wait for the response.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and returns its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let Ok(line) = self.lines.recv_timeout(TIMEOUT) else {
            panic!("no answer to {method}; {:#?}", self.errors.try_iter().collect::<Vec<_>>());
        };
        self.seen.push(line.clone());
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{line}");
        answer
    }

    /// Calls a tool. Returns its JSON and whether it is an error.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> (Value, bool) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (serde_json::from_str(text).unwrap(), result["isError"] == true)
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    pub(crate) fn call_ok(&mut self, tool: &str, arguments: Value) -> Value {
        let (answer, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {answer:#}");
        answer
    }

    /// Calls a tool that must fail.
    #[track_caller]
    pub(crate) fn call_err(&mut self, tool: &str, arguments: Value) -> Value {
        let (answer, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {answer:#}");
        answer
    }

    /// Closes the input and returns the exit status of the command.
    #[track_caller]
    pub(crate) fn disconnect(&mut self, within: Duration) -> ExitStatus {
        self.stdin = None;
        let status =
            ended(&mut self.child, within).expect("the command still runs without a client");
        self.seen.extend(self.lines.iter());
        assert!(!self.seen.iter().any(|line| line.contains(SECRET)));
        status
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The guard ends the application.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
