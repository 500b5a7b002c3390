use crate::agents::testing::OneAgent;
use crate::records::{AgentName, Findings};
use oxikit::client::a2a::OutgoingMessage;

#[tokio::test]
async fn findings_cite_their_sources_and_are_streamed() {
    let agent = OneAgent::start(AgentName::NewsResearch).await;
    let answer = agent.send("What is new about prices of home batteries?").await;
    let findings: Findings = answer.data("findings");
    assert!(findings.sources.iter().any(|source| source.url.ends_with("/pages/news-prices")), "{findings:?}");
    assert!(findings.summary.contains("[1]"), "{}", findings.summary);
    assert_eq!(answer.reply.artifact("answer").unwrap().text(), findings.summary);
    assert!(answer.chunks > 5, "{} chunks", answer.chunks);
    assert_eq!(answer.progress[0], "reading the news");
}

#[tokio::test]
async fn a_short_question_continues_the_conversation() {
    let agent = OneAgent::start(AgentName::NewsResearch).await;
    let first = agent.send("?").await;
    assert_eq!(first.question(), ("input-required".to_owned(), "Which news do you want to know?"));
    let second = agent.send(OutgoingMessage::new("home batteries").follow(&first.reply)).await;
    let third = agent.send(OutgoingMessage::new("safety?").follow(&second.reply)).await;
    let findings: Findings = third.data("findings");
    assert!(!findings.sources.is_empty());
    assert_eq!(third.reply.context_id(), first.reply.context_id());
}
