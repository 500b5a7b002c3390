//! F14: one of a hundred records is torn. The others are served, and that one is named.

use std::fs;

use anyhow::{Context, Result};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::Setting;
use super::figures::Figures;
use super::killed_tools::trace;
use super::tools::{Project, Tools, make_dir};

const RECORDS: usize = 100;
/// How rows are torn, each in another trace.
const TEARS: [(usize, &str); 4] = [
    // The text of a span ends in the middle.
    (20, "UPDATE spans SET json = substr(json, 1, 40) WHERE trace = ?1"),
    // It is no text.
    (40, "UPDATE spans SET json = CAST(X'7bff00fe' AS TEXT) WHERE trace = ?1"),
    (60, "UPDATE spans SET json = X'00ff00ff' WHERE trace = ?1"),
    // The row of the trace itself.
    (80, "UPDATE traces SET name = CAST(X'ff00fe' AS TEXT), start = 'then' WHERE number = ?1"),
];

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let mut figures = Figures::default();
    tear_rows(setting, &mut figures).await?;
    tear_files(setting, &mut figures).await?;
    replace_database(setting, &mut figures).await?;
    Ok(figures)
}

async fn tear_rows(setting: &Setting, figures: &mut Figures) -> Result<()> {
    let project = Project::new(setting, "torn-rows", "")?;
    let tools = project.start().await?;
    let url = format!("{}/api/traces", tools.doors.telemetry_url);
    for number in 0..RECORDS {
        let trace = trace(&id(number), &format!("name{number}"));
        tools.http.post(&url).json(&trace).send().await?.error_for_status()?;
    }
    tools.end().await?;
    let database = Connection::open(project.path(".oxikit/devtools.db"))?;
    for (number, tear) in TEARS {
        let row: i64 =
            database.query_row("SELECT number FROM traces WHERE id = ?1", [id(number)], |row| {
                row.get(0)
            })?;
        anyhow::ensure!(database.execute(tear, [row])? == 1, "nothing was torn");
    }
    drop(database);
    let tools = project.start().await?;
    let is_torn = |number: &usize| TEARS.iter().any(|(torn, _)| torn == number);
    let whole: Vec<usize> = (0..RECORDS).filter(|number| !is_torn(number)).collect();
    let list = tools.get("/api/v1/traces?limit=1000").await?;
    let has = |list: &Value, number: usize| {
        let traces = list["traces"].as_array().map(Vec::as_slice).unwrap_or_default();
        traces.iter().any(|trace| trace["traceId"] == id(number))
    };
    figures.all(
        "rows listed",
        whole.iter().filter(|number| has(&list, **number)).count(),
        whole.len(),
    );
    let official = format!("{}/api/traces?limit=1000", tools.doors.telemetry_url);
    let official: Value = tools.http.get(official).send().await?.json().await?;
    let count = whole.iter().filter(|number| has(&official, **number)).count();
    figures.all("as official tools ask", count, whole.len());
    let mut served = 0;
    for number in &whole {
        let trace = tools.get(&format!("/api/v1/traces/{}", id(*number))).await?;
        served += usize::from(trace["spans"][0]["span"]["displayName"] == format!("name{number}"));
    }
    figures.all("read", served, whole.len());
    let mut named = 0;
    for (number, _) in TEARS {
        // An answer of JSON, whatever it says.
        tools.get(&format!("/api/v1/traces/{}", id(number))).await?;
        named += usize::from(has(&list, number) || project.log()?.contains(&id(number)));
    }
    figures.all("torn ones named", named, TEARS.len());
    Ok(())
}

fn id(number: usize) -> String {
    format!("{number:032x}")
}

/// Files of others: traces, a runtime, and the tools before us.
async fn tear_files(setting: &Setting, figures: &mut Figures) -> Result<()> {
    let project = Project::new(setting, "torn-files", "")?;
    let (traces, runtimes) = (project.path(".genkit/traces"), project.path(".genkit/runtimes"));
    make_dir(&traces)?;
    make_dir(&runtimes)?;
    for number in 0..RECORDS {
        let text = trace(&id(number), "imported").to_string();
        let end = if number == 50 { text.len() / 2 } else { text.len() };
        fs::write(traces.join(id(number)), &text[..end])?;
    }
    fs::write(runtimes.join("torn.json"), r#"{"id": "torn", "pid": 1, "reflectionServ"#)?;
    fs::write(project.path(".oxikit/manager.json"), r#"{"pid": 1, "version": "0.1.0", "api"#)?;
    let tools = project.start().await?;
    figures.holds("starts with a torn file of former tools", true);
    let imported = tools.post_json("/api/v1/traces/import", &json!({})).await?;
    let count = imported["imported"].as_u64().context("nothing was imported")?;
    figures.all("files imported", usize::try_from(count)?, RECORDS - 1);
    figures.holds("the torn one named", imported["skipped"][0]["file"] == id(50));
    wait_for_log(&project, &tools, "torn.json").await?;
    figures.holds("the torn runtime file named", true);
    Ok(())
}

async fn wait_for_log(project: &Project, tools: &Tools, text: &str) -> Result<()> {
    for _ in 0..100 {
        if project.log()?.contains(text) {
            return Ok(());
        }
        tools.get("/api/v1/info").await?;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    anyhow::bail!("`{text}` is not named: {}", project.log()?)
}

/// What is no database is not opened, and the user is told what to do.
async fn replace_database(setting: &Setting, figures: &mut Figures) -> Result<()> {
    let project = Project::new(setting, "no-database", "")?;
    fs::write(
        project.path(".oxikit/devtools.db"),
        "this is no database, but long enough. ".repeat(300),
    )?;
    let status = project.fail_to_start().await?;
    let log = project.log()?;
    let is_helpful = log.contains("devtools.db") && log.contains("moved or deleted");
    figures.holds("what is no database is refused with help", !status.success() && is_helpful);
    Ok(())
}
