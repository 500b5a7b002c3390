use oxikit::client::a2a::{OutgoingMessage, Part};
use serde_json::json;

use crate::agents::testing::OneAgent;
use crate::records::{AgentName, EditRequest, Source};

#[tokio::test]
async fn an_article_cites_the_passages_by_number() {
    let source = |title: &str, excerpt: &str| Source {
        title: title.to_owned(),
        url: format!("https://example.com/{title}"),
        excerpt: excerpt.to_owned(),
    };
    let request = EditRequest {
        question: "What do batteries cost?".to_owned(),
        sources: vec![source("a", "Batteries cost 410 euros."), source("b", "Old batteries cost more.")],
        notes: Vec::new(),
    };
    let agent = OneAgent::start(AgentName::ContentEditor).await;
    let message = OutgoingMessage::new("Write").part(Part::data(json!(request)));
    let article = agent.send(message).await.reply.artifact("answer").unwrap().text();
    assert_eq!(article, "Batteries cost 410 euros. [1] Old batteries cost more. [2]");
}

#[tokio::test]
async fn the_last_text_of_the_conversation_is_edited_again() {
    let agent = OneAgent::start(AgentName::ContentEditor).await;
    let asked = agent.send("Shorter, please").await;
    assert_eq!(asked.question().0, "input-required");
    let message = OutgoingMessage::new("Friendlier: the invoice is late.").follow(&asked.reply);
    let first = agent.send(message).await;
    assert!(first.reply.artifact("answer").unwrap().text().contains("the invoice is late"));
    let second = agent.send(OutgoingMessage::new("Shorter, please").follow(&first.reply)).await;
    assert!(second.reply.artifact("answer").unwrap().text().contains("the invoice is late"));
}
