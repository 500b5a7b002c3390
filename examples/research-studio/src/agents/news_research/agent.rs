//! Reads a news feed, follows the entries that fit the question, and summarises them.

use futures_util::future::join_all;
use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::{Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, Source};
use crate::research::{self, MAX_SOURCES, Topic};
use crate::tools::feed::FeedItem;
use crate::tools::readable::Page;
use crate::words::{keywords, overlap};

pub const PROMPT: &str = "newsResearch";

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("news_research.prompt"))?;
    let card = app.agent(AgentName::NewsResearch, "Answers questions from current news.", turn)?;
    Ok(card.skill(
        AgentSkill::new("news", "Search news", "Reads a feed and cites its articles.")
            .with_tags(["research", "news", "citations"])
            .with_examples(["What is new about home batteries?"]),
    ))
}

async fn turn(app: App, turn: Turn<Topic>) -> Result<TurnReply> {
    let Some(question) = research::question_of(&turn).await? else {
        return Ok(turn.ask("Which news do you want to know?"));
    };
    turn.progress("reading the news").await?;
    let sources = find(&app, turn.context(), &question).await?;
    research::conclude(&app, &turn, PROMPT, &question, sources).await
}

/// The articles of the feed that fit the question best. One that cannot be read is represented by
/// its summary in the feed.
pub async fn find(app: &App, ctx: &Context, question: &str) -> Result<Vec<Source>> {
    let entries = ctx.step("read feed", app.web.feed(app.places.news.as_str())).await?;
    let keywords = keywords(question);
    let fits = |item: &&FeedItem| overlap(&keywords, &format!("{} {}", item.title, item.summary)) > 0;
    let articles = entries.iter().filter(fits).take(MAX_SOURCES).map(|item| async {
        let page = ctx.step("read article", app.web.page(&item.url)).await;
        let text = page.map_or_else(|_| item.summary.clone(), |page| page.text);
        Page { title: format!("{} ({})", item.title, item.published), url: item.url.clone(), text }
    });
    Ok(research::sources_of(question, &join_all(articles).await))
}
