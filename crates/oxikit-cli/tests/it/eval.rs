//! `oxikit dataset` and `oxikit eval`, with the built-in application.

use std::fs;

use serde_json::{Value, json};

use super::demo::demo;

#[test]
fn a_dataset_is_created_from_a_file_and_evaluated() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    fs::write(
        dir.path().join("names.jsonl"),
        "{\"testCaseId\":\"ada\",\"input\":\"Ada\",\"reference\":\"r\"}\n{\"input\":\"Bo\"}\n",
    )
    .unwrap();
    let arguments =
        ["dataset", "create", "names-of-all", "names.jsonl", "--target=/flow/hello", "--json"];
    let made = demo.run(&arguments).json();
    assert_eq!((&made["size"], &made["datasetType"]), (&json!(2), &json!("FLOW")));
    assert_eq!(demo.run(&arguments).code, 1, "there is one already");
    fs::write(dir.path().join("more.json"), "[\"Cy\"]").unwrap();
    let added = demo.run(&["dataset", "add", "names-of-all", "more.json"]);
    assert_eq!((added.code, added.stdout.as_str()), (0, "names-of-all: 3 samples\n"));
    let list = demo.run(&["dataset", "list"]).stdout;
    assert!(list.lines().nth(1).unwrap().starts_with("names-of-all  3 "), "{list}");
    let shown = demo.run(&["dataset", "show", "names-of-all"]).stdout;
    assert!(shown.starts_with("ada \"Ada\" → \"r\"\n"), "{shown}");

    let run = demo.run(&["eval", "run", "hello", "names-of-all", "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = run.json();
    assert_eq!(run["evaluation"]["datasetVersion"], 2);
    let figures = json!({"cases": 3, "failedCases": 0, "failedMetrics": 0, "judged": 3,
        "passed": 3, "passRate": 1.0});
    assert_eq!((&run["ok"], &run["figures"]), (&json!(true), &figures));
    let id = run["evaluation"]["evalRunId"].as_str().unwrap();

    let shown = demo.run(&["eval", "show"]);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    let hello = "This is offline/demo: no model was asked. You said: Say hello to Ada.";
    let ada = [
        "ada ok",
        "  input: \"Ada\"",
        &format!("  output: \"{hello}\""),
        "  reference: \"r\"",
        "  mentionsInput: PASS (the answer holds \"Ada\")",
    ];
    assert_eq!(lines[..5], ada);
    let sums = ["mentionsInput PASS 3", "3 cases, 3 of 3 verdicts good (100 %)"];
    assert_eq!(lines[lines.len() - 2..], sums);
    let full = demo.run(&["eval", "show", "--full"]).stdout;
    assert!(full.contains(&format!("  output: {hello}\n")), "{full}");
    let whole = demo.run(&["eval", "show", id, "--json"]).json();
    assert_eq!(whole["results"].as_array().map(Vec::len), Some(3));
    let list = demo.run(&["eval", "list", "--json"]).json();
    assert_eq!(list["evaluations"][0], whole["key"]);
    assert!(demo.run(&["eval", "list"]).stdout.contains("mentionsInput: PASS 3"));

    assert_eq!(demo.run(&["eval", "delete", id]).code, 0);
    assert_eq!(demo.run(&["eval", "show"]).code, 1, "there are none any more");
    assert_eq!(demo.run(&["dataset", "delete", "names-of-all"]).code, 0);
    assert_eq!(demo.run(&["dataset", "show", "names-of-all"]).code, 1);
}

#[test]
fn failed_runs_and_failed_verdicts_have_their_exit_codes() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    let check = |arguments: &[&str], code: i32, text: &str| {
        let ended = demo.run(arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(text), "{arguments:?}: {said}");
    };
    // The flow takes no number, so that case fails and the other does not.
    check(&["eval", "run", "hello", "[\"Ada\",7]"], 1, "1 failed to run");
    check(&["eval", "run", "hello", "[\"Ada\",7]"], 1, "  error: INVALID_ARGUMENT");
    check(&["eval", "run", "hello", "[\"Ada\",7]"], 1, "  input: 7\n");
    check(&["eval", "run", "hello", "[\"Ada\",7]", "--fail-below=0.5"], 0, "(50 %)");
    check(&["eval", "run", "hello", "[\"Ada\",7]", "--fail-below=0.6"], 1, "(50 %)");
    check(&["eval:flow", "hello", "--input", "[\"Ada\"]", "-e", "mentionsInput"], 0, "PASS 1");
    check(&["eval", "run", "/model/offline/demo", "[\"hi\"]"], 0, "PASS");
    check(&["eval", "run", "nothing", "[1]"], 1, "/flow/nothing");
    check(&["eval", "run", "hello", "[\"A\"]", "-e", "other"], 1, "mentionsInput");
    check(&["eval", "run", "hello", "no-such-set"], 1, "no-such-set");
    check(&["eval", "run", "hello", "missing.json"], 2, "missing.json");
    check(&["eval", "run", "hello", "[1", "--json"], 2, "JSON array");
    check(&["eval", "run", "hello"], 2, "required");
    check(&["eval", "run", "hello", "[1]", "--fail-below=2"], 2, "from 0 to 1");
    check(&["eval", "run", "hello", "[\"A\"]", "--runtime=other"], 3, "oxikit runtimes");
}

#[test]
fn cases_from_traces_are_judged_again() {
    let dir = tempfile::tempdir().unwrap();
    let demo = demo(dir.path());
    for name in ["\"Ada\"", "\"Bo\""] {
        assert_eq!(demo.run(&["flow", "run", "hello", name]).code, 0);
    }
    let printed = demo.run(&["eval", "extract", "hello", "--json"]).json();
    let inputs: Vec<&Value> =
        printed.as_array().unwrap().iter().map(|case| &case["input"]).collect();
    assert_eq!(inputs, ["Bo", "Ada"]);
    let arguments = ["eval:extractData", "hello", "--maxRows=1", "--output=cases.json"];
    let written = demo.run(&arguments);
    assert_eq!((written.code, written.stdout.as_str()), (0, "wrote 1 cases to cases.json\n"));
    let judged = demo.run(&["eval:run", "cases.json", "--output=judged.json", "--json"]).json();
    assert_eq!((&judged["ok"], judged["evaluation"].get("actionRef")), (&json!(true), None));
    let judged: Value =
        serde_json::from_slice(&fs::read(dir.path().join("judged.json")).unwrap()).unwrap();
    assert_eq!(judged["results"][0]["metrics"][0]["status"], "PASS");
    let imported = demo.run(&["eval", "import", "--json"]).json();
    assert_eq!(imported, json!({"datasets": 0, "evaluations": 0, "skipped": []}));
}
