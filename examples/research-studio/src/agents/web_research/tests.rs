use crate::agents::testing::OneAgent;
use crate::records::{AgentName, Findings};
use oxikit::client::a2a::OutgoingMessage;

#[tokio::test]
async fn findings_cite_their_sources_and_are_streamed() {
    let agent = OneAgent::start(AgentName::WebResearch).await;
    let answer = agent.send("What do home batteries cost?").await;
    let findings: Findings = answer.data("findings");
    assert!(findings.sources.iter().any(|source| source.url.ends_with("/pages/home-batteries")), "{findings:?}");
    assert!(findings.summary.contains("[1]"), "{}", findings.summary);
    assert_eq!(answer.reply.artifact("answer").unwrap().text(), findings.summary);
    assert!(answer.chunks > 5, "{} chunks", answer.chunks);
    assert_eq!(answer.progress[0], "searching the web");
}

#[tokio::test]
async fn a_short_question_continues_the_conversation() {
    let agent = OneAgent::start(AgentName::WebResearch).await;
    let first = agent.send("?").await;
    assert_eq!(first.question(), ("input-required".to_owned(), "What shall I search for?"));
    let second = agent.send(OutgoingMessage::new("home batteries").follow(&first.reply)).await;
    let third = agent.send(OutgoingMessage::new("safety?").follow(&second.reply)).await;
    let findings: Findings = third.data("findings");
    assert!(!findings.sources.is_empty());
    assert_eq!(third.reply.context_id(), first.reply.context_id());
}

#[tokio::test]
async fn the_card_says_what_the_agent_can_do() {
    let card = OneAgent::start(AgentName::WebResearch).await.card();
    assert_eq!((card.name.as_str(), card.version.as_str()), ("Web research", "0.1.0"));
    assert_eq!(card.provider.map(|it| it.organization).as_deref(), Some("oxikit"));
    assert_eq!(card.capabilities.streaming, Some(true));
    assert_eq!(card.skills[0].tags, ["research", "web", "citations"]);
    assert_eq!(card.skills[0].examples, ["What do home batteries cost?"]);
    assert_eq!(card.default_input_modes, ["text/plain", "application/json"]);
}
