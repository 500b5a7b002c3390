//! The twelve flows over Action HTTP, called by the client of the library.

use oxikit::StatusCode;
use oxikit::client::RemoteAction;
use research_studio::flows::{Analysis, Answer, Indexed, Recipe, WeatherReport};
use research_studio::records::{Findings, Plan, Report};
use research_studio::{Settings, Studio};
use serde_json::{Value, json};

struct Flows {
    url: String,
    _studio: Studio,
}

impl Flows {
    async fn start() -> Self {
        let studio = Studio::start_all(Settings::default()).await.unwrap();
        let server = studio.flow_server().unwrap().bind().await.unwrap();
        let url = format!("http://{}", server.local_addr().unwrap());
        tokio::spawn(server.run(std::future::pending()));
        Self { url, _studio: studio }
    }

    fn flow(&self, name: &str) -> RemoteAction {
        RemoteAction::new(&format!("{}/{name}", self.url)).unwrap()
    }

    async fn run<T: serde::de::DeserializeOwned + 'static>(&self, name: &str, input: Value) -> T {
        self.flow(name).run(&input).await.unwrap()
    }

    async fn refusal(&self, name: &str, input: Value) -> (StatusCode, String) {
        let status = self.flow(name).run::<Value>(&input).await.unwrap_err();
        (status.code(), status.message().to_owned())
    }
}

#[tokio::test]
async fn plans_and_research_are_typed() {
    let flows = Flows::start().await;
    let question = json!({ "question": "What do home batteries cost?" });
    let plan: Plan = flows.run("planning", question.clone()).await;
    assert_eq!(plan.steps.len(), 5);
    for flow in ["webResearch", "academicResearch", "newsResearch"] {
        let findings: Findings = flows.run(flow, question.clone()).await;
        assert!(!findings.sources.is_empty() && findings.summary.contains("[1]"), "{flow}");
    }
    let expected = "the question is empty: write what you want to know".to_owned();
    let refused = flows.refusal("webResearch", json!({ "question": " " })).await;
    assert_eq!(refused, (StatusCode::InvalidArgument, expected));
    let (code, _) = flows.refusal("webResearch", json!({ "query": "batteries" })).await;
    assert_eq!(code, StatusCode::InvalidArgument);
}

#[tokio::test]
async fn orchestration_streams_its_progress() {
    let flows = Flows::start().await;
    let input = json!({ "question": "Are home batteries worth their price?" });
    let mut stream = flows.flow("orchestration").stream::<String, Report>(&input).await.unwrap();
    let mut lines = Vec::new();
    while let Some(line) = stream.next().await {
        lines.push(line.unwrap());
    }
    let report = stream.finish().await.unwrap();
    assert!(lines.iter().any(|line| line == "Web research: searching the web"), "{lines:?}");
    assert!(report.citations.len() >= 5);
    let (code, text) = flows.refusal("orchestration", json!({ "question": "Batteries" })).await;
    assert_eq!(code, StatusCode::FailedPrecondition);
    assert_eq!(
        text,
        "the agent `orchestrator` needs an answer first: What exactly do you want to know about it?"
    );
}

#[tokio::test]
async fn documents_are_indexed_and_answer_questions() {
    let flows = Flows::start().await;
    let question = json!({ "question": "When does the installer check the connections?" });
    let refused = flows.refusal("askDocuments", question.clone()).await;
    assert_eq!(refused.0, StatusCode::FailedPrecondition);
    let indexed: Indexed = flows.run("indexDocuments", json!({})).await;
    assert_eq!(indexed.documents, 3);
    let again: Indexed = flows.run("indexDocuments", json!({})).await;
    assert_eq!(again, indexed);
    let answer: Answer = flows.run("askDocuments", question).await;
    assert!(answer.text.contains("in May, the installer checks the connections"), "{answer:?}");
    assert_eq!(answer.sources[0], "document:handbook.md");
    let (code, _) = flows.refusal("indexDocuments", json!({ "folder": "../.." })).await;
    assert_eq!(code, StatusCode::InvalidArgument);
}

#[tokio::test]
async fn the_other_flows_answer() {
    let flows = Flows::start().await;
    let weather: WeatherReport = flows.run("weather", json!({ "city": "lisbon" })).await;
    assert_eq!((weather.measured.city.as_str(), weather.measured.temperature), ("Lisbon", 18.0));
    assert!(weather.text.contains("tool `weather` answered"), "{}", weather.text);
    let refused = flows.refusal("weather", json!({ "city": "Atlantis" })).await;
    let expected = "the city `Atlantis` is not known to the weather service".to_owned();
    assert_eq!(refused, (StatusCode::NotFound, expected));

    let recipe: Recipe = flows.run("recipe", json!({ "ingredients": ["rice", "peas"] })).await;
    assert!(!recipe.title.is_empty() && !recipe.steps.is_empty());
    let data = json!({ "question": "Does the price fall?", "data": "month,price\n1,10\n2,8" });
    let analysis: Analysis = flows.run("dataAnalysis", data).await;
    assert_eq!(analysis.series[1].trend, -2.0);
    let edit = json!({ "task": "Make it friendlier", "text": "The invoice is late." });
    let text: String = flows.run("contentEditing", edit).await;
    assert_eq!(text, "The invoice is late. [1]");
}

#[tokio::test]
async fn coding_streams_the_program() {
    let flows = Flows::start().await;
    let input = json!({ "task": "sort a list in Python" });
    let mut stream = flows.flow("coding").stream::<String, String>(&input).await.unwrap();
    let mut pieces = Vec::new();
    while let Some(piece) = stream.next().await {
        pieces.push(piece.unwrap());
    }
    assert!(pieces.len() > 3);
    assert_eq!(stream.finish().await.unwrap(), pieces.concat());
}
