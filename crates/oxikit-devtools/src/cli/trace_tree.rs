//! The spans of a trace as a tree.

use serde_json::Value;

use super::forest::{Node, Placed, forest};
use super::output::duration;
use crate::terminal::{Text, cut};

/// Deeper spans are not shown further in.
const MAX_INDENT: usize = 40;
/// Maximum number of columns of a name. Longer ones are cut.
const MAX_NAME: usize = 256;

/// A span and its place in the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedSpan<'a> {
    pub(super) depth: usize,
    pub(super) span: &'a Value,
    /// Its parents form a cycle, and it is the first of them.
    is_cyclic: bool,
}

/// A line for each span, deeper ones further in.
pub(super) fn lines(spans: &[&Value]) -> Vec<Text> {
    let indented = |placed: PlacedSpan<'_>| {
        let indent = Text::from("  ".repeat(placed.depth.min(MAX_INDENT)));
        let text = described(indent, placed.span);
        match placed.is_cyclic {
            true => text.yellow(" (its parent is one of the spans below it)"),
            false => text,
        }
    };
    ordered(spans).into_iter().map(indented).collect()
}

/// Each span below its parent, in the order they began. Spans whose parent is not known
/// stand beside the root.
pub(super) fn ordered<'a>(spans: &[&'a Value]) -> Vec<PlacedSpan<'a>> {
    let mut spans = spans.to_vec();
    spans.sort_by(|left, right| began(left).total_cmp(&began(right)));
    let node = |span: &&'a Value| Node {
        id: span["spanId"].as_str(),
        parent: span["parentSpanId"].as_str(),
    };
    let nodes: Vec<Node<'_>> = spans.iter().map(node).collect();
    let places = forest(&nodes, |depth, _| depth.map_or(0, |depth| depth + 1));
    let placed = |Placed { index, depth, is_cyclic }: Placed| PlacedSpan {
        depth,
        span: spans[index],
        is_cyclic,
    };
    places.into_iter().map(placed).collect()
}

fn began(span: &Value) -> f64 {
    span["startTime"].as_f64().unwrap_or_default()
}

/// Name, kind, duration, and what went wrong.
pub(super) fn line(span: &Value) -> Text {
    described(Text::new(), span)
}

fn described(text: Text, span: &Value) -> Text {
    let name = cut(span["displayName"].as_str().unwrap_or("?"), MAX_NAME);
    let kind = cut(kind(span).unwrap_or_default(), MAX_NAME);
    let time = match span["endTime"].as_f64() {
        Some(end) if end > 0.0 => duration(end - began(span)),
        _ => "runs".to_owned(),
    };
    let line = text.bold(name).plain(" ").dimmed(kind).plain(format!(" {time}"));
    match error(span) {
        None => line,
        Some(message) => line.plain(" ").red(message.lines().next().unwrap_or_default()),
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
        assert_eq!(lines.iter().map(Text::uncoloured).collect::<Vec<_>>(), expected);
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
    fn spans_without_a_known_parent_are_roots() {
        check(&[span("orphan", Some("gone"), 1.0)], &["orphan util 2.0 ms"]);
    }

    #[test]
    fn cycles_are_shown_with_a_note() {
        const NOTE: &str = "(its parent is one of the spans below it)";
        let itself = span("a", Some("a"), 1.0);
        check(&[itself], &[&format!("a util 2.0 ms {NOTE}")]);
        let two = [span("b", Some("a"), 2.0), span("a", Some("b"), 1.0), span("root", None, 9.0)];
        check(&two, &["root util 2.0 ms", &format!("a util 2.0 ms {NOTE}"), "  b util 2.0 ms"]);
        let below =
            [span("a", Some("b"), 1.0), span("b", Some("a"), 2.0), span("c", Some("b"), 3.0)];
        check(&below, &[&format!("a util 2.0 ms {NOTE}"), "  b util 2.0 ms", "    c util 2.0 ms"]);
    }

    #[test]
    fn every_span_is_shown_once_however_odd_the_trace_is() {
        let same: Vec<Value> = (0..3).map(|at| span("same", Some("same"), f64::from(at))).collect();
        assert_eq!(lines(&same.iter().collect::<Vec<_>>()).len(), 3);
        let nameless = [json!({}), json!(null), json!({"startTime": 1e308, "endTime": 1e-308})];
        assert_eq!(lines(&nameless.iter().collect::<Vec<_>>()).len(), 3);
        let deep: Vec<Value> = (0..20_000)
            .map(|at| span(&at.to_string(), Some(&(at - 1).to_string()), f64::from(at)))
            .collect();
        let shown = lines(&deep.iter().collect::<Vec<_>>());
        assert_eq!(shown.len(), deep.len());
        assert!(shown.iter().all(|line| line.uncoloured().len() < 200));
    }

    #[test]
    fn long_names_are_cut() {
        let line = line(&span(&"x".repeat(66_000), None, 1.0)).uncoloured();
        assert!(line.ends_with("x… util 2.0 ms") && line.len() < 300, "{line}");
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
