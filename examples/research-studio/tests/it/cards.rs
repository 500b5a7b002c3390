use oxikit::Secret;
use oxikit::client::a2a::{A2aClient, card_problems};
use research_studio::records::{AgentName, Report};
use research_studio::{Settings, Studio};

#[tokio::test]
async fn every_agent_has_a_card_without_problems() {
    let studio = Studio::start_all(Settings::default()).await.unwrap();
    for (name, url) in &studio.agents {
        let found = A2aClient::builder(url).read_card().await.unwrap();
        assert_eq!(found.url, format!("{url}/.well-known/agent-card.json"));
        assert_eq!(found.card.name, name.title());
        assert!(!found.card.skills[0].tags.is_empty() && !found.card.skills[0].examples.is_empty());
        let value: serde_json::Value = serde_json::from_slice(&found.json).unwrap();
        assert_eq!(value["protocolVersion"], "0.3.0");
        assert_eq!(card_problems(&found).unwrap(), [] as [String; 0], "{name}");
    }
}

#[tokio::test]
async fn with_a_key_cards_declare_it_and_agents_demand_it_of_each_other() {
    let key = Secret::new("a long and secret key".to_owned());
    let studio = Studio::start_all(Settings { api_key: Some(key), ..Settings::default() }).await;
    let studio = studio.unwrap();
    let url = studio.url(AgentName::Orchestrator).unwrap();
    let stranger = A2aClient::connect(url).await.unwrap();
    let scheme = stranger.card().security_schemes.into_values().next().unwrap();
    assert!(format!("{scheme:?}").contains("X-API-Key"), "{scheme:?}");
    assert!(stranger.send("Hello, who are you?").await.is_err());

    let friend = A2aClient::builder(url).api_key("a long and secret key").connect().await.unwrap();
    let reply = friend.send("Are home batteries worth their price?").await.unwrap();
    let report: Report = reply.artifact("report").unwrap().data().unwrap();
    assert_eq!(report.notes, [] as [String; 0]);
}
