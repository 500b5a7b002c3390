//! Searches papers by the interface of arXiv, and summarises their abstracts with citations.

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::{Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, Source};
use crate::research::{self, MAX_SOURCES, Topic};
use crate::tools::feed::{self, FeedItem};
use crate::tools::readable::Page;
use crate::words::keywords;

pub const PROMPT: &str = "academicResearch";

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("academic_research.prompt"))?;
    let description = "Answers questions from the abstracts of scientific papers.";
    let card = app.agent(AgentName::AcademicResearch, description, turn)?;
    Ok(card.skill(
        AgentSkill::new("papers", "Search papers", "Reads abstracts and cites the papers.")
            .with_tags(["research", "science", "citations"])
            .with_examples(["How fast do lithium cells age?"]),
    ))
}

async fn turn(app: App, turn: Turn<Topic>) -> Result<TurnReply> {
    let Some(question) = research::question_of(&turn).await? else {
        return Ok(turn.ask("Which subject shall the papers be about?"));
    };
    turn.progress("searching papers").await?;
    let sources = find(&app, turn.context(), &question).await?;
    research::conclude(&app, &turn, PROMPT, &question, sources).await
}

/// The papers whose abstracts fit the question best.
pub async fn find(app: &App, ctx: &Context, question: &str) -> Result<Vec<Source>> {
    let words: Vec<String> = keywords(question).into_iter().collect();
    let search = feed::papers_url(&app.places.papers, &words, 2 * MAX_SOURCES);
    let papers = ctx.step("search papers", app.web.feed(&search)).await?;
    let pages: Vec<_> = papers.into_iter().map(abstract_of).collect();
    Ok(research::sources_of(question, &pages))
}

fn abstract_of(paper: FeedItem) -> Page {
    let title = match paper.authors.as_slice() {
        [] => paper.title,
        [author] => format!("{author}: {}", paper.title),
        [author, ..] => format!("{author} and others: {}", paper.title),
    };
    Page { title, url: paper.url, text: paper.summary }
}
