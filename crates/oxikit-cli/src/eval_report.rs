//! The result of an evaluation: text for people, and figures for CI.

use serde::Serialize;
use serde_json::Value;

use super::failure::Failure;
use super::output::Output;
use super::value_text::{Detail, labelled, labelled_text};
use crate::terminal::Text;

/// The figures of an evaluation. The JSON form is documented.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Figures {
    cases: usize,
    /// Cases whose run failed.
    failed_cases: usize,
    /// Metrics without a score because the evaluator failed.
    failed_metrics: usize,
    /// Number of verdicts. Failed runs and metrics count as verdicts that did not pass.
    judged: usize,
    passed: usize,
    /// `passed / judged`; `None` if nothing was judged.
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

    /// Whether no run and no metric failed; with a limit, whether the pass rate reaches it.
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

/// Whether the case passed according to this metric; `None` if it has a score but no verdict.
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

/// Shows each case with its input, output and metrics, then the summaries.
pub(super) fn show(run: &Value, detail: Detail, output: &mut Output) -> Result<(), Failure> {
    for line in list(&run["results"]).iter().flat_map(|case| lines(case, detail)) {
        match detail {
            Detail::Folded => output.row(line)?,
            Detail::Full => output.line(line)?,
        }
    }
    for summary in list(&run["key"]["metricSummaries"]) {
        let name = Text::new().bold(short(&summary["evaluator"]));
        output.line(name.plain(format!(" {}", sum(summary))))?;
    }
    output.line(Figures::of(run).text())
}

fn lines(case: &Value, detail: Detail) -> Vec<Text> {
    let name = Text::new().bold(case["testCaseId"].as_str().unwrap_or("?"));
    let mut lines = vec![match case["error"].as_str() {
        Some(_) => name.plain(" ").red("failed"),
        None => name.plain(" ok"),
    }];
    for member in ["input", "output", "reference"] {
        lines.extend(labelled(2, member, &case[member], detail));
    }
    if let Some(error) = case["error"].as_str() {
        lines.push(labelled_text(2, "error", error, detail));
    }
    for metric in list(&case["metrics"]) {
        let said = metric["error"].as_str().or_else(|| metric["rationale"].as_str());
        let text = match said {
            Some(why) => format!("{} ({why})", cell(metric)),
            None => cell(metric),
        };
        lines.push(labelled_text(2, &column(metric), &text, detail));
    }
    lines
}

/// The name of an evaluator and the id of its score.
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

/// The summary of an evaluator: the average score, and the counts of verdicts or scores.
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
    fn a_case_has_its_values_and_a_line_for_each_evaluator() {
        let case = json!({"testCaseId": "a", "input": {"q": 1}, "output": "so", "metrics": [
            {"evaluator": "/evaluator/x", "score": true, "status": "PASS", "rationale": "fine\nso"},
            {"evaluator": "/evaluator/y", "scoreId": "tone", "score": 4},
            {"evaluator": "/evaluator/z", "error": "no"},
        ]});
        let shown = |case: &Value| {
            let lines = lines(case, Detail::Folded);
            lines.iter().map(Text::uncoloured).collect::<Vec<_>>()
        };
        let expected = [
            "a ok",
            r#"  input: {"q":1}"#,
            r#"  output: "so""#,
            "  x: PASS (fine so)",
            "  y/tone: 4",
            "  z: error (no)",
        ];
        assert_eq!(shown(&case), expected);
        let failed = json!({"testCaseId": "b", "input": 7, "reference": "r", "error": "e"});
        let expected = ["b failed", "  input: 7", r#"  reference: "r""#, "  error: e"];
        assert_eq!(shown(&failed), expected);
    }
}
