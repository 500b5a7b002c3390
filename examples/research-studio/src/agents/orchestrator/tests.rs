use oxikit::client::a2a::OutgoingMessage;

use crate::agents::testing::OneAgent;
use crate::records::{AgentName, Report};

/// Alone, without any of its agents.
#[tokio::test]
async fn without_a_team_the_report_says_so() {
    let agent = OneAgent::start(AgentName::Orchestrator).await;
    let answer = agent.send("Are home batteries worth their price?").await;
    let report: Report = answer.data("report");
    assert!(report.markdown.contains("No agent has found anything about this question."));
    assert_eq!(report.citations, []);
    assert_eq!(
        report.notes[0],
        "Web research has brought no result: the agent `academicResearch` cannot be reached; is it running?"
    );
    assert_eq!(report.notes.len(), 6);
}

#[tokio::test]
async fn an_empty_question_is_asked_back() {
    let agent = OneAgent::start(AgentName::Orchestrator).await;
    let answer = agent.send(OutgoingMessage::new(" ")).await;
    assert_eq!(answer.question(), ("input-required".to_owned(), "What shall we research?"));
}
