//! A few of a hundred records are damaged. The tools serve the others and name the damaged ones.

use std::fs;

use anyhow::{Context, Result};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::Setting;
use super::killed_tools::trace;
use super::tools::{Project, Tools, make_dir};
use crate::figures::Figures;

const RECORDS: usize = 100;
/// The damages: the number of a trace, and the statement that damages one of its rows.
const DAMAGES: [(usize, &str); 4] = [
    // The JSON of a span is truncated.
    (20, "UPDATE spans SET json = substr(json, 1, 40) WHERE trace = ?1"),
    // The JSON of a span is not UTF-8, or not text.
    (40, "UPDATE spans SET json = CAST(X'7bff00fe' AS TEXT) WHERE trace = ?1"),
    (60, "UPDATE spans SET json = X'00ff00ff' WHERE trace = ?1"),
    // The row of the trace itself has columns of the wrong types.
    (80, "UPDATE traces SET name = CAST(X'ff00fe' AS TEXT), start = 'then' WHERE number = ?1"),
];

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let mut figures = Figures::default();
    damage_rows(setting, &mut figures).await?;
    damage_files(setting, &mut figures).await?;
    replace_database(setting, &mut figures).await?;
    Ok(figures)
}

async fn damage_rows(setting: &Setting, figures: &mut Figures) -> Result<()> {
    let project = Project::new(setting, "torn-rows", "")?;
    let tools = project.start().await?;
    let url = format!("{}/api/traces", tools.endpoints.telemetry_url);
    for number in 0..RECORDS {
        let trace = trace(&id(number), &format!("name{number}"));
        tools.http.post(&url).json(&trace).send().await?.error_for_status()?;
    }
    tools.end().await?;
    let database = Connection::open(project.path(".oxikit/devtools.db"))?;
    for (number, statement) in DAMAGES {
        let row: i64 =
            database.query_row("SELECT number FROM traces WHERE id = ?1", [id(number)], |row| {
                row.get(0)
            })?;
        anyhow::ensure!(database.execute(statement, [row])? == 1, "no row was changed");
    }
    drop(database);
    let tools = project.start().await?;
    let is_damaged = |number: &usize| DAMAGES.iter().any(|(damaged, _)| damaged == number);
    let whole: Vec<usize> = (0..RECORDS).filter(|number| !is_damaged(number)).collect();
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
    let official = format!("{}/api/traces?limit=1000", tools.endpoints.telemetry_url);
    let official: Value = tools.http.get(official).send().await?.json().await?;
    let count = whole.iter().filter(|number| has(&official, **number)).count();
    figures.all("listed by the official API", count, whole.len());
    let mut served = 0;
    for number in &whole {
        let trace = tools.get(&format!("/api/v1/traces/{}", id(*number))).await?;
        served += usize::from(trace["spans"][0]["span"]["displayName"] == format!("name{number}"));
    }
    figures.all("read", served, whole.len());
    let mut named = 0;
    for (number, _) in DAMAGES {
        // The response must be JSON, but may be an error.
        tools.get(&format!("/api/v1/traces/{}", id(number))).await?;
        named += usize::from(has(&list, number) || project.log()?.contains(&id(number)));
    }
    figures.all("damaged ones named", named, DAMAGES.len());
    Ok(())
}

fn id(number: usize) -> String {
    format!("{number:032x}")
}

/// Damages files of other programs: traces, a runtime, and previous developer tools.
async fn damage_files(setting: &Setting, figures: &mut Figures) -> Result<()> {
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
    figures.holds("starts with a damaged file of previous tools", true);
    let imported = tools.post_json("/api/v1/traces/import", &json!({})).await?;
    let count = imported["imported"].as_u64().context("nothing was imported")?;
    figures.all("files imported", usize::try_from(count)?, RECORDS - 1);
    figures.holds("the damaged one named", imported["skipped"][0]["file"] == id(50));
    wait_for_log(&project, &tools, "torn.json").await?;
    figures.holds("the damaged runtime file named", true);
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

/// A file that is not a database is not opened, and the error says what to do.
async fn replace_database(setting: &Setting, figures: &mut Figures) -> Result<()> {
    let project = Project::new(setting, "no-database", "")?;
    fs::write(
        project.path(".oxikit/devtools.db"),
        "this is not a database, but long enough. ".repeat(300),
    )?;
    let status = project.fail_to_start().await?;
    let log = project.log()?;
    let is_helpful = log.contains("devtools.db") && log.contains("moved or deleted");
    figures.holds(
        "a file that is not a database is rejected with advice",
        !status.success() && is_helpful,
    );
    Ok(())
}
