use oxikit::client::a2a::OutgoingMessage;
use serde_json::Value;

use super::language_of;
use crate::agents::testing::OneAgent;
use crate::records::AgentName;

#[tokio::test]
async fn the_language_is_asked_once_and_remembered() {
    let agent = OneAgent::start(AgentName::Coder).await;
    let asked = agent.send("Sort a list").await;
    assert_eq!(asked.question().0, "input-required");
    let rust = agent.send(OutgoingMessage::new("In Rust").follow(&asked.reply)).await;
    let program: Value = rust.data("program");
    assert_eq!(program["file"], "program.rs");
    assert_eq!(program["text"], rust.reply.artifact("answer").unwrap().text());
    assert!(program["text"].as_str().unwrap().contains("Sort a list"));
    assert_eq!(rust.progress.last().map(String::as_str), Some("writing Rust"));
    let more = agent.send(OutgoingMessage::new("Now reverse it").follow(&rust.reply)).await;
    assert!(more.reply.text().contains("Now reverse it"));
    assert!(more.chunks > 3, "{} chunks", more.chunks);
}

#[test]
fn languages_are_whole_words() {
    let check = |text: &str, expected: Option<&str>| assert_eq!(language_of(text), expected, "{text}");
    check("sort a list in rust", Some("Rust"));
    check("Where does the time go?", None);
    check("A server in Go", Some("Go"));
    check("trusty JavaScript", Some("JavaScript"));
}
