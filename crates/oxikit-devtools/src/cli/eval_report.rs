//! What came of an evaluation, for people and for CI.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::output::Output;
use crate::terminal::Text;

/// Maximum number of evaluators that have a column. Others are only counted.
const MAX_EVALUATORS: usize = 24;

/// An evaluation in figures. The JSON form is documented.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Figures {
    cases: usize,
    /// Cases whose run failed.
    failed_cases: usize,
    /// Metrics that are none, as the evaluator failed.
    failed_metrics: usize,
    /// Verdicts; whatever failed is one that is not good.
    judged: usize,
    passed: usize,
    /// Of all verdicts; none without any.
    pass_rate: Option<f64>,
}

impl Figures {
    pub(super) fn of(run: &Value) -> Self {
        let mut figures = Self::default();
        for case in list(&run["results"]) {
            figures.cases += 1;
            if case["error"].is_string() {
                figures.failed_cases += 1;
                figures.judged += 1;
            }
            for metric in list(&case["metrics"]) {
                figures.failed_metrics += usize::from(metric["error"].is_string());
                if let Some(has_passed) = verdict(metric) {
                    figures.judged += 1;
                    figures.passed += usize::from(has_passed);
                }
            }
        }
        let rate = || figures.passed as f64 / figures.judged as f64;
        figures.pass_rate = (figures.judged > 0).then(rate);
        figures
    }

    /// Whether all was run and judged; with a limit, whether enough has passed.
    pub(super) fn is_good(&self, fail_below: Option<f64>) -> bool {
        match fail_below {
            None => self.failed_cases + self.failed_metrics == 0,
            Some(limit) => self.pass_rate.is_some_and(|rate| rate >= limit),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} cases", self.cases);
        if self.failed_cases > 0 {
            text.push_str(&format!(", {} failed to run", self.failed_cases));
        }
        if self.failed_metrics > 0 {
            text.push_str(&format!(", {} could not be judged", self.failed_metrics));
        }
        if let Some(rate) = self.pass_rate {
            let (passed, judged) = (self.passed, self.judged);
            text.push_str(&format!(", {passed} of {judged} verdicts good ({:.0} %)", rate * 100.0));
        }
        text
    }
}

/// Whether a metric says that the case is good; `None` if it is only a grade.
fn verdict(metric: &Value) -> Option<bool> {
    if metric["error"].is_string() {
        return Some(false);
    }
    match metric["status"].as_str() {
        Some("PASS") => Some(true),
        Some("FAIL") => Some(false),
        Some(_) => None,
        None => metric["score"].as_bool(),
    }
}

/// Shows a row for each case with a column for each evaluator, and the sums.
pub(super) fn show(run: &Value, output: &mut Output) -> Result<(), Failure> {
    let cases = list(&run["results"]);
    let mut columns: Vec<String> = Vec::new();
    let mut more: HashSet<String> = HashSet::new();
    for name in cases.iter().flat_map(|case| list(&case["metrics"])).map(column) {
        match columns.len() < MAX_EVALUATORS {
            true if !columns.contains(&name) => columns.push(name),
            false if !columns.contains(&name) => _ = more.insert(name),
            _ => {}
        }
    }
    let mut rows = vec![vec!["CASE".to_owned(), "RUN".to_owned()]];
    rows[0].extend(columns.iter().cloned());
    rows.extend(cases.iter().map(|case| row(case, &columns)));
    output.table(&rows, &[0])?;
    if !more.is_empty() {
        output.remark(format!("{} more evaluators: see them with --json", more.len()));
    }
    for (what, why) in reasons(cases) {
        output.remark(format!("{what}: {why}"));
    }
    for summary in list(&run["key"]["metricSummaries"]) {
        let name = Text::new().bold(short(&summary["evaluator"]));
        output.line(name.plain(format!(" {}", sum(summary))))?;
    }
    output.line(Figures::of(run).text())
}

fn row(case: &Value, columns: &[String]) -> Vec<String> {
    let cells: BTreeMap<String, String> =
        list(&case["metrics"]).iter().map(|metric| (column(metric), cell(metric))).collect();
    let ran = if case["error"].is_string() { "failed" } else { "ok" };
    let mut row = vec![case["testCaseId"].as_str().unwrap_or("?").to_owned(), ran.to_owned()];
    let cell = |name: &String| cells.get(name).cloned().unwrap_or_else(|| "-".to_owned());
    row.extend(columns.iter().map(cell));
    row
}

/// The name of an evaluator, with that of its score.
fn column(metric: &Value) -> String {
    let name = short(&metric["evaluator"]);
    match metric["scoreId"].as_str() {
        Some(id) => format!("{name}/{id}"),
        None => name,
    }
}

fn short(evaluator: &Value) -> String {
    let key = evaluator.as_str().unwrap_or("?");
    key.strip_prefix("/evaluator/").unwrap_or(key).to_owned()
}

fn cell(metric: &Value) -> String {
    if metric["error"].is_string() {
        return "error".to_owned();
    }
    let score = match &metric["score"] {
        Value::Null | Value::Bool(_) if metric["status"].is_string() => None,
        Value::Null => Some("-".to_owned()),
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let parts = [metric["status"].as_str().map(str::to_owned), score];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What went wrong, each reason once: with the first case that has it.
fn reasons(cases: &[Value]) -> Vec<(String, String)> {
    let mut reasons: Vec<(String, String)> = Vec::new();
    let mut known = HashSet::new();
    let mut add = |what: String, why: &Value| {
        let why = why.as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        if !why.is_empty() && known.insert(why.clone()) {
            reasons.push((what, why));
        }
    };
    for case in cases {
        let name = case["testCaseId"].as_str().unwrap_or("?");
        add(name.to_owned(), &case["error"]);
        for metric in list(&case["metrics"]) {
            add(format!("{name}, {}", column(metric)), &metric["error"]);
        }
    }
    reasons
}

/// The sum of an evaluator: its mean, its verdicts, or its words.
pub(super) fn sum(summary: &Value) -> String {
    let counts = |member: &str| {
        let counts = summary[member].as_object().into_iter().flatten();
        let counts = counts.filter(|(word, _)| *word != "undefined");
        counts.map(|(word, count)| format!("{word} {count}")).collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if let Some(average) = summary["averageScore"].as_f64() {
        parts.push(format!("average {}", (average * 1000.0).round() / 1000.0));
    }
    let verdicts = counts("statusDistribution");
    parts.push(if verdicts.is_empty() { counts("scoreDistribution") } else { verdicts });
    if let Some(errors) = summary["errorCount"].as_u64().filter(|errors| *errors > 0) {
        parts.push(format!("errors {errors}"));
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() { "no scores".to_owned() } else { parts.join(", ") }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rate_counts_verdicts_and_whatever_failed() {
        let metrics = json!([{"status": "PASS", "score": 1}, {"score": true}, {"score": 0.4},
            {"status": "UNKNOWN"}, {"status": "UNKNOWN", "error": "no"}]);
        let run = json!({"results": [{"metrics": metrics}, {"error": "broken", "metrics": []}]});
        let figures = Figures::of(&run);
        let expected = Figures {
            cases: 2,
            failed_cases: 1,
            failed_metrics: 1,
            judged: 4,
            passed: 2,
            pass_rate: Some(0.5),
        };
        assert_eq!(figures, expected);
        assert!(
            !figures.is_good(None) && figures.is_good(Some(0.5)) && !figures.is_good(Some(0.51))
        );
        let grades = Figures::of(&json!({"results": [{"metrics": [{"score": 3}]}]}));
        assert!(grades.is_good(None) && !grades.is_good(Some(0.0)), "nothing was judged");
        let failed = json!({"results": [{"metrics": [{"status": "FAIL"}]}]});
        assert!(Figures::of(&failed).is_good(None), "a bad verdict is a good evaluation");
    }

    #[test]
    fn sums_say_what_there_is() {
        let check = |summary: Value, expected: &str| assert_eq!(sum(&summary), expected);
        check(
            json!({"averageScore": 1.0 / 3.0, "statusDistribution": {"undefined": 3}}),
            "average 0.333",
        );
        check(
            json!({"statusDistribution": {"PASS": 2, "FAIL": 1}, "scoreDistribution": {"true": 2}}),
            "PASS 2, FAIL 1",
        );
        check(json!({"scoreDistribution": {"good": 2}, "errorCount": 1}), "good 2, errors 1");
        check(json!({"statusDistribution": {"undefined": 1}}), "no scores");
    }

    #[test]
    fn a_case_has_a_cell_for_each_evaluator() {
        let case = json!({"testCaseId": "a", "metrics": [
            {"evaluator": "/evaluator/x", "score": true, "status": "PASS"},
            {"evaluator": "/evaluator/y", "scoreId": "tone", "score": 4},
            {"evaluator": "/evaluator/z", "error": "no"},
        ]});
        let columns = ["x", "y/tone", "z", "w"].map(str::to_owned);
        assert_eq!(row(&case, &columns), ["a", "ok", "PASS", "4", "error", "-"]);
        assert_eq!(row(&json!({"testCaseId": "b", "error": "e"}), &[]), ["b", "failed"]);
    }
}
