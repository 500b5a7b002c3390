//! Commands without running developer tools: help, settings and errors.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use super::kit::{ManagerFile, TIMEOUT, ended, oxikit, run, run_with};

#[test]
fn help_names_every_command_and_shows_examples() {
    let dir = tempfile::tempdir().unwrap();
    let help = run(dir.path(), &["--help"]);
    assert_eq!(help.code, 0);
    for command in [
        "start",
        "open",
        "app",
        "runtimes",
        "action",
        "flow",
        "agent",
        "session",
        "trace",
        "log",
        "prompts",
        "env",
        "doctor",
        "mcp",
        "config",
        "completions",
    ] {
        assert!(help.stdout.contains(&format!("\n  {command} ")), "{command}: {}", help.stdout);
        let own = run(dir.path(), &[command, "--help"]);
        assert_eq!((own.code, own.stderr.as_str()), (0, ""), "{command}");
    }
    assert!(help.stdout.contains("oxikit start --demo"));
    assert!(!help.stdout.contains("__"), "hidden commands are hidden");
    let completions = run(dir.path(), &["completions", "bash"]);
    assert!(completions.stdout.contains("complete -F _oxikit"));
}

#[test]
fn wrong_usage_is_2_and_unavailable_tools_are_3() {
    let dir = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], code: i32, text: &str| {
        let ended = run(dir.path(), arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(text), "{arguments:?}: {ended:?}");
        assert_eq!(ended.stdout, "", "{arguments:?}");
    };
    check(&[], 2, "Usage");
    check(&["jump"], 2, "the commands are: start, open, app, ");
    check(&["flw", "run"], 2, "a similar subcommand exists: 'flow'");
    check(&["flow", "rn", "x"], 2, "a similar subcommand exists: 'run'");
    check(&["flow", "hello"], 2, "the commands are: list, run, batch");
    check(&["start", "--port", "many"], 2, "--port");
    check(&["start", "--demo", "--", "true"], 2, "--demo");
    check(&["start"], 2, "oxikit start --demo");
    check(&["start", "--experimental-reflection-v2"], 2, "oxikit start --demo");
    check(&["start", "--experimental-reflection-v2", "--reflection-v1"], 2, "--reflection-v1");
    check(&["flow", "run"], 2, "<NAME>");
    check(&["flow", "run", "x", "--timeout", "0"], 2, "above 0");
    for arguments in [
        &["runtimes"][..],
        &["app", "status"],
        &["action", "list"],
        &["action", "run", "/flow/x"],
        &["action", "show", "/flow/x"],
        &["flow", "list"],
        &["flow", "run", "x", "word"],
        &["flow", "run", "x"],
        &["flow:run", "x"],
        &["flow", "batch", "x", "y"],
        &["agent", "list"],
        &["agent", "chat", "x", "hello"],
        &["session", "show", "x", "y"],
        &["trace", "list"],
        &["trace:get", "x"],
        &["trace", "tail"],
        &["log:list"],
        &["env"],
        &["open"],
    ] {
        check(arguments, 3, "oxikit start");
    }
    for (arguments, message) in [
        (&["flow", "rn", "x", "--json"][..], "unrecognized subcommand 'rn'; tip: a similar"),
        (&["flow", "--json"], "a command is missing"),
        (&["flow", "run", "--json"], "required arguments were not provided"),
    ] {
        let refused = run(dir.path(), arguments);
        assert_eq!((refused.code, refused.stderr.as_str()), (2, ""), "{refused:?}");
        let error = &refused.json()["error"];
        assert_eq!(error["status"], "INVALID_ARGUMENT");
        let text = error["message"].as_str().unwrap();
        assert!(text.contains(message) && !text.contains("Usage"), "{refused:?}");
    }
    let as_json = run(dir.path(), &["runtimes", "--json"]);
    assert_eq!(as_json.json()["error"]["status"], "UNAVAILABLE");
    assert_eq!((as_json.code, as_json.stderr.as_str()), (3, ""));
}

#[test]
fn a_manager_file_of_ended_tools_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    ManagerFile::new("http://127.0.0.1:1").of_process(i32::MAX as u32).write(dir.path());
    let ended = run(dir.path(), &["runtimes"]);
    assert_eq!(ended.code, 3);
    assert!(ended.stderr.contains("are gone"), "{ended:?}");
    let findings = run(dir.path(), &["doctor", "--json"]).json();
    let tools = findings.as_array().unwrap().iter().find(|finding| finding["check"] == "tools");
    assert_eq!(tools.unwrap()["verdict"], "bad");
}

#[test]
fn settings_show_their_origin() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".oxikit")).unwrap();
    fs::write(dir.path().join(".oxikit/config.toml"), "watch = true\n").unwrap();
    let mut command = oxikit(dir.path());
    command.env("OXIKIT_HOST", "127.0.0.2");
    command.args(["config", "show", "--origin", "--json", "--port", "7"]);
    let settings = run_with(&mut command).json();
    assert_eq!(settings["watch"], json!({"value": true, "origin": "file .oxikit/config.toml"}));
    assert_eq!(settings["host"], json!({"value": "127.0.0.2", "origin": "env OXIKIT_HOST"}));
    assert_eq!(settings["port"], json!({"value": 7, "origin": "flag"}));
    assert_eq!(settings["command"], json!({"value": null, "origin": "default"}));

    fs::write(dir.path().join(".oxikit/config.toml"), "wotch = true\n").unwrap();
    let ended = run(dir.path(), &["config", "show"]);
    assert_eq!(ended.code, 2);
    assert!(ended.stderr.contains("wotch"), "{ended:?}");
}

#[test]
fn a_closed_output_is_no_error() {
    let dir = tempfile::tempdir().unwrap();
    for arguments in [&["completions", "zsh"][..], &["--help"], &["config", "show"]] {
        let mut command = oxikit(dir.path());
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child =
            command.args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        drop(command);
        let status = ended(&mut child, TIMEOUT).unwrap();
        assert_eq!(status.code(), Some(0), "{arguments:?}");
        let mut stderr = String::new();
        std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut stderr).unwrap();
        assert_eq!(stderr, "", "{arguments:?}");
    }
}
