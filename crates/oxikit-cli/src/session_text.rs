//! Shows a session as text: its conversation and the tree of its snapshots.

use std::collections::HashSet;

use serde_json::Value;

use super::approval;
use super::forest::{Node, Placed, forest};
use super::output::ago;
use crate::terminal::Text;

/// Maximum number of indentation levels. Deeper branches are shown at this level.
const MAX_INDENT: usize = 20;

/// The status of a session, from its latest snapshot.
pub(super) fn status(session: &Value) -> &'static str {
    match (session["snapshotStatus"].as_str(), session["finishReason"].as_str()) {
        (Some("pending"), _) => "running",
        (Some("expired"), _) => "lost: the process of its turn has stopped reporting",
        (Some("failed"), _) => "failed",
        (Some("aborted"), _) => "stopped",
        (_, Some("interrupted")) => "waits for an answer",
        (None, None) if session["status"] == "active" => "running",
        _ => "completed",
    }
}

/// The messages, the artifacts, the state and the error of a session.
pub(super) fn conversation(details: &Value) -> Vec<Text> {
    let titled = |title: String, text: String| Text::new().bold(title).plain(" ").paragraph(text);
    let mut lines = Vec::new();
    for message in items(&details["threads"]["main"]) {
        let role = message["role"].as_str().unwrap_or("?");
        for part in items(&message["content"]) {
            lines.push(titled(format!("{role}:"), part_text(part)));
        }
    }
    for artifact in items(&details["state"]["artifacts"]) {
        let name = artifact["name"].as_str().unwrap_or("without a name");
        let parts: Vec<_> = items(&artifact["parts"]).map(part_text).collect();
        lines.push(titled(format!("artifact {name}:"), parts.join("\n")));
    }
    if let Some(state) = details["state"].as_object() {
        let state: serde_json::Map<_, _> =
            state.iter().filter(|(name, _)| *name != "artifacts").map(cloned).collect();
        if !state.is_empty() {
            lines.push(titled("state:".to_owned(), Value::Object(state).to_string()));
        }
    }
    if let Some(error) = details["error"]["message"].as_str() {
        lines.push(Text::new().bold_red("failed:").plain(" ").paragraph(error));
    }
    lines
}

fn cloned((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// The text of a part of a message.
fn part_text(part: &Value) -> String {
    if let Some(text) = part["text"].as_str() {
        return text.to_owned();
    }
    if let Some(tool) = part.get("toolRequest") {
        let name = tool["name"].as_str().unwrap_or("?");
        return match part["metadata"].get("interrupt") {
            Some(Value::Null | Value::Bool(false)) | None => {
                format!("calls {name} {}", tool["input"])
            }
            Some(metadata) => {
                let asked = approval::describe(name, &tool["input"], metadata);
                format!("waits for an answer: {asked}")
            }
        };
    }
    if let Some(tool) = part.get("toolResponse") {
        return format!("{} answers {}", tool["name"].as_str().unwrap_or("?"), tool["output"]);
    }
    if let Some(reasoning) = part["reasoning"].as_str() {
        return format!("(thinks) {reasoning}");
    }
    if let Some(media) = part.get("media") {
        return format!("(media) {}", brief(media));
    }
    part.to_string()
}

/// The URL of a medium; for a `data:` URL only its media type.
fn brief(media: &Value) -> &str {
    let url = media["url"].as_str().unwrap_or("?");
    match url.strip_prefix("data:") {
        Some(data) => data.split([';', ',']).next().unwrap_or(url),
        None => url,
    }
}

/// Whether two turns continued from the same snapshot.
pub(super) fn has_branches(details: &Value) -> bool {
    let (mut parents, mut roots) = (HashSet::new(), 0);
    let known: HashSet<_> = items(&details["snapshots"]).filter_map(id).collect();
    items(&details["snapshots"]).any(|snapshot| match parent(snapshot, &known) {
        Some(parent) => !parents.insert(parent),
        None => {
            roots += 1;
            roots > 1
        }
    })
}

/// One line per snapshot, in the order of the turns. Only branches are indented. A star marks
/// the latest snapshot.
pub(super) fn tree<'a>(details: &'a Value) -> Vec<Text> {
    let snapshots: Vec<&'a Value> = items(&details["snapshots"]).collect();
    let known: HashSet<_> = snapshots.iter().filter_map(|snapshot| id(snapshot)).collect();
    let node =
        |snapshot: &&'a Value| Node::<'a> { id: id(snapshot), parent: parent(snapshot, &known) };
    let nodes: Vec<Node<'_>> = snapshots.iter().map(node).collect();
    let depth_below = |depth: Option<usize>, children: usize| {
        depth.unwrap_or_default() + usize::from(children > 1)
    };
    let line = |Placed { index, depth, is_cyclic }: Placed| {
        let snapshot = snapshots[index];
        let mark = if snapshot["snapshotId"] == details["snapshotId"] { '*' } else { ' ' };
        let indent = "  ".repeat(depth.min(MAX_INDENT));
        let line = described(Text::from(format!("{mark} {indent}")), snapshot);
        match is_cyclic {
            true => line.yellow(" (its parent is one of the snapshots below it)"),
            false => line,
        }
    };
    forest(&nodes, depth_below).into_iter().map(line).collect()
}

fn described(text: Text, snapshot: &Value) -> Text {
    let messages = snapshot["messageCount"].as_u64().unwrap_or_default();
    let written = snapshot["createdAt"].as_f64().map(ago).unwrap_or_default();
    let mut state = vec![snapshot["status"].as_str().unwrap_or("?")];
    state.extend(snapshot["finishReason"].as_str().filter(|it| !matches!(*it, "stop" | "failed")));
    let id = id(snapshot).unwrap_or("?");
    let state = state.join(", ");
    text.plain(format!("{id}  {state}, {messages} messages, ")).dimmed(written)
}

fn id(snapshot: &Value) -> Option<&str> {
    snapshot["snapshotId"].as_str()
}

/// The parent, if it is another known snapshot.
fn parent<'a>(snapshot: &'a Value, known: &HashSet<&str>) -> Option<&'a str> {
    let parent = snapshot["parentId"].as_str()?;
    (known.contains(parent) && snapshot["snapshotId"] != parent).then_some(parent)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plain(lines: Vec<Text>) -> Vec<String> {
        lines.iter().map(Text::uncoloured).collect()
    }

    #[test]
    fn a_conversation_can_be_read() {
        let details = json!({
            "threads": {"main": [
                {"role": "user", "content": [{"text": "Pay 12."}, {"media": {"url": "data:image/png;base64,AAAA"}}]},
                {"role": "model", "content": [{"reasoning": "hm"}, {"toolRequest": {"name": "order", "input": {"n": 1}}}]},
                {"role": "tool", "content": [{"toolResponse": {"name": "order", "output": "1 on it"}}]},
                {"role": "model", "content": [{"toolRequest": {"name": "pay", "input": 12},
                    "metadata": {"interrupt": {"question": "Really?"}}}]},
            ]},
            "state": {"items": ["tea"], "artifacts": [{"name": "bill", "parts": [{"text": "12 euros"}]}]},
            "error": {"message": "no luck"},
        });
        let expected = [
            "user: Pay 12.",
            "user: (media) image/png",
            "model: (thinks) hm",
            r#"model: calls order {"n":1}"#,
            r#"tool: order answers "1 on it""#,
            "model: waits for an answer: pay 12: Really?",
            "artifact bill: 12 euros",
            r#"state: {"items":["tea"]}"#,
            "failed: no luck",
        ];
        assert_eq!(plain(conversation(&details)), expected);
    }

    fn session(latest: &str, snapshots: &[(&str, Option<&str>)]) -> Value {
        let snapshot = |(id, parent): &(&str, Option<&str>)| {
            json!({"snapshotId": id, "parentId": parent, "status": "completed",
                "finishReason": "stop", "messageCount": 2})
        };
        let snapshots: Vec<_> = snapshots.iter().map(snapshot).collect();
        json!({"snapshotId": latest, "snapshots": snapshots})
    }

    #[track_caller]
    fn check(details: &Value, branches: bool, expected: &[&str]) {
        let ids = plain(tree(details));
        let ids: Vec<_> =
            ids.iter().map(|line| line.split("  completed").next().unwrap()).collect();
        assert_eq!(ids, expected);
        assert_eq!(has_branches(details), branches);
    }

    #[test]
    fn only_branches_are_indented() {
        check(&session("b", &[("a", None), ("b", Some("a"))]), false, &["  a", "* b"]);
        let forked =
            [("a", None), ("b", Some("a")), ("c", Some("a")), ("d", Some("c")), ("e", Some("b"))];
        check(&session("e", &forked), true, &["  a", "    b", "*   e", "    c", "    d"]);
        check(&session("b", &[("a", None), ("b", None)]), true, &["    a", "*   b"]);
    }

    #[test]
    fn odd_parents_do_no_harm() {
        check(&session("a", &[("a", Some("a")), ("b", Some("a"))]), false, &["* a", "  b"]);
        check(&session("a", &[("a", Some("gone"))]), false, &["* a"]);
        check(&session("a", &[("a", Some("b")), ("b", Some("a"))]), false, &["* a", "  b"]);
        let tree = plain(tree(&session("a", &[("a", Some("b")), ("b", Some("a"))])));
        assert!(tree[0].ends_with("(its parent is one of the snapshots below it)"), "{tree:?}");
        assert!(!tree[1].contains("its parent"), "{tree:?}");
    }

    #[test]
    fn the_status_comes_from_the_latest_snapshot() {
        for (session, expected) in [
            (json!({"status": "active", "snapshotStatus": "pending"}), "running"),
            (
                json!({"snapshotStatus": "completed", "finishReason": "interrupted"}),
                "waits for an answer",
            ),
            (json!({"snapshotStatus": "failed", "finishReason": "failed"}), "failed"),
            (json!({"status": "active"}), "running"),
            (
                json!({"status": "completed", "snapshotStatus": "completed", "finishReason": "stop"}),
                "completed",
            ),
        ] {
            assert_eq!(status(&session), expected, "{session}");
        }
    }
}
