//! Data sets and evaluations, with a real runtime over the socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxikit::prelude::*;
use oxikit::{Document, EvalDataPoint, Evaluator, RetrievalExt, RetrieveRequest, Score};
use oxikit_serve::{DevConfig, DevTools};
use reqwest::Method;

use oxikit_testing::manager::{TRACE, soon, until};
use oxikit_testing::tools::{Kit, kit, read};

/// An application with evaluators, and how many of its slow flows are at work.
fn application() -> (Oxikit, Arc<AtomicUsize>) {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap();
    ai.define_retriever("facts", |request: RetrieveRequest| async move {
        Ok(vec![Document::text(format!("a fact about {}", request.query.to_text()))])
    });
    ai.define_flow("answer", |question: String, ctx: Context| async move {
        if question == "fail" {
            return Err(Status::failed_precondition("no luck"));
        }
        let facts = ctx.retrieve("facts", question.as_str()).await?;
        Ok(json!({"apiKey": "sk-planted", "text": format!("{question}: {} facts", facts.len())}))
    });
    let at_work = Arc::new(AtomicUsize::new(0));
    let count = at_work.clone();
    ai.define_flow("slow", move |_: Value| {
        let count = count.clone();
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            let _leaves = Leaves(count);
            std::future::pending::<()>().await;
            Ok(())
        }
    });
    let evaluator = |name: &str| Evaluator::builder(name).definition("Judges.");
    ai.define_evaluator(evaluator("honest").handler(|case: EvalDataPoint| async move {
        // It sees what the flow has answered, and not what the trace shows of it.
        Ok(Score::passed_if(case.output.unwrap_or_default()["apiKey"] == "sk-planted"))
    }));
    ai.define_evaluator(evaluator("context").handler(|case: EvalDataPoint| async move {
        Ok(Score::of(case.context.map_or(0, |texts| texts.len())).with_reasoning("counted"))
    }));
    ai.define_evaluator(evaluator("grumpy").handler(|_: EvalDataPoint| async move {
        Err::<Score, _>(Status::failed_precondition("not today"))
    }));
    _ = ai.define_prompt(Prompt::builder("ask").prompt("Tell me about {{topic}}.")).unwrap();
    (ai, at_work)
}

/// One less is at work.
struct Leaves(Arc<AtomicUsize>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn attend(kit: &Kit, ai: &Oxikit) -> DevTools {
    let mut config = DevConfig::default();
    config.manager = Some(kit.server.urls().reflection.clone());
    config.runtime_id = Some("rust-app".to_owned());
    let tools = config.start(ai).await.unwrap();
    until(|| kit.server.runtimes().current().is_some()).await;
    tools
}

async fn call(kit: &Kit, method: Method, path: &str, body: Value) -> (u16, Value) {
    read(soon(kit.call(method, path).json(&body).send()).await.unwrap()).await
}

#[tokio::test]
async fn data_sets_are_made_changed_and_removed() {
    let kit = kit().await;
    assert_eq!(kit.get("/api/v1/datasets").await, (200, json!({"datasets": []})));
    let new = json!({"datasetId": "greetings", "datasetType": "FLOW", "targetAction": "/flow/greet",
        "data": [{"testCaseId": "a", "input": {"n": 1}}, {"input": "two", "reference": null}]});
    let (status, info) = kit.post("/api/v1/datasets", new.clone()).await;
    assert_eq!((status, &info["size"], &info["version"]), (200, &json!(2), &json!(1)));
    let (status, taken) = kit.post("/api/v1/datasets", new).await;
    assert_eq!((status, &taken["status"]), (409, &json!("ALREADY_EXISTS")));
    let path = "/api/v1/datasets/greetings";
    let (_, whole) = kit.get(path).await;
    assert_eq!(whole["dataset"], info);
    assert_eq!(whole["samples"][0], json!({"testCaseId": "a", "input": {"n": 1}}));
    assert_eq!(whole["samples"][1]["testCaseId"].as_str().map(str::len), Some(36));

    let change = json!({"data": [{"testCaseId": "b", "input": 3}, {"testCaseId": "a"}],
        "metricRefs": ["/evaluator/x"]});
    let (status, changed) = call(&kit, Method::PATCH, path, change).await;
    assert_eq!(status, 200, "{changed}");
    let brief = |info: &Value| json!([info["size"], info["version"], info["metricRefs"]]);
    assert_eq!(brief(&changed), json!([2, 2, ["/evaluator/x"]]));
    assert_eq!(changed["targetAction"], "/flow/greet");
    // A change of other members than the samples does not make a new version.
    let (_, changed) = call(&kit, Method::PATCH, path, json!({"targetAction": "/flow/b"})).await;
    assert_eq!(brief(&changed), json!([2, 2, ["/evaluator/x"]]));

    for bad in [
        json!({"data": [], "datasetId": "../../x"}),
        json!({"data": [{"testCaseId": "a"}, {"testCaseId": "a"}]}),
        json!({"data": 7}),
        json!({}),
        json!([]),
    ] {
        let (status, error) = kit.post("/api/v1/datasets", bad.clone()).await;
        assert_eq!((status, &error["status"]), (400, &json!("INVALID_ARGUMENT")), "{bad}");
    }
    assert_eq!(call(&kit, Method::DELETE, path, json!({})).await, (200, json!({})));
    assert_eq!(kit.get(path).await.0, 404);
    assert_eq!(call(&kit, Method::PATCH, path, json!({})).await.0, 404);
    assert_eq!(call(&kit, Method::DELETE, path, json!({})).await.0, 404);
    // Nothing of it is left in the file.
    assert_eq!(kit.server.project().documents("dataset.samples").await.unwrap().documents, []);
}

#[tokio::test]
async fn a_flow_is_evaluated_and_what_fails_harms_only_itself() {
    let kit = kit().await;
    let (ai, _) = application();
    let _tools = attend(&kit, &ai).await;
    let data = json!([{"testCaseId": "tea", "input": "tea"}, {"testCaseId": "bad", "input": "fail"},
        {"testCaseId": "wrong", "input": 7}, {"testCaseId": "milk", "input": "milk", "reference": "r"}]);
    let new = json!({"datasetId": "questions", "data": data});
    assert_eq!(kit.post("/api/v1/datasets", new).await.0, 200);
    let request = json!({"dataSource": {"datasetId": "questions"}, "actionRef": "/flow/answer"});
    let (status, key) = kit.post("/api/v1/evaluations", request).await;
    assert_eq!(status, 200, "{key}");
    assert_eq!((&key["datasetId"], &key["datasetVersion"]), (&json!("questions"), &json!(1)));
    assert_eq!(key["metricsMetadata"]["context"]["definition"], "Judges.");
    let summaries = json!([
        {"evaluator": "/evaluator/context", "testCaseCount": 2, "errorCount": 0,
         "scoreUndefinedCount": 0, "statusDistribution": {"undefined": 2}, "averageScore": 1},
        {"evaluator": "/evaluator/grumpy", "testCaseCount": 2, "errorCount": 2,
         "scoreUndefinedCount": 2, "statusDistribution": {"UNKNOWN": 2}},
        {"evaluator": "/evaluator/honest", "testCaseCount": 2, "errorCount": 0,
         "scoreUndefinedCount": 0, "statusDistribution": {"PASS": 2},
         "scoreDistribution": {"true": 2}},
    ]);
    assert_eq!(key["metricSummaries"], summaries);

    let id = key["evalRunId"].as_str().unwrap();
    let (_, run) = kit.get(&format!("/api/v1/evaluations/{id}")).await;
    assert_eq!(run["key"], key);
    let results = run["results"].as_array().unwrap();
    let ids: Vec<_> = results.iter().map(|case| case["testCaseId"].as_str().unwrap()).collect();
    assert_eq!(ids, ["tea", "bad", "wrong", "milk"]);
    assert_eq!(results[0]["output"]["text"], "tea: 1 facts");
    assert_eq!(results[0]["context"], json!(["a fact about tea"]));
    assert_eq!(results[0]["metrics"][0]["rationale"], "counted");
    assert_eq!(results[0]["metrics"][2]["status"], "PASS");
    assert_eq!(results[0]["traceIds"][0].as_str().map(str::len), Some(32));
    assert_eq!(results[1]["error"], "no luck");
    assert_eq!((&results[1]["metrics"], results[1].get("output")), (&json!([]), None));
    assert!(results[2]["error"].as_str().unwrap().contains("Schema validation failed"));
    assert_eq!(results[3]["reference"], "r");
    // It was judged as it was, and is kept without its secrets.
    assert!(!run.to_string().contains("sk-planted"), "{run}");

    let (_, list) = kit.get("/api/v1/evaluations?dataset=questions&action=/flow/answer").await;
    assert_eq!(list["evaluations"], json!([key]));
    let none = kit.get("/api/v1/evaluations?action=/flow/other").await;
    assert_eq!(none, (200, json!({"evaluations": []})));
    let path = format!("/api/v1/evaluations/{id}");
    assert_eq!(call(&kit, Method::DELETE, &path, json!({})).await, (200, json!({})));
    assert_eq!(kit.get(&path).await.0, 404);
    assert_eq!(kit.get("/api/v1/evaluations").await.1, json!({"evaluations": []}));
}

#[tokio::test]
async fn models_and_prompts_are_evaluated_too() {
    let kit = kit().await;
    let (ai, _) = application();
    let _tools = attend(&kit, &ai).await;
    // Another one of this process may have the name that it wanted.
    let id = kit.server.runtimes().current().unwrap().id;
    let run = async |action: &str, input: Value, config: Value| {
        let request = json!({"dataSource": {"data": [{"input": input}]}, "actionRef": action,
            "evaluators": ["context"], "options": {"actionConfig": config}, "runtimeId": id});
        let (status, key) = kit.post("/api/v1/evaluations", request).await;
        assert_eq!(status, 200, "{key}");
        let id = key["evalRunId"].as_str().unwrap();
        let (_, run) = kit.get(&format!("/api/v1/evaluations/{id}")).await;
        assert_eq!(run["results"][0]["metrics"][0]["evaluator"], "/evaluator/context", "{run}");
        run
    };
    let model = run("/model/offline/demo", json!("hi"), json!({"delayMs": 0})).await;
    assert_eq!(model["key"]["actionConfig"], json!({"delayMs": 0}));
    let case = &model["results"][0];
    assert_eq!((&case["input"], &case["context"]), (&json!("hi"), &json!([])));
    assert!(case["output"]["message"].to_string().contains("You said: hi"), "{case}");

    let config = json!({"model": "/model/offline/demo"});
    let prompt = run("/executable-prompt/ask", json!({"topic": "tea"}), config).await;
    let case = &prompt["results"][0];
    assert!(case["output"].to_string().contains("You said: Tell me about tea."), "{case}");
    assert!(case["custom"]["renderedPrompt"]["messages"].to_string().contains("about tea"));
    assert_eq!(case["traceIds"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn outputs_that_are_there_are_only_judged() {
    let kit = kit().await;
    let (ai, _) = application();
    let _tools = attend(&kit, &ai).await;
    let data = json!([{"input": 1, "output": {"apiKey": "sk-planted"}, "context": ["x", "y"]},
        {"input": 2, "error": "it broke"}]);
    let request = json!({"dataSource": {"data": data}, "evaluators": ["honest", "context"]});
    let (status, key) = kit.post("/api/v1/evaluations", request).await;
    assert_eq!((status, key.get("actionRef")), (200, None), "{key}");
    assert_eq!(key["metricSummaries"][0]["averageScore"], 2);
    assert_eq!(key["metricSummaries"][1]["statusDistribution"], json!({"PASS": 1}));
}

#[tokio::test]
async fn invalid_requests_are_refused_before_anything_runs() {
    let kit = kit().await;
    let ask = |body: Value| kit.post("/api/v1/evaluations", body);
    let data = json!({"data": [{"input": "x"}]});
    let (status, error) = ask(json!({"dataSource": data, "actionRef": "/flow/answer"})).await;
    assert_eq!((status, &error["status"]), (503, &json!("UNAVAILABLE")));
    let (ai, at_work) = application();
    let _tools = attend(&kit, &ai).await;
    let slow = |more: Value| {
        let mut request = json!({"dataSource": data, "actionRef": "/flow/slow"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    for (request, expected) in [
        (json!({"dataSource": data, "actionRef": "/flow/nope"}), 404),
        (json!({"dataSource": data, "actionRef": "/evaluator/honest"}), 400),
        (slow(json!({"evaluators": ["nope"]})), 404),
        (slow(json!({"dataSource": {"datasetId": "nothing"}})), 404),
        (slow(json!({"dataSource": {"data": []}})), 400),
        (slow(json!({"dataSource": {}})), 400),
        (slow(json!({"options": {"context": "[]"}})), 400),
        (slow(json!({"options": {"timeout": -1}})), 400),
        (slow(json!({"runtimeId": "nobody"})), 404),
        (json!({"dataSource": {"datasetId": "nothing"}}), 400),
    ] {
        let (status, error) = ask(request.clone()).await;
        assert_eq!(status, expected, "{request}: {error}");
    }
    assert_eq!(at_work.load(Ordering::SeqCst), 0);
    assert_eq!(kit.get("/api/v1/evaluations").await.1, json!({"evaluations": []}));
}

#[tokio::test]
async fn progress_is_sent_and_a_client_that_disconnects_cancels_the_runs() {
    let kit = kit().await;
    let (ai, at_work) = application();
    let _tools = attend(&kit, &ai).await;
    let request = json!({"dataSource": {"data": [{"testCaseId": "a", "input": "tea"},
        {"testCaseId": "b", "input": "fail"}]}, "actionRef": "/flow/answer",
        "evaluators": ["honest"], "options": {"batchSize": 1}});
    let answer = kit.post_response("/api/v1/evaluations/stream", request).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let text = soon(answer.text()).await.unwrap();
    let events: Vec<(&str, Value)> = text
        .split_terminator("\n\n")
        .map(|block| {
            let (name, data) = block.split_once('\n').unwrap();
            let data = serde_json::from_str(data.trim_start_matches("data: ")).unwrap();
            (name.trim_start_matches("event: "), data)
        })
        .collect();
    let id = &events[0].1["evalRunId"];
    let expected = [
        (
            "progress",
            json!({"type": "started", "evalRunId": id, "cases": 2,
            "evaluators": ["/evaluator/honest"]}),
        ),
        ("progress", json!({"type": "case", "done": 1, "testCaseId": "a"})),
        ("progress", json!({"type": "case", "done": 2, "testCaseId": "b", "error": "no luck"})),
        (
            "progress",
            json!({"type": "evaluator", "done": 1, "evaluator": "/evaluator/honest",
            "errors": 0}),
        ),
    ];
    assert_eq!(events[..4], expected);
    assert_eq!((events[4].0, &events[4].1["evalRunId"]), ("done", id));
    assert_eq!(events.len(), 5);

    let data: Vec<Value> = (0..9).map(|n| json!({"input": n})).collect();
    let slow = |options: Value| {
        json!({"dataSource": {"data": data}, "actionRef": "/flow/slow",
            "evaluators": [], "options": options})
    };
    let answer =
        kit.post_response("/api/v1/evaluations/stream", slow(json!({"batchSize": 3}))).await;
    until(|| at_work.load(Ordering::SeqCst) == 3).await;
    // No more than asked for begin, however long it takes.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(at_work.load(Ordering::SeqCst), 3);
    drop(answer);
    until(|| at_work.load(Ordering::SeqCst) == 0).await;
    assert_eq!(kit.get("/api/v1/evaluations").await.1["evaluations"].as_array().unwrap().len(), 1);

    let options = json!({"batchSize": 9, "timeout": 0.05});
    let (status, key) = kit.post("/api/v1/evaluations", slow(options)).await;
    let id = key["evalRunId"].as_str().unwrap();
    let (_, run) = kit.get(&format!("/api/v1/evaluations/{id}")).await;
    assert_eq!(
        (status, &run["results"][8]["error"]),
        (200, &json!("the run took longer than 0.05 s"))
    );
    until(|| at_work.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn data_is_held_against_the_schema_of_the_action() {
    let kit = kit().await;
    let (ai, _) = application();
    let _tools = attend(&kit, &ai).await;
    let check = |action: &str, data: Value| {
        let body = json!({"dataSource": {"data": data}, "actionRef": action});
        kit.post("/api/v1/evaluations/validate", body)
    };
    let good = check("/flow/answer", json!([{"input": "a"}])).await;
    assert_eq!(good, (200, json!({"valid": true})));
    let (_, bad) = check("/flow/answer", json!([{"input": "a"}, {"input": 5}])).await;
    let wrong = json!([{"path": "(root)", "message": "must be string"}]);
    assert_eq!(bad, json!({"valid": false, "errors": {"1": wrong}}));
    let model = check("/model/offline/demo", json!([{"input": "a"}, {"input": {}}])).await.1;
    assert_eq!((&model["valid"], model["errors"].get("0")), (&json!(false), None), "{model}");
    assert_eq!(check("/flow/nope", json!([])).await.0, 404);
}

#[tokio::test]
async fn cases_are_made_out_of_traces() {
    let kit = kit().await;
    let (ai, _) = application();
    let _tools = attend(&kit, &ai).await;
    for (input, label) in [("tea", "x"), ("fail", "x"), ("milk", "y")] {
        let body =
            json!({"key": "/flow/answer", "input": input, "telemetryLabels": {"batchRun": label}});
        assert_eq!(kit.post("/api/v1/run", body).await.0, 200);
    }
    let cases = async |query: &str| {
        let (status, found) = kit.get(&format!("/api/v1/evaluations/extract?{query}")).await;
        assert_eq!((status, &found["skipped"]), (200, &json!(0)), "{found}");
        let cases = found["cases"].as_array().unwrap().clone();
        cases.into_iter().map(|case| (case["input"].clone(), case)).collect::<Vec<_>>()
    };
    let inputs =
        |cases: &[(Value, Value)]| Value::from_iter(cases.iter().map(|(input, _)| input.clone()));
    let all = cases("flow=answer").await;
    assert_eq!(inputs(&all), json!(["milk", "fail", "tea"]));
    assert_eq!(all[0].1["output"]["text"], "milk: 1 facts");
    assert_eq!(all[0].1["context"], json!(["a fact about milk"]));
    assert_eq!(all[0].1["traceIds"], json!([all[0].1["testCaseId"]]));
    assert_eq!(all[1].1["error"], "no luck");
    assert_eq!(inputs(&cases("flow=answer&label=x").await), json!(["fail", "tea"]));
    assert_eq!(inputs(&cases("flow=answer&limit=1").await), json!(["milk"]));
    assert_eq!(inputs(&cases("flow=slow").await), json!([]));
    assert_eq!(kit.get("/api/v1/evaluations/extract").await.0, 400);
}

#[tokio::test]
async fn what_the_official_tools_have_left_is_taken_over() {
    let kit = kit().await;
    let folder = kit.root().join(".genkit");
    let write = |path: &str, json: Value| {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, json.to_string()).unwrap();
    };
    let old = "8101cd94-d3e9-459a-848d-f6a7bb59a949";
    write(
        "datasets/index.json",
        json!({"greetings": {"datasetId": "greetings", "size": 1,
        "datasetType": "FLOW", "metricRefs": ["/evaluator/l"], "version": 4,
        "createTime": "Sun Nov 15 2026 06:48:15 GMT+0000 (Coordinated Universal Time)",
        "updateTime": "Sun Nov 15 2026 06:48:15 GMT+0000 (Coordinated Universal Time)"}}),
    );
    write("datasets/greetings.json", json!([{"testCaseId": "a", "input": {"name": "A"}}]));
    write(&format!("datasets/{old}.json"), json!([{"input": 1}]));
    write("datasets/bad.json", json!([]));
    write("datasets/broken-one.json", json!({"a": 1}));
    let key = json!({"actionRef": "/flow/greet", "evalRunId": old, "createdAt": "2026-11-15T06:48:22.315Z"});
    write(
        &format!("evals/{old}.json"),
        json!({"key": key, "results": [{"testCaseId": "a", "output": {"apiKey": "sk-planted"}}]}),
    );
    write("evals/index.json", json!({old: key}));
    write("evals/other.json", json!({"key": key, "results": []}));
    let (status, first) = kit.post("/api/v1/evaluations/import", json!({})).await;
    assert_eq!((status, &first["datasets"], &first["evaluations"]), (200, &json!(2), &json!(1)));
    let skipped = first["skipped"].as_array().unwrap().iter();
    let skipped: Vec<_> = skipped.map(|file| file["file"].as_str().unwrap()).collect();
    assert_eq!(skipped, ["bad.json", "broken-one.json", "other.json"]);
    let (_, dataset) = kit.get("/api/v1/datasets/greetings").await;
    assert_eq!(
        (&dataset["dataset"]["version"], &dataset["dataset"]["datasetType"]),
        (&json!(4), &json!("FLOW"))
    );
    assert_eq!(kit.get(&format!("/api/v1/datasets/{old}")).await.1["dataset"]["size"], 1);
    assert_eq!(kit.get("/api/v1/evaluations").await.1["evaluations"], json!([key]));
    let (_, run) = kit.get(&format!("/api/v1/evaluations/{old}")).await;
    assert!(run["results"][0]["output"].is_object() && !run.to_string().contains("sk-planted"));
    let (_, again) = kit.post("/api/v1/evaluations/import", json!({})).await;
    assert_eq!(
        (&again["datasets"], again["skipped"].as_array().map(Vec::len)),
        (&json!(0), Some(6))
    );
}

#[tokio::test]
async fn a_runtime_whose_spans_go_elsewhere_is_evaluated_by_what_it_answers() {
    // Only evaluators of JavaScript receive the batch size.
    tokio::join!(
        evaluate_without_spans("nodejs/1.42.0", json!({"batchSize": 5})),
        evaluate_without_spans("go/1.4.0", json!({})),
    );
}

async fn evaluate_without_spans(version: &str, more: Value) {
    let kit = kit().await;
    let mut runtime = kit.connect().await;
    let about = json!({"id": "js", "pid": 1, "genkitVersion": version});
    assert_eq!(runtime.request("1", "register", about).await["error"], Value::Null);
    let request = json!({"dataSource": {"data": [{"testCaseId": "a", "input": 1}]},
        "actionRef": "/flow/f", "options": {"batchSize": 5}});
    let script = async {
        let asked = runtime.expect_request("listActions").await;
        let action = |name: &str| json!({"name": name});
        let actions = json!({"/flow/f": action("f"), "/evaluator/bad": action("bad"),
            "/evaluator/lazy": action("lazy")});
        runtime.answer(&asked, json!({"actions": actions})).await;
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, TRACE).await;
        runtime.answer(&asked, json!({"result": {"n": 2}})).await;
        for key in ["/evaluator/bad", "/evaluator/lazy"] {
            let asked = runtime.expect_request("runAction").await;
            let case = json!({"testCaseId": "a", "input": 1, "output": {"n": 2}, "context": [],
                "traceIds": [TRACE]});
            let (question, id) = (&asked.params["input"], &asked.params["input"]["evalRunId"]);
            assert_eq!(asked.params["key"], key);
            let mut expected = json!({"dataset": [case], "evalRunId": id});
            expected.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            assert_eq!(question, &expected);
            match key {
                "/evaluator/bad" => {
                    let data = json!({"code": 13, "message": "kaboom", "details": {}});
                    runtime
                        .fail(&asked, json!({"code": -32000, "message": "x", "data": data}))
                        .await;
                }
                _ => runtime.answer(&asked, json!({"result": []})).await,
            }
        }
    };
    let (answer, ()) = tokio::join!(kit.post("/api/v1/evaluations", request), script);
    assert_eq!(answer.0, 200, "{answer:?}");
    let id = answer.1["evalRunId"].as_str().unwrap();
    let (_, run) = kit.get(&format!("/api/v1/evaluations/{id}")).await;
    let metrics = json!([
        {"evaluator": "/evaluator/bad", "error": "kaboom"},
        {"evaluator": "/evaluator/lazy", "error": "the evaluator has said nothing about this case"},
    ]);
    assert_eq!(run["results"][0]["metrics"], metrics);
}

/// Stored data must have only one meaning.
#[tokio::test]
async fn text_that_readers_understand_differently_is_not_kept() {
    let kit = kit().await;
    let send = async |method: Method, path: &str, body: &str| -> (u16, String) {
        let request = kit.call(method, path).header("content-type", "application/json");
        let answer = soon(request.body(body.to_owned()).send()).await.unwrap();
        (answer.status().as_u16(), soon(answer.text()).await.unwrap())
    };
    for (sample, expected) in [
        (r#"{"input":1,"input":2}"#, "`input`"),
        (r#"{"input":18446744073709551616}"#, "cannot be kept exactly"),
        (r#"{"input":{"a":{"b":1,"b":1}}}"#, "the member `b` is there twice"),
    ] {
        let body = format!(r#"{{"datasetId":"numbers","data":[{sample}]}}"#);
        for path in ["/api/v1/datasets", "/api/createDataset"] {
            let (status, text) = send(Method::POST, path, &body).await;
            assert_eq!(status, 400, "{path} {sample}: {text}");
            assert!(text.contains(expected), "{path} {sample}: {text}");
        }
    }
    assert_eq!(kit.get("/api/v1/datasets").await.1, json!({"datasets": []}));
    // The largest number of 64 bits, and what JavaScript writes for 2^64, are kept.
    let body =
        r#"{"datasetId":"numbers","data":[{"input":[18446744073709551615,18446744073709552000]}]}"#;
    let (status, text) = send(Method::POST, "/api/v1/datasets", body).await;
    assert_eq!(status, 200, "{text}");
    let (_, text) = send(Method::GET, "/api/v1/datasets/numbers", "").await;
    assert!(text.contains("[18446744073709551615,18446744073709552000]"), "{text}");
}
