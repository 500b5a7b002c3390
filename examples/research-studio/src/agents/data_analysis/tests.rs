use oxikit::client::a2a::{OutgoingMessage, Part};
use serde_json::json;

use crate::agents::testing::OneAgent;
use crate::records::AgentName;
use crate::tools::numbers::Series;

#[tokio::test]
async fn a_table_is_analysed_and_remembered() {
    let agent = OneAgent::start(AgentName::DataAnalysis).await;
    let first = agent.send("month,price\n1,10\n2,8\n3,6").await;
    let series: Vec<Series> = first.data("analysis");
    assert_eq!((series[1].name.as_str(), series[1].mean, series[1].trend), ("price", 8.0, -2.0));
    let second = agent.send(OutgoingMessage::new("And the price?").follow(&first.reply)).await;
    assert_eq!(second.data::<Vec<Series>>("analysis"), series);
    assert!(second.reply.text().contains("price: 3 values from 6 to 10"));
}

#[tokio::test]
async fn numbers_of_sources_are_series_with_their_titles() {
    let agent = OneAgent::start(AgentName::DataAnalysis).await;
    let sources = json!([
        { "title": "Prices", "url": "https://a.example", "excerpt": "From 500 to 410 euros." },
        { "title": "Words", "url": "https://b.example", "excerpt": "Nothing to count." },
    ]);
    let answer = agent.send(OutgoingMessage::new("Prices?").part(Part::data(sources))).await;
    let series: Vec<Series> = answer.data("analysis");
    assert_eq!(series.len(), 1);
    assert_eq!((series[0].name.as_str(), series[0].max), ("Prices", 500.0));
}

#[tokio::test]
async fn tables_of_the_documents_are_analysed() {
    let agent = OneAgent::start(AgentName::DataAnalysis).await;
    let tables = Part::data(json!({ "folder": "" }));
    let answer = agent.send(OutgoingMessage::new("Solar?").part(tables)).await;
    let series: Vec<Series> = answer.data("analysis");
    let names: Vec<_> = series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["month", "solar", "used", "fed"]);
    assert_eq!(series[1].max, 910.0);
}

#[tokio::test]
async fn without_numbers_it_asks() {
    let agent = OneAgent::start(AgentName::DataAnalysis).await;
    let answer = agent.send("Please analyse").await;
    let (state, text) = answer.question();
    assert_eq!(state, "input-required");
    assert!(text.starts_with("Which numbers shall I analyse?"));
}
