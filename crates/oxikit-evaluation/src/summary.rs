//! Summarises the metrics of an evaluation: counts, averages and distributions.
//!
//! An evaluator may give several scores to a case, each with an id; every score has a summary of
//! its own.

use std::collections::BTreeMap;

use oxikit_wire::{EvalStatus, ScoreValue};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

use super::metric::Metric;

/// Maximum number of different texts that a distribution lists. Scores with more of them are
/// free text, not grades, and have no distribution.
const MAX_TEXTS: usize = 5;

/// The summary of one score of an evaluator over all cases.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricSummary {
    /// The key of the evaluator, followed by the id of the score if there are several.
    pub evaluator: String,
    /// Number of cases that were judged.
    pub test_case_count: usize,
    /// Number of cases that the evaluator could not judge.
    pub error_count: usize,
    /// Number of metrics without a score.
    pub score_undefined_count: usize,
    /// Number of metrics by `PASS`, `FAIL`, `UNKNOWN` and, without a status, `undefined`.
    pub status_distribution: BTreeMap<String, usize>,
    /// The mean, if the scores are numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_score: Option<Number>,
    /// Number of metrics by score, if the scores are texts or booleans.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_distribution: Option<BTreeMap<String, usize>>,
}

/// Summarises the metrics of one evaluator, in the order in which its scores occur first. `cases`
/// is the number of cases it was given.
pub(super) fn summarise(cases: usize, metrics: &[&Metric]) -> Vec<MetricSummary> {
    // In the order of first occurrence. There are only a few, so the list is searched.
    let mut groups: Vec<(String, Vec<&Metric>)> = Vec::new();
    for metric in metrics {
        let name = match &metric.score_id {
            Some(id) => format!("{}/{id}", metric.evaluator),
            None => metric.evaluator.clone(),
        };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, group)) => group.push(metric),
            None => groups.push((name, vec![metric])),
        }
    }
    groups.into_iter().map(|(name, group)| summary(name, cases, &group)).collect()
}

/// The summary of one score.
fn summary(evaluator: String, cases: usize, metrics: &[&Metric]) -> MetricSummary {
    let scores: Vec<&ScoreValue> =
        metrics.iter().filter_map(|metric| metric.score.as_ref()).collect();
    // The type of the first score decides how all of them are summarised.
    let average = match scores.first() {
        Some(ScoreValue::Number(_)) => average(&scores),
        _ => None,
    };
    let distribution = match scores.first() {
        Some(ScoreValue::Bool(_) | ScoreValue::Text(_)) => {
            Some(count(scores.iter().map(|score| text_of(score))))
        }
        _ => None,
    };
    MetricSummary {
        evaluator,
        test_case_count: cases,
        error_count: metrics.iter().filter(|metric| metric.error.is_some()).count(),
        score_undefined_count: metrics.len() - scores.len(),
        status_distribution: count(metrics.iter().map(|metric| status(metric.status))),
        average_score: average,
        score_distribution: distribution.filter(|counts| counts.len() <= MAX_TEXTS),
    }
}

/// The number of occurrences of each text.
fn count(texts: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    texts.fold(BTreeMap::new(), |mut counts, text| {
        *counts.entry(text).or_default() += 1;
        counts
    })
}

/// The status as the official tools write it in distributions.
fn status(status: Option<EvalStatus>) -> String {
    match status {
        Some(EvalStatus::Pass) => "PASS",
        Some(EvalStatus::Fail) => "FAIL",
        Some(EvalStatus::Unknown) => "UNKNOWN",
        None => "undefined",
    }
    .to_owned()
}

/// A score as the name of a group.
fn text_of(score: &ScoreValue) -> String {
    match score {
        ScoreValue::Bool(score) => score.to_string(),
        ScoreValue::Number(score) => score.to_string(),
        ScoreValue::Text(score) => score.clone(),
    }
}

/// The mean of the numbers. An integral mean is written without a decimal point.
fn average(scores: &[&ScoreValue]) -> Option<Number> {
    let numbers = scores.iter().filter_map(|score| match score {
        ScoreValue::Number(number) => number.as_f64(),
        _ => None,
    });
    let (count, sum) = numbers.fold((0_u32, 0.0), |(count, sum), number| (count + 1, sum + number));
    let mean = sum / f64::from(count);
    // Beyond 2^53 a float has no fraction, and its integer would not be exact.
    let is_whole = mean.fract() == 0.0 && mean.abs() < 9.0e15;
    if is_whole { Some((mean as i64).into()) } else { Number::from_f64(mean) }
}

#[cfg(test)]
mod tests {
    use oxikit_wire::Score;
    use serde_json::{Value, json};

    use super::*;

    fn metric(score: Score) -> Metric {
        Metric {
            evaluator: "/evaluator/e".to_owned(),
            score_id: score.id,
            score: score.score,
            status: score.status,
            error: score.error,
            ..Metric::default()
        }
    }

    #[track_caller]
    fn check(scores: Vec<Score>, expected: Value) {
        let cases = scores.len();
        let metrics: Vec<Metric> = scores.into_iter().map(metric).collect();
        let summaries = summarise(cases, &metrics.iter().collect::<Vec<_>>());
        assert_eq!(serde_json::to_value(summaries).unwrap(), expected);
    }

    #[test]
    fn numbers_have_a_mean() {
        check(
            vec![
                Score::of(1),
                Score::of(2),
                Score { error: Some("no".into()), ..Score::default() },
            ],
            json!([{"evaluator": "/evaluator/e", "testCaseCount": 3, "errorCount": 1,
                "scoreUndefinedCount": 1, "statusDistribution": {"undefined": 3},
                "averageScore": 1.5}]),
        );
    }

    #[test]
    fn verdicts_and_words_are_counted() {
        check(
            vec![Score::passed_if(true), Score::passed_if(false), Score::passed_if(true)],
            json!([{"evaluator": "/evaluator/e", "testCaseCount": 3, "errorCount": 0,
                "scoreUndefinedCount": 0, "statusDistribution": {"PASS": 2, "FAIL": 1},
                "scoreDistribution": {"true": 2, "false": 1}}]),
        );
        let many = (0..6).map(|n| Score::of(format!("word {n}"))).collect();
        check(
            many,
            json!([{"evaluator": "/evaluator/e", "testCaseCount": 6, "errorCount": 0,
                "scoreUndefinedCount": 0, "statusDistribution": {"undefined": 6}}]),
        );
    }

    #[test]
    fn several_scores_of_one_evaluator_are_kept_apart() {
        let scores = [Score::of(4).with_id("tone"), Score::of("good").with_id("length")];
        let metrics = scores.map(metric);
        let summaries = summarise(1, &metrics.iter().collect::<Vec<_>>());
        let names: Vec<_> = summaries.iter().map(|summary| &*summary.evaluator).collect();
        assert_eq!(names, ["/evaluator/e/tone", "/evaluator/e/length"]);
        assert_eq!(summaries[0].average_score, Some(4.into()));
        assert_eq!(summaries[1].test_case_count, 1);
    }

    #[test]
    fn nothing_judged_is_nothing_summed_up() {
        check(Vec::new(), json!([]));
    }
}
