//! A question in, a report with citations out; agents that fail on the way.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use oxikit::client::a2a::{A2aClient, A2aReply, OutgoingMessage, StreamResponse, TaskState};
use oxikit::outgoing::Url;
use research_studio::records::{AgentName, Plan, Report};
use research_studio::settings::{Patience, Services};
use research_studio::{Settings, Studio};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::Notify;

const QUESTION: &str = "Are home batteries worth their price?";

/// A search service that never answers, and tells when it was asked.
struct StuckSearch {
    url: Url,
    asked: Arc<Notify>,
}

impl StuckSearch {
    async fn start() -> Self {
        let asked = Arc::new(Notify::new());
        let notify = asked.clone();
        let search = get(move || {
            notify.notify_one();
            std::future::pending::<()>()
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}/search", listener.local_addr().unwrap());
        tokio::spawn(axum::serve(listener, Router::new().route("/search", search)).into_future());
        Self { url: Url::parse(&url).unwrap(), asked }
    }
}

/// A web research agent in a process of its own, whose search never answers.
async fn agent_process(search: &StuckSearch) -> (Child, String, TempDir) {
    let data = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_research-studio"))
        .args(["--only", "webResearch", "--port", "0"])
        .env("STUDIO_SEARCH_URL", search.url.as_str())
        .env("STUDIO_MODEL", "offline/studio")
        .env("STUDIO_DATA", data.path())
        .env_remove("DATABASE_URL")
        .env_remove("GENKIT_ENV")
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        if let Some((_, url)) = line.split_once("webResearch ") {
            return (child, url.trim().to_owned(), data);
        }
    }
    panic!("the agent did not start");
}

fn quick() -> Patience {
    Patience { pause: Duration::from_millis(10), ..Patience::default() }
}

fn report(reply: &A2aReply) -> Report {
    reply.artifact("report").and_then(|artifact| artifact.data()).expect("there is a report")
}

fn urls(report: &Report) -> impl Iterator<Item = &str> {
    report.citations.iter().filter_map(|citation| citation.url.as_deref())
}

/// Fails if the text has a number in brackets that is not in the list of sources.
fn check_citations(report: &Report) {
    let (text, _) = report.markdown.split_once("## Sources").unwrap();
    let inside = text.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    for number in inside.filter_map(|(number, _)| number.parse::<usize>().ok()) {
        let is_listed = report.citations.iter().any(|citation| citation.number == number);
        assert!(is_listed && report.markdown.contains(&format!("\n{number}. ")), "[{number}]");
    }
}

async fn orchestrator(studio: &Studio) -> A2aClient {
    A2aClient::connect(studio.url(AgentName::Orchestrator).unwrap()).await.unwrap()
}

#[tokio::test]
async fn four_agents_bring_a_report_with_citations() {
    let studio = Studio::start_all(Settings::default()).await.unwrap();
    let mut stream = orchestrator(&studio).await.send_stream(QUESTION).await.unwrap();
    let (mut progress, mut chunks) = (Vec::new(), 0);
    while let Some(event) = stream.next().await {
        match event.unwrap() {
            StreamResponse::StatusUpdate(update) => {
                progress.extend(update.status.message.map(|message| message.text()));
            }
            StreamResponse::ArtifactUpdate(update)
                if update.artifact.name.as_deref() == Some("answer") =>
            {
                chunks += 1;
            }
            _ => {}
        }
    }
    let reply = stream.finish().await.unwrap();
    let plan: Plan = reply.artifact("plan").unwrap().data().unwrap();
    assert_eq!(plan, Plan::standard(QUESTION));
    let report = report(&reply);
    assert_eq!(report.notes, [] as [String; 0]);
    let urls: Vec<_> = urls(&report).map(|url| url.rsplit('/').next().unwrap()).collect();
    for url in ["home-batteries", "paper-lfp-ageing", "news-prices"] {
        assert!(urls.contains(&url), "{urls:?}");
    }
    assert!(report.markdown.contains("[1]"));
    check_citations(&report);
    assert_eq!(reply.artifact("answer").unwrap().text(), report.markdown);
    assert!(chunks > 2, "{chunks} chunks");
    for line in [
        "Planning: planning",
        "delegating to Web research, Academic research, News research, Data analysis",
        "News research: reading the news",
        "writing the report",
    ] {
        assert!(progress.iter().any(|it| it == line), "{line} is not in {progress:?}");
    }
}

#[tokio::test]
async fn an_agent_that_is_killed_at_work_is_replaced() {
    let search = StuckSearch::start().await;
    let (mut child, url, _data) = agent_process(&search).await;
    let mut settings = Settings { patience: quick(), ..Settings::default() };
    settings.agent_urls.insert(AgentName::WebResearch, url);
    let others = AgentName::ALL.into_iter().filter(|name| *name != AgentName::WebResearch);
    let studio = Studio::start(settings, &others.collect::<Vec<_>>()).await.unwrap();
    let client = orchestrator(&studio).await;
    let answer = tokio::spawn(async move { client.send(QUESTION).await });

    search.asked.notified().await;
    child.kill().await.unwrap();

    let reply = answer.await.unwrap().unwrap();
    assert_eq!(reply.state(), Some(TaskState::Completed));
    let report = report(&reply);
    assert_eq!(report.notes, ["Web research could not be reached; News research took its step."]);
    assert!(urls(&report).any(|url| url.ends_with("/pages/news-prices")));
    assert!(urls(&report).any(|url| url.ends_with("/pages/paper-lfp-ageing")));
}

/// Reads the state of the only task of an agent until it is this one.
async fn until(studio: &Studio, agent: AgentName, state: TaskState) {
    let client = A2aClient::connect(studio.url(agent).unwrap()).await.unwrap();
    let tasks = client.list_tasks(Default::default()).await.unwrap().tasks;
    let mut events = client.subscribe(&tasks[0].id).await.unwrap();
    while let Some(event) = events.next().await {
        let found = match event.unwrap() {
            StreamResponse::Task(task) => task.status.state,
            StreamResponse::StatusUpdate(update) => update.status.state,
            _ => continue,
        };
        if found == state {
            return;
        }
    }
    panic!("the task of {agent} is not {state}");
}

#[tokio::test]
async fn a_step_that_takes_too_long_is_canceled() {
    let search = StuckSearch::start().await;
    let services = Services { search: Some(search.url.clone()), ..Services::default() };
    let patience = Patience { last_step: Duration::from_millis(50), ..quick() };
    let studio =
        Studio::start_all(Settings { services, patience, ..Settings::default() }).await.unwrap();
    let reply = orchestrator(&studio).await.send(QUESTION).await.unwrap();
    assert_eq!(report(&reply).notes, ["Web research took too long and was canceled."]);
    studio.app.background.close();
    canceled(&studio, AgentName::WebResearch).await;
}

#[tokio::test]
async fn canceling_the_orchestrator_cancels_its_team() {
    let search = StuckSearch::start().await;
    let services = Services { search: Some(search.url.clone()), ..Services::default() };
    let studio = Studio::start_all(Settings { services, ..Settings::default() }).await.unwrap();
    let client = orchestrator(&studio).await;
    let task = client.send(OutgoingMessage::new(QUESTION).return_immediately()).await.unwrap();
    search.asked.notified().await;
    let id = &task.task().unwrap().id;
    assert_eq!(client.cancel(id).await.unwrap().status.state, TaskState::Canceled);
    canceled(&studio, AgentName::WebResearch).await;
}

/// Waits until the only task of an agent is canceled.
async fn canceled(studio: &Studio, agent: AgentName) {
    let client = A2aClient::connect(studio.url(agent).unwrap()).await.unwrap();
    let tasks = client.list_tasks(Default::default()).await.unwrap().tasks;
    if tasks[0].status.state != TaskState::Canceled {
        until(studio, agent, TaskState::Canceled).await;
    }
}

#[tokio::test]
async fn the_question_of_the_planning_agent_is_passed_on() {
    let studio = Studio::start_all(Settings::default()).await.unwrap();
    let client = orchestrator(&studio).await;
    let asked = client.send("Batteries").await.unwrap();
    assert_eq!(asked.state(), Some(TaskState::InputRequired));
    assert_eq!(asked.text(), "What exactly do you want to know about it?");
    let message = OutgoingMessage::new("price at home").follow(&asked);
    let reply = client.send(message).await.unwrap();
    assert_eq!(report(&reply).question, "Batteries price at home");
}
