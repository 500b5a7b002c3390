//! The figures of a schemathesis run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

/// The kinds of failures.
const KINDS: [&str; 4] =
    ["server errors", "undocumented answers", "schema mismatches", "other failures"];

/// The result of a run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Report {
    operations: u64,
    cases: u64,
    /// Number of failures by kind.
    failures: [u64; 4],
    /// Whether the run was completed.
    is_whole: bool,
    /// Requests by operation and HTTP status.
    answers: BTreeMap<String, BTreeMap<u64, u64>>,
}

impl Report {
    /// Reads the two files of a run: its last event, and all events.
    pub(super) fn read(end: &Path, events: &Path) -> Result<Self> {
        let text = fs::read(end).with_context(|| format!("no {}", end.display()))?;
        let mut report = Self::of(&serde_json::from_slice(&text)?);
        for line in BufReader::new(File::open(events)?).lines() {
            report.count(&serde_json::from_str(&line?)?);
        }
        Ok(report)
    }

    fn of(end: &Value) -> Self {
        let mut report = Self {
            operations: end["operations"]["tested"].as_u64().unwrap_or(0),
            cases: end["test_cases"]["generated"].as_u64().unwrap_or(0),
            ..Self::default()
        };
        let none = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
        report.is_whole = end["complete"] == true
            && none(&end["errors"])
            && end["operations"]["tested"] == end["operations"]["selected"]
            && end["test_cases"]["errored"] == 0
            && report.operations > 0;
        for failure in end["failures"].as_array().into_iter().flatten() {
            let name = failure["type"].as_str().unwrap_or_default();
            report.failures[kind(name)] += failure["count"].as_u64().unwrap_or(1);
        }
        report
    }

    /// Counts the responses of one event.
    fn count(&mut self, event: &Value) {
        let recorder = &event["ScenarioFinished"]["recorder"];
        let Some(label) = recorder["label"].as_str() else { return };
        let interactions = recorder["interactions"].as_object();
        for interaction in interactions.into_iter().flat_map(serde_json::Map::values) {
            let status = interaction["response"]["status_code"].as_u64().unwrap_or(0);
            let answers = self.answers.entry(label.to_owned()).or_default();
            *answers.entry(status).or_default() += 1;
        }
    }

    pub(super) fn is_good(&self) -> bool {
        self.is_whole && self.failures == [0; 4]
    }

    fn requests(&self) -> u64 {
        self.answers.values().flat_map(BTreeMap::values).sum()
    }

    /// A table of the requests and response statuses by operation.
    pub(super) fn table(&self) -> String {
        let width = self.answers.keys().map(String::len).max().unwrap_or(0);
        let row = |(operation, answers): (&String, &BTreeMap<u64, u64>)| {
            let total: u64 = answers.values().sum();
            let each: Vec<_> = answers.iter().map(|(http, n)| format!("{http}×{n}")).collect();
            format!("  {operation:width$} {total:>6}  {}", each.join(" "))
        };
        self.answers.iter().map(row).collect::<Vec<_>>().join("\n")
    }

    /// One line.
    pub(super) fn summary(&self) -> String {
        let failures: Vec<_> = KINDS
            .iter()
            .zip(self.failures)
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        let (operations, cases, requests) = (self.operations, self.cases, self.requests());
        let end = if self.is_whole { "" } else { ", not all was tried" };
        let failures = failures.join(", ");
        format!("{operations} operations, {cases} cases, {requests} requests: {failures}{end}")
    }
}

/// The index of a failure in the list of kinds.
fn kind(name: &str) -> usize {
    match name {
        "ServerError" => 0,
        "UndefinedStatusCode" | "UndefinedContentType" | "MissingContentType" => 1,
        "JsonSchemaError" | "MalformedJson" | "MissingHeaders" | "MalformedMediaType" => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn end() -> Value {
        json!({
            "complete": true,
            "operations": {"selected": 2, "tested": 2},
            "test_cases": {"generated": 30, "errored": 0},
            "failures": [],
            "errors": [],
        })
    }

    #[test]
    fn failures_are_counted_by_kind() {
        assert!(Report::of(&end()).is_good());
        let mut bad = end();
        bad["failures"] = json!([
            {"type": "ServerError", "count": 2},
            {"type": "JsonSchemaError", "count": 1},
            {"type": "IgnoredAuth", "count": 4},
        ]);
        let report = Report::of(&bad);
        assert!(!report.is_good());
        assert_eq!(report.failures, [2, 0, 1, 4]);
    }

    #[test]
    fn what_was_not_tried_is_no_success() {
        for (member, value) in [
            ("/complete", json!(false)),
            ("/operations/tested", json!(1)),
            ("/errors", json!([{"title": "Network Error"}])),
            ("/test_cases/errored", json!(1)),
        ] {
            let mut bad = end();
            *bad.pointer_mut(member).unwrap() = value;
            assert!(!Report::of(&bad).is_good(), "{member}");
        }
    }

    #[test]
    fn answers_are_counted_by_operation_and_status() {
        let mut report = Report::of(&end());
        let answer = |code: u16| json!({"response": {"status_code": code}});
        report.count(&json!({"ScenarioFinished": {"recorder": {
            "label": "GET /x", "interactions": {"a": answer(200), "b": answer(404), "c": answer(200)},
        }}}));
        report.count(&json!({"PhaseStarted": {}}));
        assert_eq!(report.table(), "  GET /x      3  200×2 404×1");
        assert!(
            report.summary().starts_with("2 operations, 30 cases, 3 requests: server errors 0")
        );
    }
}
