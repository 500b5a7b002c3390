//! The cases, which are the same for both databases.

use anyhow::{Context, Result, ensure};
use oxikit::client::a2a::{A2aClient, OutgoingMessage, TaskState};
use oxikit::mcp::McpClient;
use oxikit::wire::JsonObject;
use oxikit::{Secret, StatusCode};
use research_studio::records::AgentName;
use research_studio::settings::{StoreSetting, ToolboxSetting};
use research_studio::{Settings, Studio};
use serde_json::{Value, json};

use crate::server::Toolbox;

/// Texts that would change the statement if they became a part of it.
const INJECTIONS: [&str; 5] = [
    "'; DROP TABLE papers; --",
    "' OR '1'='1",
    "x'); DELETE FROM papers; --",
    "\"; DROP TABLE notes; --",
    "$1 \\ %s {{.text}} \u{0}",
];

/// Runs all cases, and returns the number of those that failed.
pub(crate) async fn run(database: &str, toolbox: &Toolbox) -> u32 {
    let results = [
        ("tools are loaded with schemas, hints and prompts", loaded(toolbox).await),
        ("an agent calls seven tools", agent(toolbox).await),
        ("SQL in arguments stays data", injections(toolbox).await),
        ("errors are reported", errors(toolbox).await),
        ("a studio loads one set of tools", toolset(toolbox).await),
    ];
    crate::report(database, results)
}

async fn loaded(toolbox: &Toolbox) -> Result<()> {
    let client = McpClient::connect(&format!("{}/mcp", toolbox.url)).await?;
    let tools = client.tools().await?;
    ensure!(tools.len() == 9, "{} tools", tools.len());
    let reading = McpClient::connect(&format!("{}/mcp/reading", toolbox.url)).await?;
    ensure!(reading.tools().await?.len() == 6, "the set `reading`");
    let search = client.tool("search_papers").await?;
    let descriptor = search.descriptor();
    let schema = descriptor.input_schema.as_ref().context("there is no schema")?;
    ensure!(schema["properties"]["text"]["type"] == "string", "{schema}");
    ensure!(schema["required"] == json!(["text"]), "{schema}");
    let hints = descriptor.metadata.as_ref().map(|metadata| metadata["mcp"].clone());
    ensure!(hints == Some(json!({ "readOnlyHint": true })), "{hints:?}");
    ensure!(client.prompts().await?.len() == 1, "the prompts");
    let titles = json!({ "first": "Tea", "second": "Milk" });
    let messages = client.prompt("compare_papers", members(titles)).await?;
    let text = messages.first().context("there is no message")?.text();
    ensure!(text.starts_with("Compare the papers \"Tea\" and \"Milk\"."), "{text}");
    Ok(())
}

/// The agent is called over A2A; its model calls the tool that the message names.
async fn agent(toolbox: &Toolbox) -> Result<()> {
    let studio = studio(toolbox, None).await?;
    ensure!(studio.app.database.tools.len() == 9, "{}", studio.app.database.state);
    let url = studio.url(AgentName::AcademicResearch).context("the agent does not run")?;
    let client = A2aClient::connect(url).await?;
    for (message, expected) in [
        ("Please call search_papers with \"lithium\".", "Calendar ageing"),
        ("Please call list_papers with 2.", "Sodium-ion cells"),
        ("Please call get_paper with 2.", "62 percent"),
        ("Please call insert_paper with \"Tea leaves\".", "\"id\":"),
        ("Please call add_note for 1: \"Read again\".", "\"id\":"),
        ("Please call list_notes of 1.", "Read again"),
        ("Please call summarise_library now.", "\"papers\":4"),
    ] {
        let text = client.send(message).await?.text();
        ensure!(text.contains(expected), "{message} was answered by {text}");
    }
    studio.stop().await;
    Ok(())
}

async fn injections(toolbox: &Toolbox) -> Result<()> {
    let client = McpClient::connect(&format!("{}/mcp", toolbox.url)).await?;
    let before = count(&client).await?;
    for (text, added) in INJECTIONS.iter().zip(1..) {
        // Neither database stores NUL in a text of this kind; it must be an error or data.
        if text.contains('\0') {
            let paper = json!({ "text": text });
            _ = client.call_tool("search_papers", members(paper)).await;
            continue;
        }
        let found = client.call_tool("search_papers", members(json!({ "text": text }))).await?;
        ensure!(rows(&found).is_empty(), "{text} has found {found}");
        let tagged = client.call_tool("papers_by_tag", members(json!({ "tag": text }))).await?;
        ensure!(rows(&tagged).is_empty(), "{text} has found {tagged}");
        let paper =
            json!({ "title": text, "authors": text, "year": 2026, "abstract": text, "url": text });
        let made = client.call_tool("insert_paper", members(paper)).await?;
        let id = rows(&made).first().context("no id")?["id"].clone();
        let note = json!({ "paper_id": id, "text": text });
        client.call_tool("add_note", members(note)).await?;
        client.call_tool("tag_paper", members(json!({ "paper_id": id, "tag": text }))).await?;
        let paper = client.call_tool("get_paper", members(json!({ "id": id }))).await?;
        let paper = rows(&paper).first().cloned().context("the paper is not there")?;
        for member in ["title", "authors", "abstract", "url"] {
            ensure!(paper[member] == *text, "{member} is {}", paper[member]);
        }
        let notes = client.call_tool("list_notes", members(json!({ "paper_id": id }))).await?;
        ensure!(rows(&notes)[0]["text"] == *text, "{notes}");
        let tagged = client.call_tool("papers_by_tag", members(json!({ "tag": text }))).await?;
        ensure!(rows(&tagged).len() == 1, "{tagged}");
        ensure!(count(&client).await? == before + added, "papers after {text}");
    }
    Ok(())
}

async fn errors(toolbox: &Toolbox) -> Result<()> {
    let client = McpClient::connect(&format!("{}/mcp", toolbox.url)).await?;
    let tool = client.tool("get_paper").await?;
    for wrong in [json!({}), json!({ "id": "1; DROP TABLE papers" }), json!({ "id": 1.5 })] {
        let error = tool.run(oxikit::Call::new(wrong.clone())).await.err();
        let code = error.as_ref().map(oxikit::Status::code);
        ensure!(code == Some(StatusCode::InvalidArgument), "{wrong}: {error:?}");
    }
    let unknown = client.call_tool("drop_everything", JsonObject::new()).await.err();
    let code = unknown.as_ref().map(oxikit::Status::code);
    ensure!(code == Some(StatusCode::InvalidArgument), "{unknown:?}");
    // A statement that fails: a paper without a title.
    let paper = json!({ "paper_id": 1, "text": null });
    let failed = client.call_tool("add_note", members(paper)).await.err();
    ensure!(failed.is_some(), "a note without a text was taken");
    Ok(())
}

async fn toolset(toolbox: &Toolbox) -> Result<()> {
    let studio = studio(toolbox, Some("reading")).await?;
    let tools = &studio.app.database.tools;
    ensure!(tools.len() == 6 && !tools.contains(&"insert_paper".to_owned()), "{tools:?}");
    Ok(())
}

/// A studio that keeps its conversations in PostgreSQL, and the next one that continues them.
pub(crate) async fn stored(database: &str) -> Result<()> {
    let settings = || Settings {
        store: StoreSetting::Postgres(Secret::new(database.to_owned())),
        ..Settings::default()
    };
    let first = Studio::start(settings(), &[AgentName::Coder]).await?;
    let client = A2aClient::connect(first.url(AgentName::Coder).context("no agent")?).await?;
    let asked = client.send("Sort a list").await?;
    ensure!(asked.state() == Some(TaskState::InputRequired), "{asked:?}");
    first.stop().await;

    let second = Studio::start(settings(), &[AgentName::Coder]).await?;
    let client = A2aClient::connect(second.url(AgentName::Coder).context("no agent")?).await?;
    let reply = client.send(OutgoingMessage::new("In Rust").follow(&asked)).await?;
    ensure!(reply.state() == Some(TaskState::Completed), "{reply:?}");
    let program: Option<Value> = reply.artifact("program").and_then(|artifact| artifact.data());
    let program = program.context("there is no program")?;
    ensure!(program["file"] == "program.rs", "{program}");
    ensure!(program["text"].to_string().contains("Sort a list"), "{program}");
    second.stop().await;
    Ok(())
}

async fn studio(toolbox: &Toolbox, toolset: Option<&str>) -> Result<Studio> {
    let toolset = toolset.map(str::to_owned);
    let toolbox = Some(ToolboxSetting { url: toolbox.url.clone(), toolset });
    let settings = Settings { toolbox, ..Settings::default() };
    Studio::start(settings, &[AgentName::AcademicResearch]).await
}

async fn count(client: &McpClient) -> Result<i64> {
    let summary = client.call_tool("summarise_library", JsonObject::new()).await?;
    rows(&summary)[0]["papers"].as_i64().context("the number of papers")
}

/// The rows of a result: one is an object, several are a list, none is nothing.
fn rows(result: &Value) -> Vec<Value> {
    match result {
        Value::Array(rows) => rows.clone(),
        Value::Object(_) => vec![result.clone()],
        _ => Vec::new(),
    }
}

fn members(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}
