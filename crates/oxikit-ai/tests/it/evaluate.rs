//! Evaluators: one span and one verdict per case.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use oxikit::{
    Call, Context, EvalDataPoint, EvalStatus, Evaluator, Oxikit, Result, Score, Status, StatusCode,
};
use oxikit_core::{OpenSpan, SpanExporter, SpanRecord};
use serde_json::{Value, json};
use tokio::sync::Barrier;

fn length() -> Evaluator {
    Evaluator::builder("lengthEval")
        .display_name("Length")
        .definition("score = output length")
        .handler(|point: EvalDataPoint| async move {
            let output = point.output.as_ref().and_then(Value::as_str).unwrap_or_default();
            match output {
                "secret" => Err(Status::internal("password hunter2")),
                "refuse" => Err(Status::invalid_argument("not a word")),
                "panic" => panic!("no"),
                _ => Ok(Score::of(output.len()).with_reasoning("len")),
            }
        })
}

/// Keeps the spans that have ended.
#[derive(Default)]
struct Spans(Mutex<Vec<SpanRecord>>);

#[async_trait::async_trait]
impl SpanExporter for Spans {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, span: SpanRecord) {
        self.0.lock().expect("nobody panics with the lock").push(span);
    }
}

#[tokio::test]
async fn an_evaluator_is_listed_as_the_developer_tools_expect() {
    let ai = Oxikit::builder().build().unwrap();
    let evaluator = ai.define_evaluator(length());
    assert_eq!(
        json!(evaluator.action().descriptor().metadata),
        json!({
            "type": "evaluator",
            "evaluator": {
                "evaluatorIsBilled": false,
                "evaluatorDisplayName": "Length",
                "evaluatorDefinition": "score = output length",
            },
        })
    );
    assert_eq!(evaluator.action().key(), "/evaluator/lengthEval");
}

#[tokio::test]
async fn every_case_is_judged_in_a_span_of_its_own_as_official_runtimes_record_it() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let spans = Arc::new(Spans::default());
    ai.registry().add_exporter(spans.clone());
    ai.define_evaluator(length());
    let input = json!({
        "dataset": [{ "input": "a", "output": "abc", "testCaseId": "tc1" }],
        "evalRunId": "er1",
    });
    let output = ai.registry().run("/evaluator/lengthEval", Call::new(input)).await?.to_value()?;

    let spans = spans.0.lock().unwrap();
    let [case, root] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!(
        output,
        json!([{
            "sampleIndex": 0,
            "testCaseId": "tc1",
            "traceId": case.trace_id.to_string(),
            "spanId": case.span_id.to_string(),
            "evaluation": { "score": 3, "details": { "reasoning": "len" } },
        }])
    );
    assert_eq!(case.name, "Test Case tc1");
    assert_eq!(case.parent_span_id, Some(root.span_id));
    let attribute = |key: &str| case.attributes.get(key).cloned().unwrap_or_default();
    assert_eq!(attribute("genkit:name"), "Test Case tc1");
    assert_eq!(attribute("genkit:metadata:evaluator:evalRunId"), "er1");
    assert_eq!(attribute("genkit:input"), r#"{"input":"a","output":"abc","testCaseId":"tc1"}"#);
    assert_eq!(
        attribute("genkit:output"),
        r#"{"testCaseId":"tc1","evaluation":{"score":3,"details":{"reasoning":"len"}}}"#
    );
    assert_eq!(attribute("genkit:state"), "success");
    Ok(())
}

#[tokio::test]
async fn a_failing_case_has_an_error_without_secrets_and_the_others_go_on() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let spans = Arc::new(Spans::default());
    ai.registry().add_exporter(spans.clone());
    ai.define_evaluator(length());
    let case = |output: &str| EvalDataPoint::new("x").with_output(output);
    let dataset = [case("secret"), case("refuse"), case("panic"), case("abcd")];
    let results = ai.evaluate("lengthEval", dataset).await?;

    let evaluations: Vec<Value> = results.iter().map(|result| json!(result.evaluation)).collect();
    let error = |text: &str| json!({ "status": "UNKNOWN", "error": text });
    assert_eq!(
        evaluations,
        [
            error("test case `case-1` could not be judged: INTERNAL: Internal error"),
            error("test case `case-2` could not be judged: INVALID_ARGUMENT: not a word"),
            error("test case `case-3` could not be judged: INTERNAL: Internal error"),
            json!({ "score": 4, "details": { "reasoning": "len" } }),
        ]
    );
    let spans = spans.0.lock().unwrap();
    assert_eq!(spans[0].status.error().unwrap().message, "password hunter2");
    assert_eq!(results[0].span_id, Some(spans[0].span_id.to_string()));
    Ok(())
}

#[tokio::test]
async fn a_case_without_a_name_gets_one_that_no_other_has() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_evaluator(length());
    let dataset = [
        EvalDataPoint::new("x"),
        EvalDataPoint::new("x").with_id("case-1"),
        EvalDataPoint::new("x"),
    ];
    let results = ai.evaluate("lengthEval", dataset).await?;
    let names: Vec<_> =
        results.iter().map(|result| (result.sample_index, result.test_case_id.as_str())).collect();
    assert_eq!(names, [(Some(0), "case-1x"), (Some(1), "case-1"), (Some(2), "case-3")]);
    Ok(())
}

#[tokio::test]
async fn a_batch_runs_at_once_and_the_answers_stay_in_order() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    // Passed only when three cases are inside at the same time.
    let barrier = Arc::new(Barrier::new(3));
    ai.define_evaluator(Evaluator::builder("meet").handler(move |point: EvalDataPoint| {
        let barrier = barrier.clone();
        async move {
            barrier.wait().await;
            Ok(Score::of(point.input.unwrap_or_default().to_string()))
        }
    }));
    let dataset = (0..6).map(EvalDataPoint::new);
    let results = ai.evaluate("meet", dataset).batch_size(3).await?;
    let scores: Vec<Value> =
        results.iter().map(|result| json!(result.evaluation)["score"].clone()).collect();
    assert_eq!(scores, ["0", "1", "2", "3", "4", "5"]);
    Ok(())
}

#[tokio::test]
async fn no_more_cases_run_at_once_than_the_batch_size_and_64_says() -> Result<()> {
    let most = async |batch_size: Option<u32>| -> Result<usize> {
        let ai = Oxikit::builder().build().unwrap();
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let peak = most.clone();
        ai.define_evaluator(Evaluator::builder("count").handler(move |_: EvalDataPoint| {
            let (running, peak) = (running.clone(), peak.clone());
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                peak.fetch_max(now, Ordering::SeqCst);
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok(Score::of(true))
            }
        }));
        let call = ai.evaluate("count", vec![EvalDataPoint::default(); 100]);
        match batch_size {
            Some(size) => call.batch_size(size).await?,
            None => call.await?,
        };
        Ok(most.load(Ordering::SeqCst))
    };
    assert_eq!(most(None).await?, 1);
    assert_eq!(most(Some(0)).await?, 1);
    assert_eq!(most(Some(5)).await?, 5);
    assert_eq!(most(Some(100_000)).await?, 64);
    Ok(())
}

#[tokio::test]
async fn several_scores_and_the_options_of_the_run_pass_through() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    let evaluator = ai.define_evaluator(Evaluator::builder("two").billed().handler_with_options(
        |point, options, _: Context| async move {
            let id = point.test_case_id.unwrap_or_default();
            Ok(vec![
                Score::of(0.5).with_id("a"),
                Score::of(format!("{id} {}", options.unwrap_or_default()))
                    .with_id("b")
                    .with_status(EvalStatus::Pass),
            ])
        },
    ));
    let results = ai
        .evaluate(&evaluator, [EvalDataPoint::new("x").with_id("t")])
        .options(json!({ "strict": true }))
        .run_id("run-7")
        .await?;
    assert_eq!(
        json!(results[0].evaluation),
        json!([
            { "id": "a", "score": 0.5 },
            { "id": "b", "score": "t {\"strict\":true}", "status": "PASS" },
        ])
    );
    Ok(())
}

#[tokio::test]
async fn an_unknown_evaluator_is_not_found() {
    let status = Oxikit::builder().build().unwrap().evaluate("none", []).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
}
