//! The commands, with the built-in application.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::kit::{Ended, Started, TIMEOUT, ended, lines_of, oxikit, run_with, signal, until};

/// A running demo whose runtime is connected.
pub(crate) fn demo(dir: &Path) -> Started {
    let mut started = Started::new(dir, &["--demo"]);
    started.line("connected with the developer tools");
    let is_there = || started.run(&["runtimes", "--json"]).json()["current"].is_string();
    assert!(until(TIMEOUT, is_there));
    started
}

const HELLO: &str = "This is offline/demo: no model was asked. You said: Say hello to Ada.";

#[test]
fn flows_are_run_and_streamed_and_their_failure_is_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());

    let plain = demo.run(&["flow", "run", "hello", "\"Ada\""]);
    assert_eq!((plain.code, plain.stdout), (0, format!("{HELLO}\n")));
    let official = demo.run(&["flow:run", "hello", "\"Ada\"", "--json"]).json();
    assert_eq!((&official["ok"], &official["result"]), (&json!(true), &json!(HELLO)));
    assert_eq!(official["traceId"].as_str().map(str::len), Some(32));

    let streamed = demo.run(&["flow", "run", "hello", "\"Ada\"", "-s", "--json"]).json_lines();
    let (end, chunks) = streamed.split_last().unwrap();
    assert_eq!(end["result"], HELLO);
    let text: String = chunks.iter().map(|line| line["chunk"].as_str().unwrap()).collect();
    assert_eq!(text, HELLO);
    let shown = demo.run(&["flow", "run", "hello", "\"Ada\"", "-s"]);
    assert_eq!(shown.stdout, format!("{HELLO}\n{HELLO}\n"));

    let broken = demo.run(&["flow", "run", "broken", "\"no luck\""]);
    assert_eq!((broken.code, broken.stdout.as_str()), (1, ""));
    assert!(broken.stderr.contains("error: FAILED_PRECONDITION: no luck"), "{broken:?}");
    let broken = demo.run(&["flow", "run", "broken", "\"no luck\"", "--json"]);
    assert_eq!((broken.code, &broken.json()["ok"]), (1, &json!(false)));
    assert_eq!(broken.json()["error"]["status"], "FAILED_PRECONDITION");
    assert_eq!(broken.json()["traceId"].as_str().map(str::len), Some(32));
}

#[test]
fn runs_that_cannot_begin_have_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let check = |arguments: &[&str], code: i32, text: &str| {
        let ended = demo.run(arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(text), "{arguments:?}: {ended:?}");
    };
    check(&["flow", "run", "nothing", "1"], 1, "/flow/nothing");
    check(&["flow", "run", "hello", "7"], 1, "INVALID_ARGUMENT");
    check(&["flow", "run", "hello", "1", "--context", "[]"], 2, "a JSON object");
    check(&["flow", "run", "hello", "1", "--runtime", "other"], 3, "oxikit runtimes");
    check(&["action", "list", "--runtime", "other"], 3, "oxikit runtimes");
    check(&["flow", "batch", "hello", "missing.json"], 2, "missing.json");
    check(&["agent", "chat", "nobody", "hello"], 1, "/agent/nobody");

    assert_eq!(demo.run(&["app", "stop"]).code, 0);
    let is_gone = || demo.run(&["runtimes", "--json"]).json()["current"].is_null();
    assert!(until(TIMEOUT, is_gone));
    check(&["flow", "run", "hello", "\"Ada\""], 3, "no runtime is connected");
    check(&["doctor"], 3, "");
}

#[test]
fn a_run_that_takes_too_long_is_cancelled() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let input = json!({
        "messages": [{"role": "user", "content": [{"text": "one two three"}]}],
        "config": {"delayMs": 600_000},
    });
    let input = input.to_string();
    let arguments =
        ["action", "run", "/model/offline/demo", &input, "-s", "--timeout=0.3", "--json"];
    let ended = demo.run(&arguments);
    assert_eq!(ended.code, 1, "{ended:?}");
    assert_eq!(ended.json_lines().pop().unwrap()["error"]["status"], "DEADLINE_EXCEEDED");
}

#[test]
fn a_batch_runs_all_inputs_and_reports_each() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    fs::write(dir.path().join("list.json"), r#"["Ada", 7, "Bo"]"#).unwrap();
    let arguments =
        ["flow", "batch", "hello", "list.json", "--label=x", "--output=out.json", "--json"];
    let batch = demo.run(&arguments);
    assert_eq!(batch.code, 1);
    let rows = batch.json_lines();
    let brief = |row: &Value| (row["index"].clone(), row["input"].clone(), row["ok"].clone());
    let expected = [
        (json!(0), json!("Ada"), json!(true)),
        (json!(1), json!(7), json!(false)),
        (json!(2), json!("Bo"), json!(true)),
    ];
    assert_eq!(rows.iter().map(brief).collect::<Vec<_>>(), expected);
    let written = fs::read_to_string(dir.path().join("out.json")).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Value>>(&written).unwrap(), rows);

    fs::write(dir.path().join("lines.json"), "\"Ada\"\n\n\"Bo\"\n").unwrap();
    let batch = demo.run(&["flow:batchRun", "hello", "lines.json"]);
    assert_eq!((batch.code, batch.stdout.lines().count()), (0, 2));
    assert!(batch.stderr.contains("2 of 2 runs succeeded"));
}

#[test]
fn an_agent_remembers_what_was_said_in_its_session() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let agents = demo.run(&["agent", "list", "--json"]).json();
    assert_eq!(agents[0]["name"], "teashop");
    assert_eq!(agents[0]["stateManagement"], "server");

    let order = "Please order \"green tea\".";
    let say = |message| demo.run(&["agent", "chat", "teashop", message, "--session=t7", "--json"]);
    let first = say(order).json();
    assert_eq!((&first["ok"], &first["sessionId"]), (&json!(true), &json!("t7")));
    assert!(first["text"].as_str().unwrap().ends_with("1 on the order now"), "{first}");
    assert!(say(order).json()["text"].as_str().unwrap().ends_with("2 on the order now"));

    let session = demo.run(&["session", "show", "teashop", "t7", "--json"]).json();
    assert_eq!(session["sessionId"], "t7");
    assert_eq!(session["threads"]["main"].as_array().map(Vec::len), Some(8));
    let shown = demo.run(&["session", "show", "teashop", "t7"]).stdout;
    assert!(shown.starts_with(&format!("user: {order}\nmodel: calls order {{")), "{shown}");
    assert!(shown.lines().last().unwrap().contains("green tea"), "the state: {shown}");
    assert_eq!(demo.run(&["session", "show", "teashop", "t8"]).code, 1);

    // Line by line: one session, and other messages than those above.
    fs::write(dir.path().join("said"), format!("{order}\n\n{order}\n")).unwrap();
    let lines = fs::File::open(dir.path().join("said")).unwrap();
    let mut command = oxikit(dir.path());
    let said: Ended = run_with(command.args(["agent", "chat", "teashop"]).stdin(lines));
    assert_eq!(said.code, 0);
    let ends = said.stdout.lines().map(|line| line.rsplit(": ").next().unwrap());
    assert_eq!(ends.collect::<Vec<_>>(), ["1 on the order now", "2 on the order now"]);
}

#[test]
fn a_tool_that_waits_is_answered_by_the_next_line() {
    let dir = tempfile::tempdir().unwrap();
    let _demo = demo(dir.path());
    let say = |lines: &str, is_json: bool| {
        fs::write(dir.path().join("said"), lines).unwrap();
        let mut command = oxikit(dir.path());
        command.args(["agent", "chat", "teashop"]).args(is_json.then_some("--json"));
        run_with(command.stdin(fs::File::open(dir.path().join("said")).unwrap()))
    };
    let said = say("Please pay 12.\n\"with pleasure\"\n", false);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stdout.contains("waits for an answer: pay {\"amount\":12"), "{said:?}");
    let last = said.stdout.lines().last().unwrap();
    assert!(last.contains("`pay` answered: with pleasure"), "{said:?}");

    // The end of the input before the answer is not a failure.
    let turn = say("Please pay 12.\n", true).json();
    assert_eq!(turn["finishReason"], "interrupted");
    assert_eq!(turn["interrupts"][0]["name"], "pay");
}

#[test]
fn actions_of_all_kinds_are_listed_and_run() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let all = demo.run(&["action", "list", "--json"]).json();
    for key in [
        "/flow/hello",
        "/tool/weather",
        "/prompt/joke",
        "/agent/teashop",
        "/evaluator/mentionsInput",
        "/model/offline/demo",
    ] {
        assert!(all["actions"][key].is_object(), "{key}");
    }
    let flows = demo.run(&["action", "list", "--type=flow", "--json"]).json();
    let flows: Vec<_> = flows["actions"].as_object().unwrap().keys().cloned().collect();
    let expected = ["broken", "hello", "joke", "recipe", "umbrella"];
    assert_eq!(flows, expected.map(|name| format!("/flow/{name}")));
    let tool = demo.run(&["action", "run", "/tool/weather", r#"{"city":"Lisbon"}"#]);
    assert_eq!(tool.stdout, "18 degrees and light rain in Lisbon\n");
    let recipe = demo.run(&["flow", "run", "recipe", "\"soup\""]);
    assert_eq!(serde_json::from_str::<Value>(&recipe.stdout).unwrap()["title"], "recipe for soup");
}

#[test]
fn an_edited_prompt_file_is_used_by_the_next_call() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let said = || demo.run(&["flow", "run", "joke", "\"tea\""]).stdout;
    let first = said();
    let expected = "You said: A joke about tea, please. Keep it short and kind.\n";
    assert!(first.ends_with(expected), "{first}");
    let partial = dir.path().join(".oxikit/demo/prompts/_tone.prompt");
    fs::write(partial, "Make it long.").unwrap();
    assert!(until(TIMEOUT, || said().ends_with("please. Make it long.\n")));
    let trace = demo.run(&["trace", "show", "latest"]).stdout;
    assert!(trace.contains("prompt: joke\n"), "{trace}");
}

#[test]
fn traces_are_listed_shown_and_followed() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let mut tail = oxikit(dir.path());
    let mut tail = tail.args(["trace", "tail"]).stdout(Stdio::piped()).spawn().unwrap();
    let tailed = lines_of(tail.stdout.take().unwrap());
    // Runs before the tail listens are not shown, so the flow is run until one is.
    let ran = |flow: &str, input: &str| {
        let outcome = demo.run(&["flow", "run", flow, input, "--json"]).json();
        outcome["traceId"].as_str().unwrap().to_owned()
    };
    let mut line = String::new();
    assert!(until(TIMEOUT, || {
        ran("hello", "\"Ada\"");
        line = tailed.recv_timeout(Duration::from_millis(300)).unwrap_or_default();
        !line.is_empty()
    }));
    assert!(line.starts_with("hello flow "), "{line}");

    let id = ran("umbrella", "\"Rome\"");
    let bad = ran("broken", "\"no luck\"");
    let list = demo.run(&["trace", "list", "--json"]).json();
    assert_eq!(list["traces"][0]["traceId"], bad.as_str());
    assert_eq!(list["traces"][0]["status"], "error");
    assert_eq!(list["traces"][1]["traceId"], id.as_str());
    let shown = demo.run(&["trace:list", "--limit=2"]).stdout;
    let rows: Vec<&str> = shown.lines().collect();
    assert!(rows.len() == 3 && rows[1].ends_with(&bad) && rows[2].ends_with(&id), "{shown}");
    let failed = demo.run(&["trace", "list", "--status=error", "--json"]).json();
    assert_eq!(failed["traces"].as_array().map(Vec::len), Some(1));

    let tree = demo.run(&["trace", "show", &id]).stdout;
    let names: Vec<_> =
        tree.lines().map(|line| line.split(' ').find(|word| !word.is_empty())).collect();
    assert_eq!(names.first(), Some(&Some("umbrella")), "{tree}");
    assert!(
        tree.lines().any(|line| line.starts_with("  ") && line.contains("weather tool")),
        "{tree}"
    );
    let is_value = |line: &&str| line.contains(" input: ") || line.contains(" output: ");
    let spans: Vec<_> = tree.lines().filter(|line| !is_value(line)).collect();
    let has_duration = |line: &&str| line.contains(" ms") || line.contains(" µs");
    assert!(spans.iter().all(has_duration), "each has its duration: {tree}");
    let weather = tree.lines().position(|line| line.contains("weather tool")).unwrap();
    let values: Vec<_> = tree.lines().skip(weather + 1).take(2).map(str::trim).collect();
    let answer = r#"output: "18 degrees and light rain in Rome""#;
    assert_eq!(values, [r#"input: {"city":"Rome"}"#, answer], "{tree}");
    assert!(spans.iter().any(|line| line.contains(" tokens (")), "{tree}");
    // Each value has one line, unless --full is given.
    let full = demo.run(&["trace", "show", &id, "--full"]).stdout;
    assert!(full.contains("input: {\n") && full.contains("\"city\": \"Rome\"\n"), "{full}");
    let failed = demo.run(&["trace", "show", "latest"]).stdout;
    assert!(failed.starts_with("broken flow ") && failed.contains("no luck"), "{failed}");
    let whole = demo.run(&["trace:get", &id, "--json"]).json();
    assert_eq!(whole["trace"]["name"], "umbrella");
    assert_eq!(whole["spans"].as_array().map(Vec::len), Some(spans.len()));
    assert_eq!(demo.run(&["trace", "show", "0123"]).code, 1);

    signal(tail.id(), Signal::INT);
    assert_eq!(ended(&mut tail, TIMEOUT).unwrap().code(), Some(0));
}

#[test]
fn the_doctor_finds_nothing_wrong_with_the_demo() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let doctor = demo.run(&["doctor", "--json"]);
    assert_eq!(doctor.code, 0);
    let findings = doctor.json();
    let verdicts = findings.as_array().unwrap().iter().map(|finding| &finding["verdict"]);
    assert!(verdicts.clone().all(|verdict| verdict == "good"), "{findings:#}");
}

#[test]
fn an_application_that_uses_v1_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let started = Started::new(dir.path(), &["--demo", "--reflection-v1"]);
    let list = || started.run(&["runtimes", "--json"]).json();
    assert!(until(TIMEOUT, || list()["current"].is_string()));
    let url = list()["runtimes"][0]["reflectionServerUrl"].as_str().unwrap().to_owned();
    assert!(url.starts_with("http://"), "{url}");
    let streamed = started.run(&["flow", "run", "hello", "\"Ada\"", "-s"]);
    assert_eq!(streamed.stdout, format!("{HELLO}\n{HELLO}\n"));
}

#[test]
fn a_runtime_started_by_hand_with_the_variables_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let variables = demo.run(&["env"]).stdout;
    let mut second = oxikit(dir.path());
    second.arg("__demo").envs(variables.lines().map(|line| line.split_once('=').unwrap()));
    let mut second = second.stderr(Stdio::null()).spawn().unwrap();
    let ids = || {
        let list = demo.run(&["runtimes", "--json"]).json();
        let ids = list["runtimes"].as_array().unwrap().iter();
        ids.map(|runtime| runtime["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let own = demo.app()["pid"].as_u64().unwrap().to_string();
    let other = second.id().to_string();
    let both = until(TIMEOUT, || ids().len() == 2);
    let runs = demo.run(&["flow", "run", "hello", "\"Ada\"", "--runtime", &other]);
    let list = demo.run(&["runtimes", "--json"]).json();
    second.kill().unwrap();
    second.wait().unwrap();
    assert!(both);
    assert_eq!(runs.code, 0);
    // Without --runtime the application that the developer tools started is used.
    assert_eq!(list["current"], own.as_str());
    assert!(until(Duration::from_secs(5), || ids() == [own.as_str()]));
}
