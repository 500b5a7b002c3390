//! Answers a question with the other agents: it lets one plan, delegates the steps over A2A, and
//! has the report written. Each of them may be down; the report then says what is missing.

mod steps;
mod synthesis;

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::wire::Artifact;
use oxikit::{Turn, TurnReply};

use crate::App;
use crate::delegation::{Delegation, Listener, Outcome, Work};
use crate::records::{AgentName, Plan, Report};

/// What the orchestrator remembers of a conversation.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Case {
    /// The question that is being clarified.
    open_question: Option<String>,
    /// The questions that were answered.
    answered: Vec<String>,
}

pub fn define(app: &App) -> Result<A2aAgent> {
    let description = "Researches a question with a team of agents and writes a report with citations.";
    let card = app.agent(AgentName::Orchestrator, description, turn)?;
    Ok(card.output_modes(["text/markdown", "application/json"]).skill(
        AgentSkill::new("research", "Research a question", "Returns a report with citations.")
            .with_tags(["research", "report", "orchestration"])
            .with_examples(["Are home batteries worth their price?"]),
    ))
}

async fn turn(app: App, turn: Turn<Case>) -> Result<TurnReply> {
    let before = turn.state()?.open_question;
    let question = before.into_iter().chain([turn.text()]).collect::<Vec<_>>().join(" ");
    if question.trim().is_empty() {
        return Ok(turn.ask("What shall we research?"));
    }
    let plan = match team(&app, &turn).plan(&question).await? {
        Planned::Plan(plan) => plan,
        Planned::Unclear(asked) => {
            turn.update(|case| case.open_question = Some(question)).await?;
            return Ok(turn.ask(asked));
        }
    };
    turn.add_artifact(Artifact::new("plan", [Part::data(json!(plan))])).await?;
    let results = team(&app, &turn).carry_out(&plan).await?;
    let report = team(&app, &turn).synthesise(&question, results).await?;
    publish(&turn, &report).await?;
    turn.update(|case| {
        case.open_question = None;
        case.answered.push(question);
    })
    .await?;
    Ok(turn.answer(report.markdown))
}

/// Sends the text of the report in paragraphs, and then the report with its citations as data.
async fn publish(turn: &Turn<Case>, report: &Report) -> Result<()> {
    for paragraph in report.markdown.split_inclusive("\n\n") {
        turn.emit(paragraph).await?;
    }
    turn.add_artifact(Artifact::new("report", [Part::data(json!(report))])).await
}

/// The other agents, for one turn.
struct Team<'a> {
    app: &'a App,
    turn: &'a Turn<Case>,
}

enum Planned {
    Plan(Plan),
    /// The question of the planning agent to the user.
    Unclear(String),
}

fn team<'a>(app: &'a App, turn: &'a Turn<Case>) -> Team<'a> {
    Team { app, turn }
}

impl Team<'_> {
    /// The plan of the planning agent, or the standard one if there is none that can be used.
    async fn plan(&self, question: &str) -> Result<Planned> {
        let work = Work { text: question.to_owned(), data: None };
        let answer = self.delegation().run(AgentName::Planning, &work, self).await;
        let plan = match answer {
            Ok((_, Outcome::Asked(question))) => return Ok(Planned::Unclear(question)),
            Ok((_, Outcome::Done(reply))) => {
                let plan = reply.artifact("plan").and_then(|artifact| artifact.data::<Plan>());
                plan.filter(|plan| plan.check().is_ok())
            }
            Err(_) => None,
        };
        if plan.is_none() {
            self.turn.progress("going on with the standard plan").await?;
        }
        Ok(Planned::Plan(plan.unwrap_or_else(|| Plan::standard(question))))
    }

    fn delegation(&self) -> Delegation<'_> {
        Delegation {
            directory: &self.app.directory,
            patience: self.app.settings.patience,
            background: &self.app.background,
        }
    }
}

impl Listener for Team<'_> {
    async fn progress(&self, agent: AgentName, text: &str) -> Result<()> {
        self.turn.progress(format!("{}: {text}", agent.title())).await
    }
}
