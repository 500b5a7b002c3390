//! Every command that prints must escape names, results, chunks, errors and log lines that try
//! to control the terminal.

mod agent;
pub(crate) mod runtime;
mod screen;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use oxikit_cli::command_table;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::kit::{Ended, Started, TIMEOUT, ended, lines_of, oxikit, run_with, until};
use super::mcp_kit::Agent;
use runtime::HostileRuntime;
use screen::on_terminal;

/// Text that must not reach a terminal unescaped.
const CONTROLS: [&str; 17] = [
    // Write the clipboard, set the title, clear the screen, send input to the shell.
    "\u{1b}]52;c;cm0gLXJm\u{7}",
    "\u{1b}]0;title\u{1b}\\",
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[6n\u{1b}P$q\u{1b}\\",
    // The same with single-character (C1) controls.
    "\u{9b}2J",
    "\u{9d}52;c;cm0gLXJm\u{9c}",
    "\u{90}q\u{9c}\u{85}",
    // Colours that are not ours.
    "\u{1b}[97;41m",
    // Overwrite the text before them.
    "safe\rfake",
    "safe\u{8}\u{8}\u{8}\u{8}fake",
    "\u{7f}\u{0}\u{c}\u{b}",
    // Change the order of the text, or are invisible.
    "\u{202e}gpj\u{202c}\u{202a}\u{202d}",
    "\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}",
    "\u{2028}\u{2029}",
    "\u{200b}\u{feff}\u{2060}",
    "\u{e0041}\u{e0042}",
    "\nFAKE line of its own",
];

/// All of them in one name.
pub(crate) fn hostile() -> String {
    format!("begin{}end", CONTROLS.concat())
}

/// A name that is wider than any terminal, and than the widths of `format!`.
pub(crate) fn long() -> String {
    format!("long{}", "x".repeat(66_000))
}

/// Whether a character controls a terminal or misleads a reader.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[track_caller]
fn check_clean(what: &dyn std::fmt::Debug, text: &str) {
    let found: Vec<char> = text.chars().filter(|c| is_control(*c) && *c != '\n').collect();
    let start = text.floor_char_boundary(2000);
    assert!(found.is_empty(), "{what:?} shows {found:?}: {:?}", &text[..start]);
    assert!(!text.contains("panicked"), "{what:?}: {text}");
}

/// The test calls of each command, by its name. Each call shows as much hostile text as
/// possible. `agent` is the URL of a hostile agent.
fn calls(agent: &str) -> BTreeMap<&'static str, Vec<Vec<String>>> {
    // An argument cannot contain NUL.
    let name = hostile().replace('\0', "");
    let flow = format!("/flow/{name}");
    let calls: &[(&str, &[&[&str]])] = &[
        ("app status", &[&[]]),
        ("app restart", &[&[]]),
        ("app stop", &[&[]]),
        ("runtimes", &[&[]]),
        ("action list", &[&[], &["--type", &name], &["--runtime", &name]]),
        (
            "action show",
            &[&[&flow], &["/flow/text"], &[&name], &["/flow/text", "--runtime", &name]],
        ),
        ("flow list", &[&[], &["--runtime", &name]]),
        (
            "action run",
            &[&[&flow], &["/flow/text"], &["/flow/fails"], &["/no/such"], &["/flow/text", &name]],
        ),
        (
            "flow run",
            &[
                &["text", "-s"],
                &["json", "-s"],
                &["fails", "-s"],
                &[&name],
                &["text", "1", "--runtime", &name],
            ],
        ),
        ("flow batch", &[&["text", "inputs.json"], &["fails", "inputs.json"], &[&name, &name]]),
        (
            "a2a card",
            &[
                &[agent],
                &[&name],
                &[agent, "--header", &name],
                &[agent, "--key", &name],
                &[agent, "--key", "inputs.json"],
                &[agent, "--jwks", &name],
                &[agent, "--jwks", agent],
                &[agent, "--extended"],
            ],
        ),
        ("a2a send", &[&[agent, "hi"], &[agent, &name, "--task", &name, "--context", &name]]),
        (
            "a2a stream",
            &[
                &[agent, "hi"],
                &[agent, "hi", "--protocol", &name],
                &[agent, "hi", "--binding", &name],
                &[agent, "hi", "--binding", "http"],
            ],
        ),
        ("a2a chat", &[&[agent], &[&name]]),
        ("a2a task", &[&[agent, "t"], &[agent, &name]]),
        ("a2a cancel", &[&[agent, "fails"], &[agent, &name]]),
        ("agent list", &[&[]]),
        (
            "agent chat",
            &[
                &["asks", "hi"],
                &["asks", &name],
                &[&name, "hi"],
                &["asks", "hi", "--session", "s"],
                &["asks", "--session", &name],
                &["asks", "--snapshot", "s", "--approve"],
                &["asks", "--session", "s", "--answer", &name],
                &["asks", "--session", "s", "--answer", "no", "--answer", "no"],
            ],
        ),
        ("session list", &[&["asks"], &["asks", "--status", &name], &[&name]]),
        ("session show", &[&["asks", "s"], &["asks", "s", "--tree"], &[&name, &name]]),
        ("session fork", &[&["asks", "s"], &["asks", &name, "--at", &name]]),
        ("session delete", &[&["asks", "s"], &[&name, &name]]),
        ("session export", &[&["asks", "s", "--output", "s.json"], &[&name, &name]]),
        ("trace list", &[&[], &["--name", &name], &["--after", &name]]),
        (
            "trace show",
            &[&["latest"], &["hostile"], &["hostile", "--full"], &["cycle"], &["long"], &[&name]],
        ),
        ("log list", &[&[], &["--trace", &name], &["--after", &name]]),
        ("prompt list", &[&[], &["--tag", &name], &["--url", &name], &["--url", agent]]),
        ("prompt show", &[&["hostile"], &[&name], &["hostile", "--label", &name]]),
        (
            "prompt render",
            &[&["hostile"], &["broken"], &["hostile", &name], &["hostile", "--label", &name]],
        ),
        ("prompt history", &[&["hostile"], &[&name]]),
        ("prompt diff", &[&["hostile", "1", "1"], &["hostile"], &["hostile", &name, &name]]),
        ("prompt lint", &[&[], &["prompts"], &[&name]]),
        ("prompt label", &[&["hostile"], &["hostile", &name], &[&name, "production", "9"]]),
        ("dataset list", &[&[]]),
        ("dataset show", &[&["hostile-set"], &[&name]]),
        ("dataset create", &[&[&name, "inputs.json"], &["hostile-two", &name]]),
        ("dataset add", &[&["hostile-set", "inputs.json"], &[&name, "inputs.json"]]),
        ("dataset delete", &[&[&name]]),
        (
            "eval run",
            &[
                &["text", "hostile-set"],
                &["fails", "inputs.json"],
                &[&name, "[1]"],
                &["text", &name],
            ],
        ),
        ("eval judge", &[&["inputs.json"], &[&name]]),
        ("eval list", &[&[], &["--action", &name]]),
        ("eval show", &[&[], &["--full"], &[&name]]),
        ("eval extract", &[&["text"], &[&name], &["text", "--output", &name]]),
        ("eval delete", &[&[&name]]),
        ("eval import", &[&[]]),
        ("env", &[&[]]),
        ("open", &[&["--print"], &[&name]]),
        ("doctor", &[&[]]),
        ("config show", &[&["--origin"], &["--host", &name]]),
        ("completions", &[&["bash"], &["zsh"], &["fish"], &[&name]]),
    ];
    let owned = |call: &&[&str]| call.iter().map(|word| (*word).to_owned()).collect();
    calls.iter().map(|(arguments, calls)| (*arguments, calls.iter().map(owned).collect())).collect()
}

/// Commands that do not end by themselves. Each has its own test.
const LONG_LIVED: [&str; 4] = ["start", "trace tail", "mcp", "prompts"];
/// Commands that print a result over several lines.
const RESULTS: [&str; 9] = [
    "action run",
    "flow run",
    "agent chat",
    "a2a send",
    "a2a stream",
    "a2a task",
    "a2a cancel",
    "prompt show",
    "prompt render",
];
/// Commands that only this program calls.
const HIDDEN: [&str; 2] = ["__guard", "__demo"];

/// The application of the developer tools. It writes hostile lines, and one with colours.
const APP: &str = r#"printf 'out \033[31mred\033[0m \033]52;c;cm0gLXJm\007 \302\2332J a\rb \342\200\256x\n'
printf 'err \033[2J\n' >&2
echo ready; sleep 600"#;

fn arguments_of(command: &str, call: &[String]) -> Vec<String> {
    let arguments = command.split(' ').map(str::to_owned);
    // A name that begins with a hyphen would be parsed as a flag.
    arguments.chain(call.iter().cloned()).collect()
}

/// Prompts whose names, texts and front matter try to control the terminal.
fn write_hostile_prompts(dir: &Path) {
    let folder = dir.join("prompts");
    std::fs::create_dir(&folder).unwrap();
    let description = serde_json::to_string(&hostile()).unwrap();
    let text =
        format!("---\ndescription: {description}\ntags: [{description}]\n---\n{}", hostile());
    std::fs::write(folder.join("hostile.md"), text).unwrap();
    let broken = format!("[[{0}]] {{{{#if {0}}}}}", hostile().replace(['[', ']'], "|"));
    std::fs::write(folder.join("broken.prompt"), broken).unwrap();
    std::fs::write(folder.join("\u{1b}]0;x\u{7}\n\u{202e}.md"), "x").unwrap();
}

fn run_words(dir: &Path, arguments: &[String]) -> Ended {
    run_with(oxikit(dir).args(arguments))
}

#[test]
fn no_command_shows_a_control_character_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let inputs =
        json!([{"input": hostile(), "testCaseId": hostile(), "output": hostile()}, {"input": 1}]);
    std::fs::write(dir.path().join("inputs.json"), inputs.to_string()).unwrap();
    let runtimes = dir.path().join(".genkit/runtimes");
    std::fs::create_dir_all(&runtimes).unwrap();
    std::fs::write(runtimes.join("\u{1b}]0;x\u{7}.json"), "{").unwrap();
    write_hostile_prompts(dir.path());

    let mut started = Started::script(dir.path(), APP);
    started.line("ready");
    let runtime = HostileRuntime::start(&started.manager_file());
    let is_there = || started.run(&["runtimes", "--json"]).json()["current"].is_string();
    assert!(until(TIMEOUT, is_there));

    let calls = calls(&agent::start());
    let mut shown = String::new();
    for command in command_table().into_iter().map(|arguments| arguments.join(" ")) {
        if LONG_LIVED.contains(&&*command) || HIDDEN.contains(&&*command) {
            continue;
        }
        let Some(calls) = calls.get(&*command) else {
            panic!("`oxikit {command}` has no test call: add it to `calls`")
        };
        for call in calls {
            let arguments = arguments_of(&command, call);
            let ended = run_words(dir.path(), &arguments);
            check_clean(&arguments, &ended.stdout);
            check_clean(&arguments, &ended.stderr);
            assert_ne!(ended.code, 4, "{arguments:?}: {ended:?}");
            let mut lines = ended.stdout.lines().chain(ended.stderr.lines());
            let is_result = RESULTS.contains(&&*command);
            assert!(
                is_result || !lines.any(|line| line.starts_with("FAKE")),
                "{arguments:?}: {ended:?}"
            );
            shown.push_str(&ended.stdout);
            shown.push_str(&ended.stderr);
        }
        // The same as JSON, and on a terminal.
        let arguments = arguments_of(&command, &calls[0]);
        let as_json: Vec<String> = arguments.iter().cloned().chain(["--json".to_owned()]).collect();
        let ended = run_words(dir.path(), &as_json);
        check_clean(&as_json, &ended.stdout);
        check_clean(&as_json, &ended.stderr);
        if command != "completions" {
            ended.json_lines();
        }
        check_clean(&arguments, &on_terminal(dir.path(), &arguments));
    }
    // The checked output really contained the hostile text.
    for mark in
        ["\\u001b]52;c;cm0gLXJm\\u0007", "\\u009b2J", "\\u202egpj", "\\nFAKE", "begin", "longx"]
    {
        assert!(shown.contains(mark), "{mark} is nowhere");
    }
    drop(runtime);
    started.signal(Signal::TERM);
    started.end(TIMEOUT);
    check_clean(&"start", &started.seen.join("\n"));
    let seen = started.seen.join("\n");
    for mark in ["out red \\u001b]52", "err \\u001b[2J", "a\\rb", "ignored a runtime file"] {
        assert!(seen.contains(mark), "{mark} is nowhere: {seen}");
    }
}

#[test]
fn json_holds_the_values_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    started.line("ready");
    let _runtime = HostileRuntime::start(&started.manager_file());
    assert!(until(TIMEOUT, || started.run(&["runtimes", "--json"]).json()["current"].is_string()));
    let result = started.run(&["flow", "run", "text", "--json"]).json();
    assert_eq!(result["result"], json!(hostile()));
    let streamed = started.run(&["flow", "run", "json", "-s", "--json"]).json_lines();
    assert_eq!(streamed[0], json!({"chunk": hostile()}));
    assert_eq!(streamed.last().unwrap()["result"], json!({hostile(): [hostile()]}));
    let failed = started.run(&["flow", "run", "fails", "--json"]).json();
    assert_eq!(failed["error"]["message"], json!(hostile()));
    let list = started.run(&["action", "list", "--json"]).json();
    assert!(list["actions"].get(format!("/flow/{}", hostile())).is_some(), "{list}");
    let logs = started.run(&["log:list", "--json"]).json();
    assert_eq!(logs["logs"][0]["body"], json!(hostile()));
    assert_eq!(
        started.run(&["log", "list", "--trace", "none", "--json"]).json()["logs"],
        json!([])
    );
    let trace = started.run(&["trace", "show", "hostile", "--json"]).json();
    assert_eq!(trace["spans"][0]["span"]["displayName"], json!(hostile()));
}

#[test]
fn odd_traces_are_listed_and_shown() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    started.line("ready");
    let _runtime = HostileRuntime::start(&started.manager_file());
    let list = started.run(&["trace", "list"]);
    assert_eq!(list.code, 0, "{list:?}");
    for id in ["hostile", "cycle", "long", "times"] {
        let is_listed = |line: &str| line.trim_end().ends_with(id);
        assert!(list.stdout.lines().any(is_listed), "{id}: {}", list.stdout);
    }
    assert!(list.stdout.lines().all(|line| line.chars().count() < 500), "{}", list.stdout);
    // Each span with its input, its output and the whole error.
    let cycle = started.run(&["trace", "show", "cycle"]).stdout;
    assert_eq!(cycle.lines().count(), 3 * 4, "{cycle}");
    assert!(cycle.contains("its parent is one of the spans below it"), "{cycle}");
    let long = started.run(&["trace", "show", "long"]).stdout;
    assert!(long.contains('…') && long.len() < 3000, "{long}");
    let times = started.run(&["trace", "show", "times"]);
    assert_eq!((times.code, times.stdout.lines().count()), (0, 3 * 4), "{times:?}");
}

#[test]
fn traces_that_are_followed_show_no_control_character() {
    let dir = tempfile::tempdir().unwrap();
    let mut started = Started::script(dir.path(), "echo ready; sleep 600");
    started.line("ready");
    for arguments in [&["trace", "tail"][..], &["trace", "tail", "--json"]] {
        let mut command = oxikit(dir.path());
        let mut tail =
            command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = lines_of(tail.stdout.take().unwrap());
        let mut line = None;
        // The first traces may end before the command listens.
        assert!(until(TIMEOUT, || {
            runtime::post_traces(&started.manager_file());
            line = lines.try_recv().ok();
            line.is_some()
        }));
        check_clean(&arguments, &line.unwrap());
        super::kit::signal(tail.id(), Signal::INT);
        assert_eq!(ended(&mut tail, TIMEOUT).unwrap().code(), Some(0));
        lines.iter().for_each(|line| check_clean(&arguments, &line));
    }
}

#[test]
fn a_coding_agent_has_clean_logs_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let runtimes = dir.path().join(".genkit/runtimes");
    std::fs::create_dir_all(&runtimes).unwrap();
    std::fs::write(runtimes.join("\u{1b}]0;x\u{7}.json"), "{").unwrap();
    let mut command = oxikit(dir.path());
    let mut mcp = command
        .arg("mcp")
        .env("RUST_LOG", "debug")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = lines_of(mcp.stderr.take().unwrap());
    let mut stdin = mcp.stdin.take().unwrap();
    let ask = |id: u32, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let script = ["-c", APP];
    let start = json!({"name": "start_runtime",
        "arguments": {"command": "sh", "args": script, "timeoutSeconds": 1}});
    let text = ask(1, "initialize", hello)
        + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
        + &ask(2, "tools/call", start);
    std::io::Write::write_all(&mut stdin, text.as_bytes()).unwrap();
    let mut seen = Vec::new();
    while let Ok(line) = lines.recv_timeout(TIMEOUT) {
        check_clean(&"mcp", &line);
        seen.push(line);
        if seen.iter().any(|line| line.contains("| ready")) {
            break;
        }
    }
    assert!(seen.iter().any(|line| line.contains("\\u001b]52")), "{seen:#?}");
    drop(stdin);
    assert!(ended(&mut mcp, TIMEOUT).is_some());
    // The agent itself gets everything as JSON.
    drop(Agent::new(dir.path()));
}
