//! Computes statistics of tables and of the numbers in texts, and explains them.

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::wire::Artifact;
use oxikit::{Generate, Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, Source, Tables};
use crate::tools::numbers::{Series, series_of};

pub const PROMPT: &str = "dataAnalysis";

/// The last data of the conversation, for further questions about it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Data {
    series: Vec<Series>,
}

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("data_analysis.prompt"))?;
    let description = "Computes statistics of tables and of numbers in texts.";
    let card = app.agent(AgentName::DataAnalysis, description, turn)?;
    Ok(card.skill(
        AgentSkill::new("statistics", "Statistics", "Mean, median, deviation and trend of numbers.")
            .with_tags(["data", "statistics"])
            .with_examples(["month,price\n1,10\n2,8\n3,6"]),
    ))
}

async fn turn(app: App, turn: Turn<Data>) -> Result<TurnReply> {
    let material = match (turn.data::<Vec<Source>>(), turn.data::<Tables>()) {
        (Some(sources), _) => Some(of_sources(&sources)),
        (None, Some(tables)) => Some(of_documents(&app, &tables).await?),
        (None, None) => None,
    };
    let has_material = material.is_some();
    let found = material.unwrap_or_else(|| series_of(&turn.text()));
    let series = if found.is_empty() { turn.state()?.series } else { found };
    if series.is_empty() && !has_material {
        return Ok(turn.ask("Which numbers shall I analyse? Send a table with commas, or a text."));
    }
    turn.progress(format!("analysing {} series", series.len())).await?;
    turn.update(|data| data.series.clone_from(&series)).await?;
    turn.add_artifact(Artifact::new("analysis", [Part::data(json!(series))])).await?;
    if series.is_empty() {
        return Ok(turn.answer("The material contains no numbers."));
    }
    let reply = turn.stream(explanation(turn.context(), &turn.text(), &series)).await?;
    Ok(turn.answer(reply.text()))
}

/// One series for each source with numbers.
fn of_sources(sources: &[Source]) -> Vec<Series> {
    let named = |source: &Source| {
        let name = source.title.clone();
        series_of(&source.excerpt).into_iter().next().map(|series| Series { name, ..series })
    };
    sources.iter().filter_map(named).collect()
}

/// The columns of all tables of a folder; none if there are no documents.
async fn of_documents(app: &App, tables: &Tables) -> Result<Vec<Series>> {
    let documents = match app.documents.folder(&tables.folder).await {
        Err(error) if error.code() == StatusCode::NotFound => Vec::new(),
        documents => documents?,
    };
    let tables = documents.iter().filter(|page| page.url.ends_with(".csv"));
    Ok(tables.flat_map(|page| series_of(&page.text)).collect())
}

/// The call that explains the statistics.
pub fn explanation(ctx: &Context, question: &str, series: &[Series]) -> Generate {
    let documents = series.iter().map(|series| Document::text(series.sentence()));
    ctx.prompt(PROMPT, json!({ "question": question })).docs(documents)
}
