//! Tools that ask for approval: answered on the command line, line by line, and over MCP. The demo's tool `pay` is written as the documentation says.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use super::demo::demo;
use super::kit::{Ended, Started, TIMEOUT, ended, lines_of, oxikit, run_with};
use super::mcp_kit::Agent;
use oxikit_testing::manager::{ScriptedRuntime, TRACE};
use oxikit_testing::tools::kit as tools;

const QUESTION: &str = "pay {\"amount\":12}: Really pay 12 euros?";

/// Sends these lines to a conversation whose input is not a terminal.
fn type_lines(dir: &Path, arguments: &[&str], lines: &str) -> Ended {
    fs::write(dir.join("typed"), lines).unwrap();
    let mut command = oxikit(dir);
    command.args(["agent", "chat", "teashop"]).args(arguments);
    run_with(command.stdin(fs::File::open(dir.join("typed")).unwrap()))
}

/// A session in which `pay` waits for an answer.
fn waiting(demo: &Started, session: &str) -> Ended {
    let asked = demo.run(&["agent", "chat", "teashop", "Please pay 12.", "--session", session]);
    assert_eq!(asked.code, 0, "{asked:?}");
    asked
}

#[test]
fn a_line_approves_declines_or_answers_a_tool() {
    let dir = tempfile::tempdir().unwrap();
    let _demo = demo(dir.path());
    for (typed, expected) in [
        ("yes", "`pay` answered: 12 euros are paid"),
        (r#"yes {"approved":true}"#, "`pay` answered: 12 euros are paid"),
        ("no", "`pay` answered: The user declined this call."),
        ("no too expensive", "`pay` answered: The user declined this call: too expensive"),
        ("\"with pleasure\"", "`pay` answered: with pleasure"),
    ] {
        let said = type_lines(dir.path(), &[], &format!("Please pay 12.\n{typed}\n"));
        assert_eq!(said.code, 0, "{typed}: {said:?}");
        assert!(said.stdout.contains(&format!("waits for an answer: {QUESTION}")), "{said:?}");
        assert!(said.stdout.lines().last().unwrap().ends_with(expected), "{typed}: {said:?}");
    }
    // The conversation continues after the answer.
    let said = type_lines(dir.path(), &["--json"], "Please pay 12.\nyes\nPlease order \"cake\".\n");
    let turns = said.json_lines();
    assert_eq!(turns.len(), 3, "{said:?}");
    let asked = json!([{"name": "pay", "input": {"amount": 12},
        "metadata": {"question": "Really pay 12 euros?"}}]);
    let mut interrupts = turns[0]["interrupts"].clone();
    interrupts[0].as_object_mut().unwrap().remove("ref");
    assert_eq!(interrupts, asked);
    assert_eq!(turns[1]["interrupts"], json!([]));
    assert!(turns[2]["text"].as_str().unwrap().ends_with("1 on the order now"), "{said:?}");
}

#[test]
fn no_message_is_accepted_while_a_tool_waits() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let said = type_lines(dir.path(), &[], "Please pay 12.\nPlease order \"cake\".\n");
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stderr.contains("`Please order \"cake\".` is not a valid one: `yes` runs"),
        "{said:?}"
    );
    assert!(!said.stdout.contains("order now"), "{said:?}");

    waiting(&demo, "s");
    let refused = demo.run(&["agent", "chat", "teashop", "Hello.", "--session=s"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (1, ""), "{refused:?}");
    assert!(refused.stderr.contains(QUESTION), "{refused:?}");
    assert!(refused.stderr.contains("--approve"), "{refused:?}");
    let refused = demo.run(&["agent", "chat", "teashop", "Hello.", "--session=s", "--json"]);
    assert_eq!(refused.json()["error"]["status"], "FAILED_PRECONDITION");
    let show = demo.run(&["session", "show", "teashop", "s", "--json"]).json();
    assert_eq!(show["threads"]["main"].as_array().unwrap().len(), 2, "nothing was added: {show}");

    // A later command shows the question first, too.
    let later = type_lines(dir.path(), &["--session=s"], "yes\n");
    assert_eq!(later.code, 0, "{later:?}");
    assert!(later.stdout.starts_with(&format!("waits for an answer: {QUESTION}")), "{later:?}");
    assert!(later.stdout.contains("12 euros are paid"), "{later:?}");
    let next = demo.run(&["agent", "chat", "teashop", "Hello.", "--session=s"]);
    assert_eq!(next.code, 0, "{next:?}");
}

#[test]
fn a_command_answers_the_tools_of_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let chat = |arguments: &[&str]| demo.run(&[&["agent", "chat", "teashop"], arguments].concat());
    for (session, answer, expected) in [
        ("a", &["--approve"][..], "12 euros are paid"),
        ("b", &["--answer", "yes {\"by\":\"Ada\"}"], "12 euros are paid"),
        ("c", &["--answer=no"], "The user declined this call."),
        ("d", &["--answer", "{\"paid\":true}"], "{\"paid\":true}"),
    ] {
        let asked = waiting(&demo, session);
        let how = format!("--session {session} --approve");
        assert!(asked.stderr.contains(&how), "{asked:?}");
        let said = chat(&[&["--session", session], answer].concat());
        assert_eq!(said.code, 0, "{said:?}");
        assert!(said.stdout.trim_end().ends_with(expected), "{said:?}");
    }
    let asked = chat(&["Please pay 12.", "--session=snap", "--json"]).json();
    let snapshot = asked["snapshotId"].as_str().unwrap();
    let said = chat(&["--snapshot", snapshot, "--approve", "--json"]);
    assert!(said.json()["text"].as_str().unwrap().ends_with("12 euros are paid"), "{said:?}");

    let check = |arguments: &[&str], code: i32, text: &str| {
        let ended = chat(arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(text), "{arguments:?}: {ended:?}");
    };
    check(&["--approve"], 2, "pass --session");
    check(&["--session=snap", "--approve"], 1, "no tool waits for an answer");
    check(&["--session=new", "--approve"], 1, "no tool waits for an answer");
    check(&["Hello.", "--session=snap", "--approve"], 2, "cannot be used with");
    waiting(&demo, "two");
    check(&["--session=two", "--answer=yes", "--answer=yes"], 2, "once for each");
    check(&["--session=two", "--answer=perhaps"], 1, "`perhaps` is not a valid one");
    check(&["--session=two", "--approve"], 0, "");
}

#[test]
fn the_session_is_shown_with_the_command_that_continues_it() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let said = demo.run(&["agent", "chat", "teashop", "Please order \"tea\"."]);
    let command = said.stderr.trim().rsplit("later: ").next().unwrap().to_owned();
    let arguments: Vec<_> = command.split(' ').skip(1).chain(["Please order \"cake\"."]).collect();
    assert_eq!(arguments[..4], ["agent", "chat", "teashop", "--session"], "{said:?}");
    let next = demo.run(&arguments);
    assert!(next.stdout.trim_end().ends_with("2 on the order now"), "{next:?}");
    let lines = type_lines(dir.path(), &["--session=mine"], "One.\nTwo.\n");
    assert_eq!(lines.stderr.matches("session mine; continue later").count(), 1, "{lines:?}");
}

/// A person at a terminal who types a message instead of an answer is asked again.
#[test]
fn a_person_is_asked_again_until_there_is_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let _demo = demo(dir.path());
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    let keyboard = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut command = oxikit(dir.path());
    command.args(["agent", "chat", "teashop"]).stdin(keyboard);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    let (out, err) =
        (lines_of(child.stdout.take().unwrap()), lines_of(child.stderr.take().unwrap()));
    let mut typist = fs::File::from(terminal);
    std::io::Write::write_all(&mut typist, b"Please pay 12.\nhello?\nyes\n\x04").unwrap();
    assert!(ended(&mut child, TIMEOUT).is_some_and(|status| status.success()));
    let (out, err): (Vec<_>, Vec<_>) = (out.iter().collect(), err.iter().collect());
    assert!(out.iter().any(|line| line.contains("12 euros are paid")), "{out:?} {err:?}");
    assert!(err.iter().any(|line| line.contains("`hello?` is not a valid one")), "{out:?} {err:?}");
}

#[test]
fn a_coding_agent_approves_or_answers() {
    let dir = tempfile::tempdir().unwrap();
    let _demo = demo(dir.path());
    let mut agent = Agent::new(dir.path());
    let chat = |more: Value| {
        let mut arguments = json!({"agentName": "teashop"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (answer, expected) in [
        (json!({"approve": true}), "12 euros are paid"),
        (json!({"approve": {"by": "Ada"}}), "12 euros are paid"),
        (json!({"answers": ["with pleasure"]}), "with pleasure"),
        (json!({"answers": [null], "approve": true}), "12 euros are paid"),
        (json!({"answers": ["declined"], "approve": true}), "declined"),
    ] {
        let asked = agent.call_ok("chat", chat(json!({"message": "Please pay 12."})));
        assert_eq!(asked["interrupts"][0]["name"], "pay", "{asked}");
        assert_eq!(asked["interrupts"][0]["input"], json!({"amount": 12}));
        assert_eq!(asked["interrupts"][0]["metadata"]["question"], "Really pay 12 euros?");
        let session = asked["sessionId"].clone();
        let say = chat(json!({"message": "Hello.", "sessionId": session}));
        let refused = agent.call_err("chat", say.clone());
        assert_eq!(refused["status"], "FAILED_PRECONDITION", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(QUESTION), "{refused}");
        assert_eq!(refused["details"]["interrupts"], asked["interrupts"]);

        let mut answer = chat(answer);
        answer["sessionId"] = session;
        let done = agent.call_ok("chat", answer.clone());
        assert!(done["text"].as_str().unwrap().ends_with(expected), "{answer}: {done}");
        assert_eq!(done["interrupts"], json!([]));
        assert_eq!(agent.call_err("chat", answer)["status"], "FAILED_PRECONDITION");
        agent.call_ok("chat", say);
    }
    for (wrong, text) in [
        (json!({"approve": true}), "`sessionId`"),
        (json!({"message": "x", "approve": true, "sessionId": "s"}), "pass a `message`"),
        (json!({"sessionId": "s"}), "pass a `message`"),
    ] {
        let refused = agent.call_err("chat", chat(wrong));
        assert_eq!(refused["status"], "INVALID_ARGUMENT", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(text), "{refused}");
    }
    agent.call_ok("chat", chat(json!({"message": "Please pay 12.", "sessionId": "s"})));
    for wrong in [json!({"approve": false}), json!({"answers": []}), json!({"answers": [1, 2]})] {
        let mut arguments = chat(wrong);
        arguments["sessionId"] = json!("s");
        assert_eq!(agent.call_err("chat", arguments)["status"], "INVALID_ARGUMENT");
    }
}

/// An agent of another runtime, by the messages of its recordings: two tools wait, the
/// state is with the client, and one tool is approved and the other answered.
#[tokio::test(flavor = "multi_thread")]
async fn tools_of_an_agent_without_sessions_are_answered_one_by_one() {
    let tools = tools().await;
    let mut runtime = tools.runtime("one").await;
    let dir = tools.root().to_owned();
    let talk = tokio::task::spawn_blocking(move || {
        let mut agent = Agent::new(&dir);
        let asked = agent.call_ok("chat", json!({"agentName": "free", "message": "pay"}));
        let session = &asked["sessionId"];
        let say = json!({"agentName": "free", "message": "hello", "sessionId": session});
        let refused = agent.call_err("chat", say);
        let answers = json!({"agentName": "free", "sessionId": session, "approve": {"ok": 1},
            "answers": [null, "by hand"]});
        (asked.clone(), refused, agent.call_ok("chat", answers))
    });
    let request = |name: &str, reference: &str, interrupt: Value| {
        json!({"toolRequest": {"name": name, "ref": reference, "input": {"amount": 1}},
            "metadata": {"interrupt": interrupt}})
    };
    let said = json!({"role": "model", "content":
        [request("pay", "r1", json!({"message": "Sure?"})), request("ask", "r2", json!(true))]});
    let state = json!({"sessionId": "s1", "messages": [said]});
    let turn = runtime.expect_request("runAction").await;
    runtime.state(&turn, TRACE).await;
    let output = json!({"message": said, "state": state, "finishReason": "interrupted"});
    runtime.answer(&turn, json!({"result": output})).await;

    let turn = runtime.expect_request("runAction").await;
    runtime.state(&turn, TRACE).await;
    let resume = &turn.params["input"]["resume"];
    let restarted = json!([{"toolRequest": {"name": "pay", "ref": "r1", "input": {"amount": 1}},
        "metadata": {"resumed": {"ok": 1}}}]);
    assert_eq!(resume["restart"], restarted);
    let responded = json!([{"toolResponse": {"name": "ask", "ref": "r2", "output": "by hand"}}]);
    assert_eq!(resume["respond"], responded);
    assert_eq!(turn.params["input"].get("message"), None);
    let done = json!({"role": "model", "content": [{"text": "done"}]});
    let state = json!({"sessionId": "s1", "messages": [done]});
    let output = json!({"message": done, "state": state, "finishReason": "stop"});
    runtime.answer(&turn, json!({"result": output})).await;
    let (asked, refused, done) = talk.await.unwrap();
    assert_eq!(asked["interrupts"].as_array().unwrap().len(), 2);
    assert!(refused["message"].as_str().unwrap().contains("2 tools wait"), "{refused}");
    assert_eq!(done["text"], "done");
}

/// A recorded turn of an agent of the official JS runtime: the request, and the result.
fn recorded(name: &str) -> (Value, Value) {
    let turns = oxikit_recordings::json("agents/turns.json");
    let turn = turns.as_array().unwrap().iter().find(|turn| turn["name"] == name).unwrap();
    let last = match &turn["blocks"] {
        Value::Array(blocks) => blocks.last().unwrap().as_str().unwrap(),
        _ => turn["body"].as_str().unwrap(),
    };
    let answer: Value = serde_json::from_str(last.trim_start_matches("data: ").trim()).unwrap();
    (turn["requestBody"].clone(), answer["result"].clone())
}

/// Answers the next run with a recorded result. Returns the request of the run.
async fn replays(runtime: &mut ScriptedRuntime, name: &str) -> Value {
    let turn = runtime.expect_request("runAction").await;
    runtime.state(&turn, TRACE).await;
    runtime.answer(&turn, json!({"result": recorded(name).1})).await;
    turn.params
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_an_official_agent_get_the_answers_that_were_recorded() {
    let tools = tools().await;
    let mut runtime = tools.runtime("one").await;
    let dir = tools.root().to_owned();
    let talk = tokio::task::spawn_blocking(move || {
        fs::write(dir.join("typed"), "/tool danger\nyes {\"approved\":true}\n").unwrap();
        let mut approves = oxikit(&dir);
        approves.args(["agent", "chat", "kept"]);
        let approved = run_with(approves.stdin(fs::File::open(dir.join("typed")).unwrap()));
        let snapshot = recorded("interrupt").1["snapshotId"].as_str().unwrap().to_owned();
        let mut responds = oxikit(&dir);
        responds.args(["agent", "chat", "kept", "--snapshot", &snapshot]);
        (approved, run_with(responds.args(["--answer", "{\"ok\":true}"])))
    });
    replays(&mut runtime, "restartable").await;
    let restarted = replays(&mut runtime, "restart-ok").await;
    let (request, _) = recorded("restart-ok");
    assert_eq!((&restarted["input"], &restarted["init"]), (&request["data"], &request["init"]));

    runtime.answer_agent_list().await;
    assert_eq!(replays(&mut runtime, "interrupt-snapshot").await["key"], "/agent-snapshot/kept");
    let responded = replays(&mut runtime, "interrupt-respond").await;
    let (request, _) = recorded("interrupt-respond");
    assert_eq!((&responded["input"], &responded["init"]), (&request["data"], &request["init"]));

    let (approved, responded) = talk.await.unwrap();
    assert_eq!((approved.code, responded.code), (0, 0), "{approved:?} {responded:?}");
    let question = "waits for an answer: danger {\"path\":\"/x\"}: needs approval\n";
    assert!(approved.stdout.contains(question), "{approved:?}");
    let session = recorded("restart-ok").1["sessionId"].as_str().unwrap().to_owned();
    assert!(approved.stderr.contains(&format!("--session {session}")), "{approved:?}");
}
