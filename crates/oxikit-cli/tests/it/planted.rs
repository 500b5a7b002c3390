//! Sixty secrets are put into the environment, calls, spans and logs; then everything that the
//! developer tools send or store is searched for them.

mod values;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use oxikit_devtools::route_table;
use reqwest::Method;
use serde_json::{Value, json};

use super::kit::{Started, TIMEOUT, oxikit, until};
use super::mcp_kit::Agent;
use values::Planted;

/// The tools, from outside.
struct Outside {
    http: reqwest::Client,
    manager: Value,
}

impl Outside {
    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> (u16, String) {
        let at = |name: &str| self.manager[name].as_str().unwrap().to_owned();
        let url = match path.strip_prefix("telemetry:") {
            Some(path) => at("telemetryUrl") + path,
            None => at("apiUrl") + path,
        };
        let request = self.http.request(method, url).bearer_auth(at("token"));
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let mut answer = tokio::time::timeout(TIMEOUT, request.send()).await.unwrap().unwrap();
        let (status, mut text) = (answer.status().as_u16(), format!("{:?}", answer.headers()));
        let is_endless = text.contains("event-stream");
        // For endless streams the first chunk is enough: their content is read elsewhere, too.
        while let Ok(chunk) = tokio::time::timeout(TIMEOUT, answer.chunk()).await {
            let Some(chunk) = chunk.unwrap() else { break };
            text.push_str(&String::from_utf8_lossy(&chunk));
            if is_endless {
                break;
            }
        }
        (status, text)
    }

    /// Everything that can be read without a specific id.
    async fn everything(&self) -> String {
        let mut all = String::new();
        let filled = |path: String| {
            let parts = [
                ("{*key}", "flow/hello"),
                ("{type}", "defaultModel"),
                ("{traceId}", "planted"),
                ("{agent}", "teashop"),
                ("{session}", "s1"),
                ("{id}", "planted"),
            ];
            parts.iter().fold(path, |path, (name, value)| path.replace(name, value))
        };
        // These two send nothing until an event happens.
        let is_silent = |path: &str| path.ends_with("/traces/events");
        let gets = route_table().into_iter().filter(|(method, _)| *method == "GET");
        for path in gets.map(|(_, path)| filled(path)).filter(|path| !is_silent(path)) {
            let (status, text) = self.call(Method::GET, &path, None).await;
            assert_ne!(status, 401, "{path}");
            all.push_str(&format!("\n{status} {path}\n{text}"));
        }
        for path in [
            "/api/getTrace?input={\"traceId\":\"planted\"}",
            "/api/v1/traces?limit=100&text=key",
            "/api/v1/traces/0af7651916cd43dd8448eb211c80319c",
            "/api/v1/logs?limit=100",
            "/nothing/here",
            "telemetry:/api/traces?limit=100",
            "telemetry:/api/traces/planted",
            "telemetry:/api/logs",
        ] {
            all.push_str(&format!("\n{path}\n{}", self.call(Method::GET, path, None).await.1));
        }
        all
    }
}

/// All files below a folder, except those whose purpose is to hold the secret.
fn files(folder: &Path, all: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            if name != ".genkit" && !path.to_string_lossy().contains(".genkit") {
                assert_eq!(mode, 0o700, "{path:?}");
            }
            files(&path, all);
            continue;
        }
        assert_eq!(mode & 0o177, 0, "{path:?} is {mode:o}");
        // The tokens for the user's own commands and for the official ones, and the
        // conversations of the demo.
        let is_for_that =
            name == "manager.json" || name.starts_with("tools-") || name.starts_with("oxikit-");
        if !is_for_that && !name.starts_with("demo.db") {
            all.push_str(&format!("\n{name}\n"));
            all.push_str(&String::from_utf8_lossy(&fs::read(&path).unwrap()));
        }
    }
}

/// The arguments of a process and of its children.
fn command_lines(of: u32) -> String {
    let mut all = String::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        let is_ours = entry.file_name().to_string_lossy() == of.to_string();
        if is_ours || parent == Some(&of.to_string()) {
            all.push_str(&fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default());
        }
    }
    all
}

#[test]
fn none_of_sixty_planted_secrets_leaves_the_tools() {
    let dir = tempfile::tempdir().unwrap();
    let mut planted = Planted::new();
    let mut command = oxikit(dir.path());
    command.envs(planted.by_variable.iter().map(|(name, value)| (*name, value)));
    command.env("RUST_LOG", "debug");
    let mut demo = Started::with_command(dir.path(), &mut command, &["--demo"]);
    demo.line("connected with the developer tools");
    assert!(until(TIMEOUT, || demo.run(&["runtimes", "--json"]).json()["current"].is_string()));
    let manager = demo.manager_file();
    let last = |name: &str| manager[name].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    planted.tokens = [last("token"), last("reflectionUrl"), last("telemetryUrl")];
    assert_eq!(planted.all().len(), 60);

    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let outside = Outside { http, manager };
    let tokio = tokio::runtime::Runtime::new().unwrap();
    let mut output = tokio.block_on(async {
        plant(&outside, &planted).await;
        outside.everything().await
    });
    for arguments in [
        &["trace", "list", "--json"][..],
        &["trace", "list"],
        &["trace", "show", "planted"],
        &["trace", "show", "planted", "--json"],
        &["trace", "show", "latest", "--json"],
        &["app", "status", "--json"],
        &["runtimes", "--json"],
        &["action", "list", "--json"],
        &["doctor", "--json"],
        &["config", "show", "--origin"],
    ] {
        let ended = demo.run(arguments);
        output.push_str(&format!("\n{arguments:?}\n{}{}", ended.stdout, ended.stderr));
    }
    output.push_str(&read_by_an_agent(dir.path()));
    output.push_str(&command_lines(demo.pid()));
    files(dir.path(), &mut output);
    demo.signal(rustix::process::Signal::TERM);
    demo.end(TIMEOUT);
    output.push_str(&demo.seen.join("\n"));

    // The searched text really contained the data.
    for mark in ["<redacted>", "Say hello to", "planted", "GEMINI_API_KEY", "devtools.db"] {
        assert!(output.contains(mark), "{mark} is nowhere");
    }
    let found = planted.all().into_iter().filter_map(|value| {
        let at = output.find(value)?;
        let from = output.floor_char_boundary(at.saturating_sub(200));
        Some(format!("{value}: {}", &output[from..at + value.len()]))
    });
    let found: Vec<_> = found.collect();
    assert!(found.is_empty(), "{} of 60 are found: {found:#?}", found.len());
}

/// Everything that a coding agent can read.
fn read_by_an_agent(dir: &Path) -> String {
    let mut agent = Agent::new(dir);
    for (tool, arguments) in [
        ("list_runtimes", json!({})),
        ("list_actions", json!({"withSchemas": true})),
        ("list_traces", json!({})),
        ("get_trace", json!({"traceId": "planted", "maxLength": 100_000})),
        ("get_trace", json!({"traceId": "latest", "maxLength": 100_000})),
        ("list_logs", json!({"maxLength": 100_000})),
        ("doctor", json!({})),
    ] {
        agent.call_ok(tool, arguments);
    }
    agent.seen.join("\n")
}

/// Calls, spans and logs that are full of secrets. The caller of an action gets
/// its output unredacted; that is not searched.
async fn plant(outside: &Outside, planted: &Planted) {
    let context = json!({"auth": {"uid": planted.in_auth[0], "raw": {"x": planted.in_auth[1]}},
        "headers": planted.members()});
    for flow in ["hello", "umbrella", "broken"] {
        let body =
            json!({"key": format!("/flow/{flow}"), "input": planted.text(), "context": context});
        let (status, text) = outside.call(Method::POST, "/api/v1/run", Some(&body)).await;
        assert_eq!(status, 200, "{flow}: {text}");
    }
    let chat = json!({"message": {"role": "user", "content": [{"text": planted.text()}]}});
    let body = json!({"input": chat});
    let (status, text) =
        outside.call(Method::POST, "/api/agents/teashop/execute", Some(&body)).await;
    assert_eq!(status, 200, "{text}");
    for (path, body) in [
        ("telemetry:/api/traces", planted.trace()),
        ("telemetry:/api/otlp", planted.otlp()),
        ("/api/addTrace", planted.trace()),
    ] {
        let (status, text) = outside.call(Method::POST, path, Some(&body)).await;
        assert_eq!(status, 200, "{path}: {text}");
    }
}
