//! Calls the evaluators of a runtime with the cases, and matches their answers to the cases.
//!
//! An evaluator gets all cases in one call, or in several if they are large. It answers by the
//! ids of the cases, in any order, and may leave some out; each case still gets at least one
//! metric, which then says what is missing.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use oxikit_core::Status;
use oxikit_wire::{ActionDescriptor, EvalFnResponse, Score, Scores};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::to_raw_value;

use super::case::Case;
use super::inference::Caller;
use super::metric::{Metric, MetricInfo};

/// The beginning of the keys of evaluators.
pub(super) const EVALUATORS: &str = "/evaluator/";
/// Number of bytes of cases after which a further call begins: messages to a runtime have a
/// maximum size. A single case may be larger.
const MAX_PART: usize = 8 << 20;

/// An evaluator of a runtime.
#[derive(Debug, PartialEq)]
pub(super) struct Evaluator {
    /// Such as `/evaluator/politeness`.
    pub(super) key: String,
    /// The name of the action, without the kind.
    pub(super) name: String,
    display_name: String,
    definition: String,
}

impl Evaluator {
    /// The evaluator of this action. Its descriptions are in the metadata, and may be missing.
    fn new(key: &str, action: &ActionDescriptor) -> Self {
        let about = action.metadata.as_ref().and_then(|metadata| metadata.get("evaluator"));
        let text = |member: &str| {
            let text = about.and_then(|about| about.get(member)?.as_str());
            text.unwrap_or_default().to_owned()
        };
        Self {
            key: key.to_owned(),
            name: action.name.clone(),
            display_name: text("evaluatorDisplayName"),
            definition: text("evaluatorDefinition"),
        }
    }

    /// The description that is stored with an evaluation.
    pub(super) fn info(&self) -> MetricInfo {
        let (display_name, definition) = (self.display_name.clone(), self.definition.clone());
        MetricInfo { display_name, definition }
    }
}

/// The named evaluators of a runtime, or all of them if no names are given. A name is the key of
/// an evaluator or the part of it after `/evaluator/`; an evaluator that is named twice is called
/// once.
///
/// # Errors
///
/// `NOT_FOUND` if the runtime has no evaluator of a name, `FAILED_PRECONDITION` if it has none at
/// all and no names are given.
pub(super) fn choose(
    actions: &BTreeMap<String, ActionDescriptor>,
    named: Option<&[String]>,
) -> Result<Vec<Evaluator>, Status> {
    let all = || actions.iter().filter(|(key, _)| key.starts_with(EVALUATORS));
    let Some(named) = named else {
        let all: Vec<_> = all().map(|(key, action)| Evaluator::new(key, action)).collect();
        if all.is_empty() {
            let message = "the runtime has no evaluators: define one in the application";
            return Err(Status::failed_precondition(message));
        }
        return Ok(all);
    };
    let find = |name: &String| {
        let key =
            if name.starts_with(EVALUATORS) { name.clone() } else { format!("{EVALUATORS}{name}") };
        let action = actions.get(&key).ok_or_else(|| {
            let known: Vec<_> = all().map(|(key, _)| &key[EVALUATORS.len()..]).collect();
            let message =
                format!("there is no evaluator `{name}`; the runtime has: {}", known.join(", "));
            Status::not_found(message)
        })?;
        Ok(Evaluator::new(&key, action))
    };
    let mut chosen: Vec<Evaluator> = named.iter().map(find).collect::<Result<_, Status>>()?;
    // Sorted, so that equal ones are adjacent and the results have a fixed order.
    chosen.sort_by(|one, other| one.key.cmp(&other.key));
    chosen.dedup();
    Ok(chosen)
}

/// The input of an evaluator.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EvaluatorInput<'a> {
    dataset: &'a [&'a Case],
    eval_run_id: &'a str,
    /// Only runtimes of JavaScript accept it.
    #[serde(skip_serializing_if = "Option::is_none")]
    batch_size: Option<usize>,
}

/// Calls evaluators for one evaluation.
#[derive(Debug)]
pub(super) struct Judging<'a> {
    /// Calls the runtime.
    pub(super) caller: Caller<'a>,
    /// The id of the evaluation, which evaluators receive.
    pub(super) eval_run_id: &'a str,
    /// Number of cases that the evaluator judges at a time, for runtimes that accept it.
    pub(super) batch_size: Option<usize>,
}

impl Judging<'_> {
    /// Calls an evaluator. Returns one metric or more for each case, with the index of the case.
    /// If a call fails, the metrics of its cases have the error.
    pub(super) async fn call(&self, evaluator: &str, cases: &[&Case]) -> Vec<(usize, Metric)> {
        let mut metrics = Vec::with_capacity(cases.len());
        for part in parts(cases) {
            let (first, cases) = (part.start, &cases[part]);
            let judged = match self.call_with(evaluator, cases).await {
                Ok(answers) => join(evaluator, cases, answers),
                Err(error) => {
                    let failed = |place| (place, failed(evaluator, error.clone()));
                    (0..cases.len()).map(failed).collect()
                }
            };
            metrics.extend(judged.into_iter().map(|(place, metric)| (first + place, metric)));
        }
        metrics
    }

    /// Calls an evaluator with these cases. Returns one answer for each case that it has judged,
    /// not yet checked.
    async fn call_with(&self, evaluator: &str, cases: &[&Case]) -> Result<Vec<Value>, String> {
        let input = EvaluatorInput {
            dataset: cases,
            eval_run_id: self.eval_run_id,
            batch_size: self.batch_size,
        };
        let input = to_raw_value(&input).map_err(|error| error.to_string())?;
        let answer = self.caller.call(evaluator, Some(&input), None).await.result?;
        let answer = answer.ok_or("the evaluator has returned no answer")?;
        serde_json::from_slice(&answer)
            .map_err(|error| format!("the answer of the evaluator cannot be read: {error}"))
    }
}

/// The ranges of cases that are sent in one call.
fn parts(cases: &[&Case]) -> Vec<Range<usize>> {
    let size = |case: &Case| {
        let texts = [&case.input, &case.output, &case.reference];
        texts.into_iter().flatten().map(|text| text.get().len()).sum::<usize>()
            + case.context.iter().flatten().map(|text| text.get().len()).sum::<usize>()
    };
    let mut parts: Vec<Range<usize>> = Vec::new();
    let mut bytes = 0;
    for (place, case) in cases.iter().enumerate() {
        // A case joins the current range if it fits. The first case of a range always does, so
        // that one larger than the limit is sent alone.
        bytes += size(case);
        match parts.last_mut() {
            Some(part) if bytes <= MAX_PART => part.end = place + 1,
            _ => {
                parts.push(place..place + 1);
                bytes = size(case);
            }
        }
    }
    parts
}

/// Matches the answers to the cases. A case without an answer gets a metric with an error.
fn join(evaluator: &str, cases: &[&Case], answers: Vec<Value>) -> Vec<(usize, Metric)> {
    let places = cases.iter().enumerate().map(|(place, case)| (&*case.test_case_id, place));
    let places: HashMap<&str, usize> = places.collect();
    // By index: the evaluator may answer in any order, and the results keep that of the cases.
    let mut by_case: Vec<Vec<Metric>> = cases.iter().map(|_| Vec::new()).collect();
    for answer in answers {
        let id = answer["testCaseId"].as_str().unwrap_or_default();
        // An answer for an id that was not sent is ignored.
        let Some(place) = places.get(id) else { continue };
        match serde_json::from_value::<EvalFnResponse>(answer) {
            Ok(answer) => by_case[*place].extend(metrics(evaluator, answer)),
            Err(error) => {
                let message =
                    format!("the answer of the evaluator for this case cannot be read: {error}");
                by_case[*place].push(failed(evaluator, message));
            }
        }
    }
    let metrics = by_case.into_iter().enumerate().flat_map(|(place, mut metrics)| {
        if metrics.is_empty() {
            let message = "the evaluator has said nothing about this case".to_owned();
            metrics.push(failed(evaluator, message));
        }
        metrics.into_iter().map(move |metric| (place, metric))
    });
    metrics.collect()
}

/// The metrics of one answer: one for each score.
fn metrics(evaluator: &str, answer: EvalFnResponse) -> Vec<Metric> {
    let scores = match answer.evaluation {
        Scores::One(score) => vec![score],
        Scores::Many(scores) => scores,
    };
    let metric = |score: Score| Metric {
        evaluator: evaluator.to_owned(),
        score_id: score.id,
        score: score.score,
        status: score.status,
        rationale: score.details.and_then(|details| details.reasoning),
        error: score.error,
        trace_id: answer.trace_id.clone(),
        span_id: answer.span_id.clone(),
    };
    scores.into_iter().map(metric).collect()
}

/// A metric with an error in place of a score.
fn failed(evaluator: &str, error: String) -> Metric {
    Metric { evaluator: evaluator.to_owned(), error: Some(error), ..Metric::default() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    fn case(id: &str, bytes: usize) -> Case {
        let output = RawValue::from_string(format!("\"{}\"", "x".repeat(bytes))).unwrap();
        Case { test_case_id: id.to_owned(), output: Some(output), ..Case::default() }
    }

    #[test]
    fn every_case_has_a_metric() {
        let cases = ["a", "b", "c", "d"].map(|id| case(id, 1));
        let cases: Vec<&Case> = cases.iter().collect();
        let answers = json!([
            {"testCaseId": "b", "evaluation": [{"id": "x", "score": 1}, {"id": "y", "score": 2}],
             "traceId": "t", "spanId": "s"},
            {"testCaseId": "a", "evaluation": {"score": true, "status": "PASS",
             "details": {"reasoning": "well"}}, "sampleIndex": 0},
            {"testCaseId": "c", "evaluation": {"status": "splendid"}},
            {"testCaseId": "nobody", "evaluation": {"score": 1}},
            7,
        ]);
        let Value::Array(answers) = answers else { unreachable!() };
        let joined = join("/evaluator/e", &cases, answers);
        let places: Vec<_> = joined.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 1, 1, 2, 3]);
        assert_eq!(joined[0].1.rationale.as_deref(), Some("well"));
        assert_eq!(joined[2].1.score_id.as_deref(), Some("y"));
        assert_eq!(joined[2].1.trace_id.as_deref(), Some("t"));
        assert!(joined[3].1.error.as_deref().unwrap().contains("cannot be read"));
        assert!(joined[4].1.error.as_deref().unwrap().contains("nothing about this case"));
    }

    #[test]
    fn large_cases_are_sent_in_parts() {
        let cases = [5 << 20, 5 << 20, 1, 1, 9 << 20, 1].map(|bytes| case("c", bytes));
        let cases: Vec<&Case> = cases.iter().collect();
        assert_eq!(parts(&cases), [0..1, 1..4, 4..5, 5..6]);
        assert!(parts(&[]).is_empty());
    }

    #[test]
    fn evaluators_are_chosen_by_name_or_all() {
        let action = |name: &str| {
            serde_json::from_value::<ActionDescriptor>(json!({"key": "", "name": name,
                "metadata": {"evaluator": {"evaluatorDisplayName": "D"}}}))
        };
        let keys = ["/evaluator/b", "/evaluator/a", "/flow/f"];
        let actions = keys.map(|key| (key.to_owned(), action(&key[key.len() - 1..]).unwrap()));
        let actions = BTreeMap::from(actions);
        let chosen = |named: Option<&[&str]>| {
            let named: Option<Vec<String>> =
                named.map(|named| named.iter().map(|name| (*name).to_owned()).collect());
            let chosen = choose(&actions, named.as_deref()).map_err(|status| status.to_string());
            chosen.map(|chosen| chosen.into_iter().map(|one| one.key).collect::<Vec<_>>())
        };
        assert_eq!(chosen(None).unwrap(), ["/evaluator/a", "/evaluator/b"]);
        assert_eq!(chosen(Some(&["b", "/evaluator/b"])).unwrap(), ["/evaluator/b"]);
        assert_eq!(chosen(Some(&[])).unwrap(), [""; 0]);
        assert!(chosen(Some(&["c"])).unwrap_err().contains("the runtime has: a, b"));
        assert!(choose(&BTreeMap::new(), None).is_err());
    }
}
