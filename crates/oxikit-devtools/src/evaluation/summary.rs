//! The metrics of an evaluation in a few figures.

use std::collections::BTreeMap;

use oxikit_wire::{EvalStatus, ScoreValue};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Number;

use super::eval_runs::Metric;

/// Words that are counted one by one; a score with more of them is no grade.
const MAX_WORDS: usize = 5;

/// What one evaluator says of all cases; of one that gives several scores, one each.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetricSummary {
    /// Its key, with the id of the score behind it if there are several.
    pub(crate) evaluator: String,
    pub(crate) test_case_count: usize,
    pub(crate) error_count: usize,
    pub(crate) score_undefined_count: usize,
    /// By `PASS`, `FAIL`, `UNKNOWN` and, for those without, `undefined`.
    pub(crate) status_distribution: BTreeMap<String, usize>,
    /// Of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) average_score: Option<Number>,
    /// Of words, and of yes and no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score_distribution: Option<BTreeMap<String, usize>>,
}

/// Sums up what one evaluator says of so many cases.
pub(super) fn summarise(cases: usize, metrics: &[&Metric]) -> Vec<MetricSummary> {
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

fn summary(evaluator: String, cases: usize, metrics: &[&Metric]) -> MetricSummary {
    let scores: Vec<&ScoreValue> =
        metrics.iter().filter_map(|metric| metric.score.as_ref()).collect();
    let average = match scores.first() {
        Some(ScoreValue::Number(_)) => average(&scores),
        _ => None,
    };
    let distribution = match scores.first() {
        Some(ScoreValue::Bool(_) | ScoreValue::Text(_)) => {
            Some(count(scores.iter().map(|score| word(score))))
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
        score_distribution: distribution.filter(|words| words.len() <= MAX_WORDS),
    }
}

fn count(words: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    words.fold(BTreeMap::new(), |mut counts, word| {
        *counts.entry(word).or_default() += 1;
        counts
    })
}

fn status(status: Option<EvalStatus>) -> String {
    match status {
        Some(EvalStatus::Pass) => "PASS",
        Some(EvalStatus::Fail) => "FAIL",
        Some(EvalStatus::Unknown) => "UNKNOWN",
        None => "undefined",
    }
    .to_owned()
}

fn word(score: &ScoreValue) -> String {
    match score {
        ScoreValue::Bool(score) => score.to_string(),
        ScoreValue::Number(score) => score.to_string(),
        ScoreValue::Text(score) => score.clone(),
    }
}

/// The mean of the numbers. A whole one is written as such.
fn average(scores: &[&ScoreValue]) -> Option<Number> {
    let numbers = scores.iter().filter_map(|score| match score {
        ScoreValue::Number(number) => number.as_f64(),
        _ => None,
    });
    let (count, sum) = numbers.fold((0_u32, 0.0), |(count, sum), number| (count + 1, sum + number));
    let mean = sum / f64::from(count);
    // Beyond that a float has no digits behind the point anyway.
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
