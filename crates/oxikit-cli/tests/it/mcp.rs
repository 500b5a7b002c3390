//! `oxikit mcp`, with the developer tools of `oxikit start` and without.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::kit::{self, Started, TIMEOUT, is_alive, run, until};
use super::mcp_kit::Agent;
use oxikit_testing::manager::TRACE;
use oxikit_testing::tools::kit as tools;

const SECOND: Duration = Duration::from_secs(1);

/// A running demo, and an agent that sees its runtime.
fn demo(dir: &Path) -> (Started, Agent) {
    let started = Started::new(dir, &["--demo"]);
    assert!(until(TIMEOUT, || dir.join(".oxikit/manager.json").exists()));
    let mut agent = Agent::new(dir);
    assert!(until(TIMEOUT, || agent.call_ok("list_runtimes", json!({}))["current"].is_string()));
    (started, agent)
}

/// The demo as a command of its own.
fn demo_command() -> Value {
    json!({"command": env!("CARGO_BIN_EXE_oxikit"), "args": ["__demo"]})
}

#[test]
fn every_tool_is_listed_with_a_schema_and_its_effect() {
    let dir = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(dir.path());
    let list = agent.ask("tools/list", json!({}))["result"]["tools"].take();
    let tools = list.as_array().unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    let expected = [
        "chat",
        "doctor",
        "get_session",
        "get_trace",
        "kill_runtime",
        "list_actions",
        "list_agents",
        "list_flows",
        "list_logs",
        "list_runtimes",
        "list_sessions",
        "list_traces",
        "restart_runtime",
        "run_action",
        "run_flow",
        "start_runtime",
    ];
    assert_eq!(names, expected);
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        let arguments = tool["inputSchema"]["properties"].as_object().into_iter().flatten();
        for (name, argument) in arguments {
            assert!(argument["description"].is_string(), "{}.{name}", tool["name"]);
            // Not all clients support lists of types.
            assert!(!argument["type"].is_array(), "{}.{name}", tool["name"]);
        }
    }
    assert_eq!(tool("get_trace")["annotations"]["readOnlyHint"], true);
    assert_eq!(tool("run_flow")["annotations"]["readOnlyHint"], false);
    assert_eq!(tool("kill_runtime")["annotations"]["destructiveHint"], true);
    assert_eq!(tool("run_flow")["inputSchema"]["required"], json!(["flowName"]));
    assert!(agent.disconnect(SECOND).success());
}

#[test]
fn flows_and_actions_are_listed_and_run() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, mut agent) = demo(dir.path());
    let flows = agent.call_ok("list_flows", json!({}))["flows"].take();
    let names: Vec<_> = flows.as_array().unwrap().iter().map(|flow| &flow["name"]).collect();
    assert_eq!(names, ["broken", "hello", "joke", "recipe", "umbrella"]);
    assert_eq!(flows[1]["inputSchema"]["type"], "string");
    let tools = agent.call_ok("list_actions", json!({"type": "tool", "withSchemas": true}));
    let weather = &tools["actions"].as_array().unwrap()[0];
    assert!(weather["inputSchema"].is_object(), "{tools}");

    // A text, and JSON in a text as Genkit's own server takes it.
    for input in [json!("Ada"), json!("\"Ada\"")] {
        let ran = agent.call_ok("run_flow", json!({"flowName": "hello", "input": input}));
        assert!(ran["result"].as_str().unwrap().ends_with("Say hello to Ada."), "{ran}");
        assert_eq!(ran["traceId"].as_str().map(str::len), Some(32));
    }
    let short = json!({"flowName": "hello", "input": "Ada", "maxLength": 4});
    assert_eq!(agent.call_ok("run_flow", short)["result"]["text"], "This");
    for input in [json!({"city": "Rome"}), json!("{\"city\":\"Rome\"}")] {
        let ran = agent.call_ok("run_action", json!({"key": "/tool/weather", "input": input}));
        assert_eq!(ran["result"], "18 degrees and light rain in Rome");
    }

    let failed = agent.call_err("run_flow", json!({"flowName": "broken", "input": "no luck"}));
    assert_eq!(failed["status"], "FAILED_PRECONDITION");
    assert!(failed["message"].as_str().unwrap().contains("no luck"));
    assert_eq!(failed["details"]["traceId"].as_str().map(str::len), Some(32));
    let check = |agent: &mut Agent, tool: &str, arguments: Value, status: &str, text: &str| {
        let refused = agent.call_err(tool, arguments);
        assert_eq!(refused["status"], status, "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(text), "{refused}");
    };
    let unfit = json!({"flowName": "hello", "input": 7});
    check(&mut agent, "run_flow", unfit, "INVALID_ARGUMENT", "");
    check(&mut agent, "run_flow", json!({"flowName": "none"}), "NOT_FOUND", "/flow/none");
    check(&mut agent, "run_flow", json!({}), "INVALID_ARGUMENT", "`flowName`");
    check(&mut agent, "run_flow", json!({"flow": "hello"}), "INVALID_ARGUMENT", "`flow`");
    check(&mut agent, "list_flows", json!({"runtimeId": "9"}), "UNAVAILABLE", "oxikit runtimes");
    let slow = json!({"flowName": "hello", "input": "Ada", "timeoutSeconds": 0.000_001});
    check(&mut agent, "run_flow", slow, "DEADLINE_EXCEEDED", "cancelled");
    let unknown = agent.ask("tools/call", json!({"name": "fly"}));
    assert_eq!(unknown["error"]["code"], -32602);
}

#[test]
fn traces_and_log_lines_are_shortened() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, mut agent) = demo(dir.path());
    assert_eq!(agent.call_ok("list_traces", json!({}))["traces"], json!([]));
    assert_eq!(agent.call_err("get_trace", json!({"traceId": "latest"}))["status"], "NOT_FOUND");
    let ran = agent.call_ok("run_flow", json!({"flowName": "umbrella", "input": "Rome"}));
    let id = ran["traceId"].as_str().unwrap().to_owned();
    agent.call_err("run_flow", json!({"flowName": "broken", "input": "no luck"}));

    let traces = agent.call_ok("list_traces", json!({"status": "success"}))["traces"].take();
    assert_eq!((traces.as_array().unwrap().len(), &traces[0]["traceId"]), (1, &json!(id)));
    assert!(traces[0]["durationMs"].is_number() && traces[0]["name"] == "umbrella");
    let trace = agent.call_ok("get_trace", json!({"traceId": id}));
    assert_eq!(trace["trace"]["status"], "success");
    let spans = trace["spans"].as_array().unwrap();
    let root = json!({"depth": 0, "name": "umbrella", "type": "flow", "input": "Rome"});
    for (member, value) in root.as_object().unwrap() {
        assert_eq!(&spans[0][member], value, "{trace:#}");
    }
    let weather = spans.iter().find(|span| span["name"] == "weather").unwrap();
    assert_eq!(weather["input"], json!({"city": "Rome"}));
    assert_eq!(weather["output"], "18 degrees and light rain in Rome");

    let short = agent.call_ok("get_trace", json!({"traceId": id, "maxSpans": 1, "maxLength": 2}));
    assert_eq!(short["spansLeftOut"]["count"], spans.len() - 1);
    assert_eq!(short["spans"][0]["input"], json!({"cut": true, "length": 4, "text": "Ro"}));
    let span = agent.call_ok("get_trace", json!({"traceId": id, "spanId": weather["spanId"]}));
    assert_eq!(span["attributes"]["genkit:input"], json!({"city": "Rome"}));
    assert!(span["startTime"].is_number());

    let failed = agent.call_ok("get_trace", json!({"traceId": "latest"}));
    assert_eq!(failed["spans"][0]["status"], "error");
    assert!(failed["spans"][0]["error"].as_str().unwrap().contains("no luck"), "{failed}");
    assert_eq!(agent.call_err("get_trace", json!({"traceId": "0123"}))["status"], "NOT_FOUND");
    assert!(agent.call_ok("list_logs", json!({"traceId": id}))["logs"].is_array());
}

#[test]
fn an_agent_is_talked_to_in_a_session() {
    let dir = tempfile::tempdir().unwrap();
    let (_demo, mut agent) = demo(dir.path());
    let agents = agent.call_ok("list_agents", json!({}));
    assert_eq!(agents["agents"][0]["name"], "teashop");
    assert_eq!(agents["agents"][0]["keepsSessions"], true);
    let order = "Please order \"green tea\".";
    let first = agent.call_ok("chat", json!({"agentName": "teashop", "message": order}));
    assert!(first["text"].as_str().unwrap().ends_with("1 on the order now"), "{first}");
    let session = first["sessionId"].as_str().unwrap().to_owned();
    let say =
        |message: &str| json!({"agentName": "teashop", "message": message, "sessionId": session});
    let second = agent.call_ok("chat", say(order));
    assert!(second["text"].as_str().unwrap().ends_with("2 on the order now"), "{second}");

    let waiting = agent.call_ok("chat", say("Please pay 12."));
    assert_eq!(waiting["finishReason"], "interrupted");
    assert_eq!(waiting["interrupts"][0]["name"], "pay");
    let answer =
        |answers: Value| json!({"agentName": "teashop", "answers": answers, "sessionId": session});
    let refused = agent.call_err("chat", answer(json!([])));
    assert!(refused["message"].as_str().unwrap().contains("a tool waits"), "{refused}");
    let paid = agent.call_ok("chat", answer(json!(["with pleasure"])));
    assert!(paid["text"].as_str().unwrap().contains("with pleasure"), "{paid}");
    assert_eq!(
        agent.call_err("chat", json!({"agentName": "teashop"}))["status"],
        "INVALID_ARGUMENT"
    );
    assert_eq!(
        agent.call_err("chat", json!({"agentName": "x", "message": "y"}))["status"],
        "NOT_FOUND"
    );

    let kept = json!({"agentName": "teashop", "sessionId": session});
    let kept = agent.call_ok("get_session", kept);
    assert_eq!(kept["sessionId"], session.as_str());
    assert!(kept["threads"]["main"].as_array().unwrap().len() > 8, "{kept}");
    let list = agent.call_ok("list_sessions", json!({"agentName": "teashop"}));
    assert_eq!(list["sessions"][0]["sessionId"], session.as_str(), "{list}");
}

#[test]
fn the_application_of_start_is_ended_and_started_again_and_another_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (started, mut agent) = demo(dir.path());
    let before = started.app()["pid"].clone();
    let already = agent.call_ok("start_runtime", json!({}));
    assert!(already["message"].as_str().unwrap().contains("runs already"), "{already}");
    let doctor = agent.call_ok("doctor", json!({}));
    assert_eq!(doctor["runtimes"], 1, "{doctor:#}");

    let killed = agent.call_ok("kill_runtime", json!({}));
    assert_eq!(killed["app"]["state"], "stopped");
    assert!(killed["app"]["exit"].is_string(), "{killed}");
    assert!(until(TIMEOUT, || agent.call("list_flows", json!({})).1));
    let again = agent.call_ok("restart_runtime", json!({}));
    assert_ne!(again["app"]["pid"], before);
    assert!(again["runtimeId"].is_string(), "{again}");
    // The exit status is that of the previous process.
    assert!(again["app"]["exit"].is_null(), "{again}");
    assert!(agent.call_ok("list_runtimes", json!({}))["app"]["exit"].is_null());
    assert!(started.app()["exit"].is_null());
    agent.call_ok("kill_runtime", json!({}));
    assert!(agent.call_ok("start_runtime", json!({}))["runtimeId"].is_string());

    let beside = agent.call_ok("start_runtime", demo_command());
    let (id, pid) = (beside["runtimeId"].clone(), beside["app"]["pid"].as_u64().unwrap());
    let list = agent.call_ok("list_runtimes", json!({}));
    assert_eq!(list["runtimes"].as_array().map(Vec::len), Some(2), "{list}");
    assert_ne!(list["current"], id, "the one of start stays the current one");
    agent.call_ok("run_flow", json!({"flowName": "hello", "input": "Ada", "runtimeId": id}));
    assert!(agent.disconnect(3 * SECOND).success());
    assert!(until(TIMEOUT, || !is_alive(pid as u32)), "it ends with its agent");
    assert_eq!(started.app()["state"], "running", "the other does not");
    let file = started.manager_file();
    let last = |url: &str| file[url].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    for token in [last("token"), last("reflectionUrl"), last("telemetryUrl")] {
        assert!(!agent.seen.iter().any(|line| line.contains(&token)));
    }
}

#[test]
fn without_developer_tools_they_are_started_for_the_connection() {
    let dir = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(dir.path());
    for tool in ["list_flows", "list_runtimes", "list_traces", "kill_runtime", "restart_runtime"] {
        let refused = agent.call_err(tool, json!({}));
        assert_eq!(refused["status"], "UNAVAILABLE", "{tool}");
        assert!(refused["message"].as_str().unwrap().contains("start_runtime"), "{refused}");
    }
    assert_eq!(agent.call_ok("doctor", json!({}))["runtimes"], 0);
    let nothing = agent.call_err("start_runtime", json!({}));
    assert!(nothing["message"].as_str().unwrap().contains("no project was found"), "{nothing}");

    let started = agent.call_ok("start_runtime", demo_command());
    assert_eq!(agent.call_ok("list_runtimes", json!({}))["current"], started["runtimeId"]);
    agent.call_ok("run_flow", json!({"flowName": "hello", "input": "Ada"}));
    // Other commands find them, and a second start is rejected.
    let flow = run(dir.path(), &["flow", "run", "hello", "\"Ada\"", "--json"]);
    assert_eq!(flow.json()["ok"], true);
    let second = run(dir.path(), &["start", "--demo", "--port=0"]);
    assert_eq!(second.code, 3, "{second:?}");
    let mut other = Agent::new(dir.path());
    assert_eq!(other.call_ok("list_runtimes", json!({}))["current"], started["runtimeId"]);
    other.disconnect(3 * SECOND);

    let crash = json!({"command": "sh", "args": ["-c", "echo key=$OXIKIT_PORT-oops; exit 3"]});
    let crashed = agent.call_err("start_runtime", crash);
    assert!(crashed["message"].as_str().unwrap().contains("exit status: 3"), "{crashed}");
    let lines = crashed["details"]["app"]["lastLines"].to_string();
    assert!(lines.contains("-oops"), "{crashed}");
    let missing = agent.call_err("start_runtime", json!({"command": "./no-such-program"}));
    assert!(missing["message"].as_str().unwrap().contains("no-such-program"), "{missing}");
    let quiet = json!({"command": "sleep", "args": ["600"], "timeoutSeconds": 0.3});
    let quiet = agent.call_ok("start_runtime", quiet);
    assert!(quiet["message"].as_str().unwrap().contains("not connected"), "{quiet}");

    let again = agent.call_ok("start_runtime", demo_command());
    let pid = again["app"]["pid"].as_u64().unwrap() as u32;
    assert!(agent.disconnect(3 * SECOND).success());
    assert!(until(TIMEOUT, || !is_alive(pid)), "the application ends with its agent");
    assert!(!dir.path().join(".oxikit/manager.json").exists());
}

#[test]
fn agents_that_start_at_the_same_time_share_the_tools() {
    let dir = tempfile::tempdir().unwrap();
    let start = || {
        let mut agent = Agent::new(dir.path());
        let runtime = agent.call_ok("start_runtime", demo_command())["runtimeId"].clone();
        (agent, runtime)
    };
    let both = std::thread::scope(|scope| {
        [scope.spawn(start), scope.spawn(start)].map(|it| it.join().unwrap())
    });
    let [(mut one, first), (mut two, second)] = both;
    assert_ne!(first, second);
    for agent in [&mut one, &mut two] {
        let list = agent.call_ok("list_runtimes", json!({}));
        let ids: Vec<_> = list["runtimes"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
        assert!(ids.len() == 2 && ids.contains(&&first) && ids.contains(&&second), "{list}");
        assert_eq!(list["app"]["state"], "running");
    }
}

#[test]
fn the_started_application_ends_with_it_however_it_ends() {
    for signal in [Signal::TERM, Signal::KILL] {
        let dir = tempfile::tempdir().unwrap();
        let mut agent = Agent::new(dir.path());
        let started = agent.call_ok("start_runtime", demo_command());
        let pid = started["app"]["pid"].as_u64().unwrap() as u32;
        // A second start without a command uses the previous one.
        let again = agent.call_ok("start_runtime", json!({}));
        assert!(until(TIMEOUT, || !is_alive(pid)));
        let pid = again["app"]["pid"].as_u64().unwrap() as u32;
        kit::signal(agent.child.id(), signal);
        assert!(until(TIMEOUT, || !is_alive(pid)), "{signal:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_an_agent_without_sessions_continues() {
    let tools = tools().await;
    let mut runtime = tools.runtime("one").await;
    let dir = tools.root().to_owned();
    let talk = tokio::task::spawn_blocking(move || {
        let mut agent = Agent::new(&dir);
        let first = agent.call_ok("chat", json!({"agentName": "free", "message": "one"}));
        let session = &first["sessionId"];
        let next = json!({"agentName": "free", "message": "two", "sessionId": session});
        (first.clone(), agent.call_ok("chat", next))
    });
    let mut states = Vec::new();
    for turn in [1, 2] {
        let asked = runtime.expect_request("runAction").await;
        assert_eq!(asked.params["key"], "/agent/free");
        states.push(asked.params["init"]["state"].clone());
        runtime.state(&asked, TRACE).await;
        let said = json!({"role": "model", "content": [{"text": format!("turn {turn}")}]});
        let state = json!({"sessionId": "s1", "messages": [said], "custom": {"turns": turn}});
        let output = json!({"message": said, "state": state, "finishReason": "stop"});
        runtime.answer(&asked, json!({"result": output})).await;
    }
    let (first, second) = talk.await.unwrap();
    assert_eq!((&first["text"], &second["text"]), (&json!("turn 1"), &json!("turn 2")));
    assert_eq!(first["sessionId"], second["sessionId"]);
    assert!(states[0]["custom"].is_null(), "{states:?}");
    assert_eq!(states[1]["custom"], json!({"turns": 1}));
}

#[test]
fn tokens_that_an_application_writes_are_redacted() {
    let dir = tempfile::tempdir().unwrap();
    let mut agent = Agent::new(dir.path());
    let script = "echo at $GENKIT_REFLECTION_V2_SERVER and $GENKIT_TELEMETRY_SERVER; exit 3";
    let failed = agent.call_err("start_runtime", json!({"command": "sh", "args": ["-c", script]}));
    let line = failed["details"]["app"]["lastLines"][0].as_str().unwrap().to_owned();
    assert!(line.starts_with("at ws://127.0.0.1:"), "{line}");
    let file = fs::read(dir.path().join(".oxikit/manager.json")).unwrap();
    let file: Value = serde_json::from_slice(&file).unwrap();
    for url in ["reflectionUrl", "telemetryUrl"] {
        let token = file[url].as_str().unwrap().rsplit('/').next().unwrap();
        assert!(!line.contains(token), "{line}");
    }
}

#[test]
fn it_ends_when_its_client_disconnects() {
    let dir = tempfile::tempdir().unwrap();
    let mut silent = Agent::uninitialized(dir.path());
    assert!(silent.disconnect(3 * SECOND).success());
    let mut idle = Agent::new(dir.path());
    assert!(idle.disconnect(SECOND).success());
    // Also in the middle of a call.
    let mut busy = Agent::new(dir.path());
    let start = json!({"command": "sleep", "args": ["600"], "timeoutSeconds": 600});
    busy.request("tools/call", json!({"name": "start_runtime", "arguments": start}));
    assert!(until(TIMEOUT, || dir.path().join(".oxikit/manager.json").exists()));
    assert!(busy.disconnect(3 * SECOND).success());
    assert!(!dir.path().join(".oxikit/manager.json").exists());
    for line in &busy.seen {
        assert!(serde_json::from_str::<Value>(line).unwrap()["jsonrpc"] == "2.0", "{line}");
    }
}
