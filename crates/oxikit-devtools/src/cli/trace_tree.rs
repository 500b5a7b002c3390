//! The spans of a trace as a tree.

use std::collections::{HashMap, HashSet};

use owo_colors::OwoColorize;
use serde_json::Value;

use super::output::duration;

/// A line for each span, deeper ones further in.
pub(super) fn lines(spans: &[&Value]) -> Vec<String> {
    let indented = |(depth, span): (usize, &Value)| {
        format!("{}{}", "  ".repeat(depth.min(MAX_INDENT)), line(span))
    };
    ordered(spans).into_iter().map(indented).collect()
}

/// Each span with its depth, below its parent, in the order they began. Spans whose
/// parent is not known stand beside the root.
pub(super) fn ordered<'a>(spans: &[&'a Value]) -> Vec<(usize, &'a Value)> {
    let known: HashSet<&str> = spans.iter().filter_map(|span| span["spanId"].as_str()).collect();
    let mut below: HashMap<Option<&str>, Vec<&Value>> = HashMap::new();
    for &span in spans {
        let parent = span["parentSpanId"].as_str().filter(|parent| known.contains(parent));
        below.entry(parent).or_default().push(span);
    }
    for children in below.values_mut() {
        children.sort_by(|left, right| began(left).total_cmp(&began(right)));
    }
    let mut ordered = Vec::with_capacity(spans.len());
    // A stack instead of recursion: a runtime decides how deep it is. What is taken
    // out of the map cannot come again, not even in a circle.
    let mut waiting: Vec<(usize, &Value)> = below.remove(&None).map(at(0)).unwrap_or_default();
    while let Some((depth, span)) = waiting.pop() {
        ordered.push((depth, span));
        waiting
            .extend(below.remove(&span["spanId"].as_str()).map(at(depth + 1)).unwrap_or_default());
    }
    ordered
}

/// Deeper spans are not shown further in.
const MAX_INDENT: usize = 40;

/// The spans at this depth, last first.
fn at(depth: usize) -> impl Fn(Vec<&Value>) -> Vec<(usize, &Value)> {
    move |spans| spans.into_iter().rev().map(|span| (depth, span)).collect()
}

fn began(span: &Value) -> f64 {
    span["startTime"].as_f64().unwrap_or_default()
}

/// Name, kind, duration, and what went wrong.
pub(super) fn line(span: &Value) -> String {
    let name = span["displayName"].as_str().unwrap_or("?");
    let kind = kind(span).unwrap_or_default();
    let time = match span["endTime"].as_f64() {
        Some(end) if end > 0.0 => duration(end - began(span)),
        _ => "runs".to_owned(),
    };
    let line = format!("{} {} {time}", name.bold(), kind.dimmed());
    match error(span) {
        None => line,
        Some(message) => format!("{line} {}", message.lines().next().unwrap_or_default().red()),
    }
}

/// What a span is of, such as `flow` or `tool`.
pub(super) fn kind(span: &Value) -> Option<&str> {
    let members = ["genkit:metadata:subtype", "genkit:type"];
    members.iter().find_map(|member| span["attributes"][member].as_str())
}

/// Why it failed, if it did.
pub(super) fn error(span: &Value) -> Option<&str> {
    let is_failed = span["status"]["code"] == 2 || span["attributes"]["genkit:state"] == "error";
    is_failed.then(|| span["status"]["message"].as_str().unwrap_or("failed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn span(id: &str, parent: Option<&str>, start: f64) -> Value {
        json!({
            "spanId": id, "parentSpanId": parent, "displayName": id,
            "startTime": start, "endTime": start + 2.0, "attributes": {"genkit:type": "util"},
        })
    }

    #[track_caller]
    fn check(spans: &[Value], expected: &[&str]) {
        let lines = lines(&spans.iter().collect::<Vec<_>>());
        let plain = lines.iter().map(|line| anstream::adapter::strip_str(line).to_string());
        assert_eq!(plain.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn children_stand_below_their_parent_in_their_order() {
        let spans = [
            span("last", Some("root"), 9.0),
            span("root", None, 1.0),
            span("deep", Some("first"), 3.0),
            span("first", Some("root"), 2.0),
        ];
        check(
            &spans,
            &[
                "root util 2.0 ms",
                "  first util 2.0 ms",
                "    deep util 2.0 ms",
                "  last util 2.0 ms",
            ],
        );
    }

    #[test]
    fn lost_parents_and_circles_do_no_harm() {
        let orphan = span("orphan", Some("gone"), 1.0);
        check(&[orphan], &["orphan util 2.0 ms"]);
        check(&[span("a", Some("b"), 1.0), span("b", Some("a"), 1.0)], &[]);
    }

    #[test]
    fn failures_and_running_spans_say_so() {
        let mut failed = span("a", None, 1.0);
        failed["status"] = json!({"code": 2, "message": "no luck\nat line 7"});
        check(&[failed], &["a util 2.0 ms no luck"]);
        let mut running = span("a", None, 1.0);
        running["endTime"] = json!(0);
        check(&[running], &["a util runs"]);
    }
}
