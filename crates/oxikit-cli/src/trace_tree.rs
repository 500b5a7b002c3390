//! Shows the spans of a trace as a tree.

use std::collections::HashMap;

use oxikit_wire::attribute;
use oxikit_wire::trace::SpanView;
use serde_json::Value;

use super::forest::{Node, Placed, forest};
use super::output::duration;
use super::value_text::{Detail, labelled, labelled_text};
use crate::terminal::{Text, cut};

/// Maximum number of indentation levels. Deeper spans are shown at this level.
const MAX_INDENT: usize = 40;
/// Maximum number of columns of a name. Longer ones are cut.
const MAX_NAME: usize = 256;

/// A span and its position in the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlacedSpan<'a> {
    pub(super) depth: usize,
    pub(super) span: &'a Value,
    /// See [`Placed::is_cyclic`].
    is_cyclic: bool,
}

/// The lines for the entries of a trace (`{"span", "usage"?}`), indented by depth: the name
/// and duration of each span, and below it its input, output and error.
pub(super) fn lines(entries: &[Value], detail: Detail) -> Vec<Text> {
    let spans: Vec<&Value> = entries.iter().map(|entry| &entry["span"]).collect();
    let usages: HashMap<&str, &Value> = entries
        .iter()
        .filter_map(|entry| Some((SpanView(&entry["span"]).id()?, &entry["usage"])))
        .collect();
    let mut lines = Vec::with_capacity(spans.len());
    for PlacedSpan { depth, span, is_cyclic } in ordered(&spans) {
        let indent = 2 * depth.min(MAX_INDENT);
        let view = SpanView(span);
        let usage = view.id().and_then(|id| usages.get(id));
        let text = Text::from(" ".repeat(indent)).then(line(span));
        let text = usage.and_then(|usage| tokens(usage)).into_iter().fold(text, Text::dimmed);
        lines.push(match is_cyclic {
            true => text.yellow(" (its parent is one of the spans below it)"),
            false => text,
        });
        if let Some(prompt) = prompt(view) {
            lines.push(labelled_text(indent + 4, "prompt", &prompt, detail));
        }
        let values = [("input", attribute::INPUT), ("output", attribute::OUTPUT)];
        lines.extend(values.into_iter().filter_map(|(label, name)| {
            labelled(indent + 4, label, &parsed(view.attribute(name)), detail)
        }));
        // The first line of an error is shown after the name.
        if let Some(error) = view.error().filter(|error| error.contains('\n')) {
            lines.push(labelled_text(indent + 4, "error", error, detail));
        }
    }
    lines
}

/// The prompt that a call was made from, such as `dad revision 12 (brief 3, tone 4)`: its id, its
/// revision, and the revisions of the fragments in it. Prompts of files have no revision.
fn prompt(span: SpanView<'_>) -> Option<String> {
    let mut text = span.attribute(attribute::PROMPT_ID).as_str()?.to_owned();
    if let Some(revision) = span.attribute(attribute::PROMPT_REVISION).as_u64() {
        text.push_str(&format!(" revision {revision}"));
    }
    if let Value::Object(fragments) = parsed(span.attribute(attribute::PROMPT_FRAGMENTS)) {
        let fragments = fragments.iter().map(|(id, revision)| format!("{id} {revision}"));
        text.push_str(&format!(" ({})", fragments.collect::<Vec<_>>().join(", ")));
    }
    Some(text)
}

/// The tokens that a call of a model has used.
fn tokens(usage: &Value) -> Option<String> {
    let count = |member: &str| usage[member].as_u64().unwrap_or_default();
    let (total, input, output) =
        (count("totalTokens"), count("inputTokens"), count("outputTokens"));
    let total = if total > 0 { total } else { input + output };
    (total > 0).then(|| format!(" {total} tokens ({input} in, {output} out)"))
}

/// Parses a string that contains JSON, as attributes of spans do. Other values are returned
/// unchanged.
pub(super) fn parsed(value: &Value) -> Value {
    let text = value.as_str();
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// Orders spans as a tree: each after its parent, siblings by their start. Spans without a known
/// parent are roots.
pub(super) fn ordered<'a>(spans: &[&'a Value]) -> Vec<PlacedSpan<'a>> {
    let mut spans = spans.to_vec();
    // Times come from the runtime and may be any number: `total_cmp` orders them all, also NaN.
    spans.sort_by(|left, right| began(left).total_cmp(&began(right)));
    let node =
        |span: &&'a Value| Node { id: SpanView(span).id(), parent: SpanView(span).parent_id() };
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
    SpanView(span).start().unwrap_or_default()
}

/// The name, type, duration and error of a span.
pub(super) fn line(span: &Value) -> Text {
    let view = SpanView(span);
    let name = cut(view.name().unwrap_or("?"), MAX_NAME);
    let kind = cut(view.kind().unwrap_or_default(), MAX_NAME);
    let time = match view.end() {
        Some(end) => duration(end - began(span)),
        None => "running".to_owned(),
    };
    let line = Text::new().bold(name).plain(" ").dimmed(kind).plain(format!(" {time}"));
    match view.error() {
        None => line,
        Some(message) => line.plain(" ").red(message.lines().next().unwrap_or_default()),
    }
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
        let lines = folded(spans);
        assert_eq!(lines.iter().map(Text::uncoloured).collect::<Vec<_>>(), expected);
    }

    fn folded(spans: &[Value]) -> Vec<Text> {
        let entries: Vec<_> = spans.iter().map(|span| json!({"span": span})).collect();
        lines(&entries, Detail::Folded)
    }

    #[test]
    fn values_errors_and_tokens_stand_below_their_span() {
        let mut root = span("root", None, 1.0);
        root["attributes"]["genkit:input"] = json!("{\"city\":\"Rome\"}");
        root["status"] = json!({"code": 2, "message": "no luck\nat line 7"});
        let mut model = span("model", Some("root"), 2.0);
        model["attributes"]["genkit:output"] = json!("no JSON");
        let usage = json!({"inputTokens": 3, "outputTokens": 4, "totalTokens": 7});
        let entries = [json!({"span": root}), json!({"span": model, "usage": usage})];
        let shown =
            |detail| lines(&entries, detail).iter().map(Text::uncoloured).collect::<Vec<_>>();
        let folded = [
            "root util 2.0 ms no luck",
            "    input: {\"city\":\"Rome\"}",
            "    error: no luck at line 7",
            "  model util 2.0 ms 7 tokens (3 in, 4 out)",
            "      output: \"no JSON\"",
        ];
        assert_eq!(shown(Detail::Folded), folded);
        let full = shown(Detail::Full);
        assert_eq!(full[1], "    input: {\n        \"city\": \"Rome\"\n      }");
        assert_eq!(full[2], "    error: no luck\n      at line 7");
        assert_eq!(full[4], "      output: no JSON");
    }

    #[test]
    fn the_prompt_of_a_call_stands_below_it_with_all_revisions() {
        let mut model = span("model", None, 1.0);
        model["attributes"]["oxikit:prompt:id"] = json!("dad");
        check(&[model.clone()], &["model util 2.0 ms", "    prompt: dad"]);
        model["attributes"]["oxikit:prompt:revision"] = json!(12);
        model["attributes"]["oxikit:prompt:fragments"] = json!(r#"{"brief":3,"tone":4}"#);
        let shown = "    prompt: dad revision 12 (brief 3, tone 4)";
        check(&[model], &["model util 2.0 ms", shown]);
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
        assert_eq!(folded(&same).len(), 3);
        let nameless = [json!({}), json!(null), json!({"startTime": 1e308, "endTime": 1e-308})];
        assert_eq!(folded(&nameless).len(), 3);
        let deep: Vec<Value> = (0..20_000)
            .map(|at| span(&at.to_string(), Some(&(at - 1).to_string()), f64::from(at)))
            .collect();
        let shown = folded(&deep);
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
        check(&[failed], &["a util 2.0 ms no luck", "    error: no luck at line 7"]);
        let mut running = span("a", None, 1.0);
        running["endTime"] = json!(0);
        check(&[running], &["a util running"]);
    }

    #[test]
    fn text_that_is_json_is_read() {
        assert_eq!(parsed(&json!("{\"a\":1}")), json!({"a": 1}));
        assert_eq!(parsed(&json!("hello")), json!("hello"));
        assert_eq!(parsed(&json!(null)), json!(null));
    }
}
