//! Searches the web, reads the best pages, and summarises them with citations.

use futures_util::future::join_all;
use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::{Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, Source};
use crate::research::{self, MAX_SOURCES, Topic};
use crate::tools::feed;

pub const PROMPT: &str = "webResearch";

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("web_research.prompt"))?;
    let card = app.agent(AgentName::WebResearch, "Answers questions from pages of the web.", turn)?;
    Ok(card.skill(
        AgentSkill::new("search", "Search the web", "Reads pages and cites them.")
            .with_tags(["research", "web", "citations"])
            .with_examples(["What do home batteries cost?"]),
    ))
}

async fn turn(app: App, turn: Turn<Topic>) -> Result<TurnReply> {
    let Some(question) = research::question_of(&turn).await? else {
        return Ok(turn.ask("What shall I search for?"));
    };
    turn.progress("searching the web").await?;
    let sources = find(&app, turn.context(), &question).await?;
    research::conclude(&app, &turn, PROMPT, &question, sources).await
}

/// The passages of the web that fit the question best. Pages that cannot be read are left out.
pub async fn find(app: &App, ctx: &Context, question: &str) -> Result<Vec<Source>> {
    let search = feed::search_url(&app.places.search, question);
    let results = ctx.step("search", app.web.feed(&search)).await?;
    let pages = results.iter().take(MAX_SOURCES).map(|item| async {
        let page = ctx.step("read page", app.web.page(&item.url)).await;
        page.inspect_err(|error| tracing::info!(url = %item.url, %error, "a page was left out")).ok()
    });
    let pages: Vec<_> = join_all(pages).await.into_iter().flatten().collect();
    Ok(research::sources_of(question, &pages))
}
