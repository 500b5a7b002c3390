//! Computes statistics of tables and of the numbers in texts, and explains them.

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::wire::Artifact;
use oxikit::{Generate, Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, Source};
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

async fn turn(_: App, turn: Turn<Data>) -> Result<TurnReply> {
    let sources: Option<Vec<Source>> = turn.data();
    let found = match &sources {
        Some(sources) => of_sources(sources),
        None => series_of(&turn.text()),
    };
    let series = if found.is_empty() { turn.state()?.series } else { found };
    if series.is_empty() && sources.is_none() {
        return Ok(turn.ask("Which numbers shall I analyse? Send a table with commas, or a text."));
    }
    turn.progress(format!("analysing {} series", series.len())).await?;
    turn.update(|data| data.series.clone_from(&series)).await?;
    turn.add_artifact(Artifact::new("analysis", [Part::data(json!(series))])).await?;
    if series.is_empty() {
        return Ok(turn.answer("The sources contain no numbers."));
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

/// The call that explains the statistics.
pub fn explanation(ctx: &Context, question: &str, series: &[Series]) -> Generate {
    let documents = series.iter().map(|series| Document::text(series.sentence()));
    ctx.prompt(PROMPT, json!({ "question": question })).docs(documents)
}
