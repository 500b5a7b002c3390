use std::collections::{BTreeMap, BTreeSet};

use oxikit::SpanRecord;
use oxikit::client::a2a::A2aClient;
use research_studio::records::AgentName;
use research_studio::{Settings, Studio};

use crate::spans::Spans;

#[tokio::test]
async fn one_trace_shows_the_whole_tree_across_agents() {
    let studio = Studio::start_all(Settings::default()).await.unwrap();
    let spans = Spans::of(&studio.app);
    let orchestrator = studio.url(AgentName::Orchestrator).unwrap();
    let client = A2aClient::connect(orchestrator).await.unwrap();
    client.send("Are home batteries worth their price?").await.unwrap();

    let spans = spans.all();
    let traces: BTreeSet<String> = spans.iter().map(|span| span.trace_id.to_string()).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    let by_id: BTreeMap<_, _> = spans.iter().map(|span| (span.span_id.to_string(), span)).collect();
    let path = |span: &SpanRecord| {
        let mut names = vec![span.name.clone()];
        let mut parent = span.parent_span_id;
        while let Some(above) = parent.and_then(|id| by_id.get(&id.to_string())) {
            names.push(above.name.clone());
            parent = above.parent_span_id;
        }
        names.reverse();
        names
    };
    // Every span hangs below the orchestrator, and each specialist below the step that called it.
    for span in &spans {
        assert_eq!(path(span)[0], "orchestrator", "{:?}", path(span));
    }
    for (agent, model) in [("webResearch", true), ("newsResearch", true), ("dataAnalysis", true)] {
        let below = |span: &&SpanRecord| {
            let path = path(span);
            let step = path.iter().position(|name| *name == format!("delegate to {agent}"));
            let agent = path.iter().position(|name| name == agent);
            step.is_some() && step < agent && path.iter().any(|name| name == "offline/studio")
        };
        assert_eq!(spans.iter().any(|span| below(&span)), model, "{agent}");
    }
}
