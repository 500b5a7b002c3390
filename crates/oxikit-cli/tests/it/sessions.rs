//! Sessions on the command line, with the built-in application.

use std::fs;
use std::io::Write;
use std::path::Path;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use super::kit::{Ended, Started, TIMEOUT, oxikit, run_with, until};
use super::mcp_kit::Agent;

/// A running demo whose runtime is connected.
fn demo(dir: &Path) -> Started {
    let started = Started::new(dir, &["--demo"]);
    wait(&started);
    started
}

fn wait(started: &Started) {
    let is_there = || started.run(&["runtimes", "--json"]).json()["current"].is_string();
    assert!(until(TIMEOUT, is_there));
}

/// Runs one turn. Returns the snapshot after it.
fn say(demo: &Started, message: &str, from: &str) -> Value {
    let said = demo.run(&["agent", "chat", "teashop", message, from, "--json"]);
    assert_eq!(said.code, 0, "{said:?}");
    said.json()
}

fn ids(list: &Value) -> Vec<&str> {
    list["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["sessionId"].as_str().unwrap())
        .collect()
}

#[test]
fn sessions_are_listed_forked_and_deleted_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let none = demo.run(&["session", "list", "teashop"]);
    assert_eq!((none.code, none.stdout.as_str()), (0, ""));
    assert!(none.stderr.contains("no sessions"), "{none:?}");
    let first = say(&demo, "Please order \"green tea\".", "--session=t7")["snapshotId"].clone();
    say(&demo, "Please order \"cake\".", "--session=t7");
    say(&demo, "Please pay 12.", "--session=t8");

    // Stored sessions outlive the application.
    assert_eq!(demo.run(&["app", "restart"]).code, 0);
    wait(&demo);
    let list = demo.run(&["session", "list", "teashop"]).stdout;
    let lines: Vec<_> = list.lines().collect();
    assert!(lines[0].starts_with("SESSION  TURNS  MESSAGES  STATUS"), "{list}");
    assert!(lines[1].starts_with("t8       1      2         waits for an answer"), "{list}");
    assert!(lines[2].starts_with("t7       2      8         completed"), "{list}");
    assert_eq!(ids(&demo.run(&["session:list", "teashop", "--json"]).json()), ["t8", "t7"]);
    let page = demo.run(&["session", "list", "teashop", "--limit=1"]);
    let token = page.stderr.trim().rsplit(' ').next().unwrap();
    let next = demo.run(&["session", "list", "teashop", "--after", token, "--json"]).json();
    assert_eq!(ids(&next), ["t7"]);
    let active = demo.run(&["session", "list", "teashop", "--status=active", "--json"]).json();
    assert_eq!(ids(&active), ["t8"]);
    let waits = demo.run(&["session", "show", "teashop", "t8"]).stdout;
    assert!(waits.contains("model: waits for an answer: pay"), "{waits}");

    let first = first.as_str().unwrap();
    let forked = demo.run(&["session", "fork", "teashop", "t7", "--at", first]);
    assert_eq!(forked.code, 0, "{forked:?}");
    let fork = forked.stdout.trim();
    assert!(forked.stderr.contains(&format!("oxikit agent chat teashop --session {fork}")));
    let shown = demo.run(&["session", "show", "teashop", fork]).stdout;
    assert!(shown.contains("green tea") && !shown.contains("cake"), "{shown}");
    let forked = demo.run(&["session", "fork", "teashop", "t7", "--json"]).json();
    assert_eq!(forked["parentSessionId"], "t7");

    let deleted = demo.run(&["session", "delete", "teashop", "t7", "--json"]).json();
    assert_eq!(deleted, json!({"success": true, "sessionId": "t7"}));
    for arguments in [
        &["session", "show", "teashop", "t7"][..],
        &["session", "delete", "teashop", "t7", "--yes"],
        &["session", "fork", "teashop", "t7"],
        &["session", "export", "teashop", "t7"],
        &["session", "list", "nobody"],
    ] {
        let gone = demo.run(arguments);
        assert_eq!((gone.code, gone.stdout.as_str()), (1, ""), "{arguments:?}");
        assert!(gone.stderr.contains("there is no"), "{gone:?}");
        let advice = ["did you mean `t8`?", "`oxikit agent list` lists the existing ones"];
        assert!(advice.iter().any(|text| gone.stderr.contains(text)), "{gone:?}");
    }
    let ada = r#"--context={"auth":{"uid":"ada"}}"#;
    assert_eq!(demo.run(&["agent", "chat", "teashop", "Hi.", "--session=mine", ada]).code, 0);
    let list = demo.run(&["session", "list", "teashop", ada, "--json"]).json();
    assert_eq!(ids(&list), ["mine"]);
    assert_eq!(demo.run(&["session", "show", "teashop", "mine", ada]).code, 0);
    assert_eq!(demo.run(&["session", "show", "teashop", "mine"]).code, 1);
    assert_eq!(demo.run(&["session", "list", "teashop", "--context=7"]).code, 2);
    assert_eq!(demo.run(&["session", "list", "teashop", "--runtime=x"]).code, 3);
    assert_eq!(demo.run(&["session", "list", "teashop", "--limit=0"]).code, 1);
    assert_eq!(demo.run(&["session", "fork", "teashop"]).code, 2);
}

/// Deletes a session at a terminal, with this typed input.
fn delete_at_terminal(dir: &Path, session: &str, typed: &[u8]) -> Ended {
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let keyboard = fs::File::options().read(true).write(true).open(path).unwrap();
    fs::File::from(terminal.try_clone().unwrap()).write_all(typed).unwrap();
    let mut command = oxikit(dir);
    run_with(command.args(["session", "delete", "teashop", session]).stdin(keyboard))
}

#[test]
fn a_person_is_asked_before_a_session_is_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    say(&demo, "One.", "--session=s");
    for typed in ["n\n", "\n"] {
        let kept = delete_at_terminal(dir.path(), "s", typed.as_bytes());
        assert_eq!(kept.code, 1, "{kept:?}");
        assert!(kept.stderr.contains("delete session `s` of `teashop` permanently?"), "{kept:?}");
        assert!(kept.stderr.contains("nothing was deleted"), "{kept:?}");
    }
    assert_eq!(demo.run(&["session", "show", "teashop", "s"]).code, 0);
    assert_eq!(delete_at_terminal(dir.path(), "s", b"y\n").code, 0);
    assert_eq!(demo.run(&["session", "show", "teashop", "s"]).code, 1);
}

#[test]
fn branches_are_shown_and_a_session_is_exported_with_its_traces() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let root = say(&demo, "One.", "--session=s")["snapshotId"].as_str().unwrap().to_owned();
    let left = say(&demo, "Two.", "--session=s")["snapshotId"].as_str().unwrap().to_owned();
    let lines = |stdout: String| {
        let marks = stdout.lines().filter(|line| line.contains(" messages, "));
        marks.map(|line| line.split("  completed").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let straight = demo.run(&["session", "show", "teashop", "s"]).stdout;
    assert_eq!(lines(straight), [""; 0]);
    let straight = demo.run(&["session", "show", "teashop", "s", "--tree"]).stdout;
    assert_eq!(lines(straight), [format!("  {root}"), format!("* {left}")]);

    let secret = "sk-proj-Zx8Qw3Er5Ty7Ui9Op1As3Df5Gh7Jk9Lz";
    let said = say(&demo, &format!("My key is {secret}"), &format!("--snapshot={root}"));
    assert_eq!(said["sessionId"], "s");
    let right = said["snapshotId"].as_str().unwrap();
    let shown = demo.run(&["session", "show", "teashop", "s"]).stdout;
    let expected = [format!("  {root}"), format!("    {left}"), format!("*   {right}")];
    assert_eq!(lines(shown), expected);
    let both = ["agent", "chat", "teashop", "x", "--session=s", "--snapshot=x"];
    assert_eq!(demo.run(&both).code, 2);

    let arguments = ["session", "export", "teashop", "s", "--output=s.json", "--json"];
    let written = demo.run(&arguments).json();
    assert_eq!(written, json!({"ok": true, "file": "s.json", "traces": 3, "isCut": false}));
    let file = fs::read_to_string(dir.path().join("s.json")).unwrap();
    assert!(!file.contains(secret) && file.contains("My key is"), "{file}");
    let file: Value = serde_json::from_str(&file).unwrap();
    assert_eq!((&file["sessionId"], &file["agentName"]), (&json!("s"), &json!("teashop")));
    assert_eq!(file["session"]["threads"]["main"].as_array().unwrap().len(), 4);
    assert_eq!(file["traces"].as_array().unwrap().len(), 3);
    assert_eq!(demo.run(&["session", "export", "teashop", "s"]).json()["traces"], file["traces"]);
}

/// Runs are in the list of traces; reading a session is not.
#[test]
fn reading_a_session_leaves_no_trace() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    say(&demo, "Please pay 12.", "--session=s");
    let listed = || {
        let list = demo.run(&["trace", "list", "--json"]).json();
        let names = list["traces"].as_array().unwrap().iter();
        names.map(|it| it["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(), ["agent"]);
    for arguments in [
        &["session", "list", "teashop"][..],
        &["session", "show", "teashop", "s", "--tree"],
        &["session", "export", "teashop", "s"],
        &["action", "list"],
        &["agent", "list"],
        &["agent", "chat", "teashop", "--session=s"],
        &["agent", "chat", "teashop", "--session=none"],
        &["session", "fork", "teashop", "s"],
        &["doctor"],
    ] {
        let looked = demo.run(arguments);
        assert_eq!(looked.code, 0, "{looked:?}");
        assert_eq!(listed(), ["agent"], "{arguments:?}");
    }
    let mut agent = Agent::new(dir.path());
    let session = json!({"agentName": "teashop", "sessionId": "s"});
    agent.call_ok("get_session", session.clone());
    agent.call_ok("list_sessions", json!({"agentName": "teashop"}));
    let say = json!({"agentName": "teashop", "sessionId": "s", "message": "Hello."});
    agent.call_err("chat", say);
    assert_eq!(listed(), ["agent"]);
    let approve = json!({"agentName": "teashop", "sessionId": "s", "approve": true});
    agent.call_ok("chat", approve);
    assert_eq!(listed(), ["agent", "agent"]);
}
