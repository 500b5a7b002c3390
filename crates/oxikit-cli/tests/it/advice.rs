//! Flows and actions are described, and mistakes are met with what was probably meant.

use serde_json::{Value, json};

use super::demo::demo;
use super::kit::{oxikit, run_with};
use super::mcp_kit::Agent;

#[test]
fn flows_are_listed_and_an_action_is_shown_with_its_schemas() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let flows = demo.run(&["flow", "list"]).stdout;
    let mut rows: Vec<Vec<&str>> = Vec::new();
    for line in flows.lines() {
        rows.push(line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect());
    }
    assert_eq!(rows[0], ["FLOW", "INPUT", "OUTPUT", "DESCRIPTION"], "{flows}");
    let recipe = "{\"title\": text, \"minutes\": number, \"ingredients\": list}";
    assert_eq!(rows[4], ["recipe", "a text", recipe], "{flows}");
    let flows = demo.run(&["flow", "list", "--json"]).json();
    let hello = json!({"name": "hello", "key": "/flow/hello",
        "inputSchema": {"type": "string"}, "outputSchema": {"type": "string"}});
    assert_eq!(flows[1], hello);
    assert_eq!(flows.as_array().unwrap().len(), 5);

    let weather = demo.run(&["action", "show", "/tool/weather"]);
    assert_eq!(weather.code, 0, "{weather:?}");
    let head = "/tool/weather\n  The weather in a city, today.\n  input: {\n";
    assert!(weather.stdout.starts_with(head), "{weather:?}");
    for text in ["\"city\": {\n", "\"The city's name.\"", "  output: {\n", "\"string\"\n"] {
        assert!(weather.stdout.contains(text), "{text}: {weather:?}");
    }
    let weather = demo.run(&["action:show", "/tool/weather", "--json"]).json();
    assert_eq!(weather["inputSchema"]["required"], json!(["city"]));
}

#[test]
fn a_bare_word_is_taken_by_an_action_that_takes_a_text() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    for arguments in [
        &["flow", "run", "hello", "Ada", "--json"][..],
        &["flow", "run", "hello", "\"Ada\"", "--json"],
        &["action", "run", "/flow/hello", "Ada", "-s", "--json"],
    ] {
        let ran = demo.run(arguments).json_lines().pop().unwrap();
        assert!(ran["result"].as_str().unwrap().ends_with("Say hello to Ada."), "{ran}");
    }
    let two = demo.run(&["flow", "run", "hello", "Ada, who codes", "--json"]).json();
    assert!(two["result"].as_str().unwrap().ends_with("Say hello to Ada, who codes."), "{two}");
    std::fs::write(dir.path().join("name"), "Ada\n").unwrap();
    let mut command = oxikit(dir.path());
    command.args(["flow", "run", "hello", "-"]);
    let piped = run_with(command.stdin(std::fs::File::open(dir.path().join("name")).unwrap()));
    assert!(piped.stdout.ends_with("Say hello to Ada.\n"), "{piped:?}");
}

#[test]
fn a_mistake_is_met_with_what_was_probably_meant() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    demo.run(&["agent", "chat", "teashop", "Hi.", "--session=table-7"]);
    let ran = demo.run(&["flow", "run", "hello", "Ada", "--json"]).json();
    let trace = ran["traceId"].as_str().unwrap();
    let check = |arguments: &[&str], code: i32, text: &str| {
        let ended = demo.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (code, ""), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(text), "{arguments:?}: {ended:?}");
    };
    check(&["flow", "run", "helo", "Ada"], 1, "did you mean `/flow/hello`?");
    check(&["flow", "run", "helo", "1"], 1, "did you mean `/flow/hello`?");
    check(&["flow", "run", "other", "1"], 1, "`oxikit flow list` lists the existing ones");
    check(&["action", "run", "hello", "1"], 1, "did you mean `/flow/hello`?");
    check(&["action", "run", "/tool/hello", "1"], 1, "did you mean `/flow/hello`?");
    check(&["action", "show", "/tool/wether"], 1, "did you mean `/tool/weather`?");
    check(&["eval", "run", "helo", "[1]"], 1, "did you mean `/flow/hello`?");
    check(&["agent", "chat", "teashp", "Hi."], 1, "did you mean `teashop`?");
    check(&["session", "list", "teashp"], 1, "did you mean `teashop`?");
    check(&["session", "show", "teashop", "table7"], 1, "did you mean `table-7`?");
    check(
        &["session", "show", "teashop", "none"],
        1,
        "`oxikit session list teashop` lists the existing ones",
    );
    check(&["trace", "show", &trace[..8]], 1, &format!("did you mean `{trace}`?"));
    check(&["trace", "show", "hello"], 1, &format!("did you mean `{trace}`, the newest trace"));
    check(&["trace", "show", "zz"], 1, "`oxikit trace list` lists the existing ones");

    check(&["flow", "run", "hello"], 1, "no input was given; `/flow/hello` takes a text");
    check(&["flow", "run", "hello", "7"], 1, "to send 7 as one, write '\"7\"'");
    check(&["flow", "run", "hello", "{\"a\":1}"], 1, "`/flow/hello` takes a text");
    let weather = "`/tool/weather` takes {\"city\": text}";
    check(&["action", "run", "/tool/weather", "{}"], 1, weather);
    check(&["action", "run", "/tool/weather", "Rome"], 2, weather);
    check(&["flow", "run", "hello", "[1"], 2, "single quotes");
    check(&["flow", "run", "hello", ""], 2, "it is empty");

    let mut agent = Agent::new(dir.path());
    let refused = agent.call_err("run_flow", json!({"flowName": "helo", "input": "Ada"}));
    assert_eq!(refused["details"]["hint"], "did you mean `/flow/hello`?", "{refused}");
}

/// Each text stands in one place of an error, and all that is known is there.
#[test]
fn errors_as_json_have_their_details_and_say_nothing_twice() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let error = |arguments: &[&str]| {
        let ended = demo.run(arguments);
        let value = ended.json();
        assert_eq!(value["ok"], false, "{ended:?}");
        (value["error"].clone(), value["traceId"].clone())
    };
    let (failed, trace) = error(&["flow", "run", "broken", "no luck", "--json"]);
    assert_eq!(failed, json!({"status": "FAILED_PRECONDITION", "message": "no luck"}));
    assert!(trace.is_string());
    let (unknown, _) = error(&["flow", "run", "helo", "1", "--json"]);
    let expected = json!({"status": "NOT_FOUND", "message": "action /flow/helo not found",
        "hint": "did you mean `/flow/hello`?"});
    assert_eq!(unknown, expected);
    let (unfit, _) = error(&["flow", "run", "hello", "7", "--json"]);
    assert_eq!(unfit.get("details"), None, "{unfit}");
    let message = unfit["message"].as_str().unwrap();
    assert!(message.starts_with("Schema validation failed"), "{unfit}");
    let members: Vec<&String> = unfit.as_object().unwrap().keys().collect();
    assert_eq!(members, ["status", "message", "hint"]);
    let texts: Vec<&Value> = unfit.as_object().unwrap().values().collect();
    assert!(texts.iter().all(|text| text.is_string()), "{unfit}");
}
