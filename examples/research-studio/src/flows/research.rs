//! Planning, the three kinds of research, and the whole orchestration.

use oxikit::Action;
use oxikit::prelude::*;
use tokio::sync::mpsc;

use super::Question;
use crate::agents::{academic_research, news_research, planning, web_research};
use crate::delegation::{Delegation, Listener, Outcome, Work};
use crate::records::{AgentName, Findings, Report, Source};
use crate::research::{checked, summary};
use crate::{App, UserError};

pub(super) fn define(app: &App) -> Vec<Action> {
    let plan = app.ai.define_flow("planning", |input: Question, ctx: Context| async move {
        planning::plan(&ctx, checked(&input.question)?).await
    });
    let of_app = app.clone();
    let web = app.ai.define_flow("webResearch", move |input: Question, ctx: Context| {
        let app = of_app.clone();
        async move {
            let sources = web_research::find(&app, &ctx, checked(&input.question)?).await?;
            findings(&ctx, web_research::PROMPT, &input.question, sources).await
        }
    });
    let of_app = app.clone();
    let papers = app.ai.define_flow("academicResearch", move |input: Question, ctx: Context| {
        let app = of_app.clone();
        async move {
            let sources = academic_research::find(&app, &ctx, checked(&input.question)?).await?;
            findings(&ctx, academic_research::PROMPT, &input.question, sources).await
        }
    });
    let of_app = app.clone();
    let news = app.ai.define_flow("newsResearch", move |input: Question, ctx: Context| {
        let app = of_app.clone();
        async move {
            let sources = news_research::find(&app, &ctx, checked(&input.question)?).await?;
            findings(&ctx, news_research::PROMPT, &input.question, sources).await
        }
    });
    let of_app = app.clone();
    let all = app.ai.define_flow(
        "orchestration",
        move |input: Question, _: Context, out: Emitter<String>| {
            let app = of_app.clone();
            async move { orchestrate(&app, input, out).await }
        },
    );
    let actions = [plan.action(), web.action(), papers.action(), news.action(), all.action()];
    actions.map(Clone::clone).into()
}

async fn findings(
    ctx: &Context,
    prompt: &str,
    question: &str,
    sources: Vec<Source>,
) -> Result<Findings> {
    if sources.is_empty() {
        return Ok(Findings { summary: "No source says anything about this.".to_owned(), sources });
    }
    let summary = summary(ctx, prompt, question, &sources).await?.text();
    Ok(Findings { summary, sources })
}

/// Sends what an agent reports to the reader of a flow.
struct ToReader(mpsc::Sender<String>);

impl Listener for ToReader {
    async fn progress(&self, _: AgentName, text: &str) -> Result<()> {
        // The receiver lives as long as the call.
        self.0.send(text.to_owned()).await.or_internal()
    }
}

/// Asks the orchestrator over A2A, and streams its progress. The report is the result.
async fn orchestrate(app: &App, input: Question, out: Emitter<String>) -> Result<Report> {
    let work = Work { text: checked(&input.question)?.to_owned(), data: None };
    // A slow reader slows the call: 16 lines wait at most.
    let (sender, mut lines) = mpsc::channel(16);
    let listener = ToReader(sender);
    let delegation = Delegation {
        directory: &app.directory,
        patience: app.settings.patience,
        background: &app.background,
    };
    let call = delegation.run(AgentName::Orchestrator, &work, &listener);
    let mut call = std::pin::pin!(call);
    let (agent, outcome) = loop {
        tokio::select! {
            biased;
            Some(line) = lines.recv() => out.send(line).await?,
            answer = &mut call => break answer?,
        }
    };
    match outcome {
        Outcome::Asked(question) => {
            Err(UserError::Question { agent: agent.to_string(), question }.into())
        }
        Outcome::Done(reply) => reply
            .artifact("report")
            .and_then(|artifact| artifact.data())
            .ok_or_else(|| Status::internal("the orchestrator has made no report")),
    }
}
