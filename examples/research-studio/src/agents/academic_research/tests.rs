use crate::agents::testing::OneAgent;
use crate::records::{AgentName, Findings};
use oxikit::client::a2a::OutgoingMessage;

#[tokio::test]
async fn findings_cite_their_sources_and_are_streamed() {
    let agent = OneAgent::start(AgentName::AcademicResearch).await;
    let answer = agent.send("How fast do home batteries age?").await;
    let findings: Findings = answer.data("findings");
    assert!(findings.sources.iter().any(|source| source.url.ends_with("/pages/paper-lfp-ageing")), "{findings:?}");
    assert!(findings.summary.contains("[1]"), "{}", findings.summary);
    assert_eq!(answer.reply.artifact("answer").unwrap().text(), findings.summary);
    assert!(answer.chunks > 5, "{} chunks", answer.chunks);
    assert_eq!(answer.progress[0], "searching papers");
}

#[tokio::test]
async fn a_short_question_continues_the_conversation() {
    let agent = OneAgent::start(AgentName::AcademicResearch).await;
    let first = agent.send("?").await;
    assert_eq!(first.question(), ("input-required".to_owned(), "Which subject shall the papers be about?"));
    let second = agent.send(OutgoingMessage::new("home batteries").follow(&first.reply)).await;
    let third = agent.send(OutgoingMessage::new("safety?").follow(&second.reply)).await;
    let findings: Findings = third.data("findings");
    assert!(!findings.sources.is_empty());
    assert_eq!(third.reply.context_id(), first.reply.context_id());
}
