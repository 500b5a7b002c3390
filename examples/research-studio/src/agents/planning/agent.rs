//! Makes a plan of a question: which agents do what, and in which order.

use oxikit::prelude::*;
use oxikit::serve::a2a::{A2aAgent, AgentSkill};
use oxikit::wire::Artifact;
use oxikit::{Turn, TurnReply};

use crate::App;
use crate::records::{AgentName, Plan};

pub const PROMPT: &str = "planning";

/// What the agents that take steps are good for.
const TEAM: [(AgentName, &str); 6] = [
    (AgentName::WebResearch, "searches and reads pages of the web"),
    (AgentName::AcademicResearch, "searches scientific papers"),
    (AgentName::NewsResearch, "reads current news"),
    (AgentName::DataAnalysis, "computes statistics of the numbers that other steps have found"),
    (AgentName::Coder, "writes programs"),
    (AgentName::ContentEditor, "writes and edits texts"),
];

/// The question that is being clarified.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Draft {
    question: Option<String>,
}

pub fn define(app: &App) -> Result<A2aAgent> {
    app.ai.define_prompt_text(PROMPT, include_str!("planning.prompt"))?;
    let description = "Plans the research of a question as steps for other agents.";
    let card = app.agent(AgentName::Planning, description, turn)?;
    Ok(card.skill(
        AgentSkill::new("plan", "Plan research", "Returns a plan of steps as data.")
            .with_tags(["planning"])
            .with_examples(["Plan: are home batteries worth their price?"]),
    ))
}

async fn turn(_: App, turn: Turn<Draft>) -> Result<TurnReply> {
    let before = turn.state()?.question;
    let question = before.into_iter().chain([turn.text()]).collect::<Vec<_>>().join(" ");
    turn.progress("planning").await?;
    let plan = plan(turn.context(), &question).await?;
    if let Some(clarification) = plan.clarification.clone() {
        turn.update(|draft| draft.question = Some(question)).await?;
        return Ok(turn.ask(clarification));
    }
    turn.update(|draft| draft.question = None).await?;
    turn.add_artifact(Artifact::new("plan", [Part::data(json!(plan))])).await?;
    Ok(turn.answer(outline(&plan)))
}

/// Asks the model for a plan, and checks it.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the plan of the model cannot be carried out.
pub async fn plan(ctx: &Context, question: &str) -> Result<Plan> {
    let agents: Vec<_> = TEAM.iter().map(|(name, what)| format!("- {name}: {what}")).collect();
    let input = json!({ "question": question, "agents": agents.join("\n") });
    let mut plan = ctx.prompt(PROMPT, input).output::<Plan>().await?.output()?;
    plan.clarification = plan.clarification.filter(|text| !text.trim().is_empty());
    if plan.clarification.is_none() {
        plan.check()?;
    }
    Ok(plan)
}

/// The plan for people.
pub fn outline(plan: &Plan) -> String {
    let line = |step: &crate::records::PlanStep| {
        let after = match step.after.is_empty() {
            true => String::new(),
            false => format!(" (after {})", step.after.join(", ")),
        };
        format!("- {}: {}{after}", step.agent.title(), step.task)
    };
    plan.steps.iter().map(line).collect::<Vec<_>>().join("\n")
}
