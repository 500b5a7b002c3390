//! The values that agents and flows exchange. Each has a schema at every boundary.

use std::collections::BTreeSet;
use std::fmt;

use oxikit::prelude::*;

/// Maximum number of steps of a plan. A longer plan is refused.
pub const MAX_STEPS: usize = 8;

/// The agents of the studio.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum AgentName {
    Orchestrator,
    Planning,
    WebResearch,
    AcademicResearch,
    NewsResearch,
    DataAnalysis,
    Coder,
    ContentEditor,
}

impl AgentName {
    pub const ALL: [Self; 8] = [
        Self::Orchestrator,
        Self::Planning,
        Self::WebResearch,
        Self::AcademicResearch,
        Self::NewsResearch,
        Self::DataAnalysis,
        Self::Coder,
        Self::ContentEditor,
    ];

    /// The name in URLs, in plans and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Orchestrator => "orchestrator",
            Self::Planning => "planning",
            Self::WebResearch => "webResearch",
            Self::AcademicResearch => "academicResearch",
            Self::NewsResearch => "newsResearch",
            Self::DataAnalysis => "dataAnalysis",
            Self::Coder => "coder",
            Self::ContentEditor => "contentEditor",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Orchestrator => "Orchestrator",
            Self::Planning => "Planning",
            Self::WebResearch => "Web research",
            Self::AcademicResearch => "Academic research",
            Self::NewsResearch => "News research",
            Self::DataAnalysis => "Data analysis",
            Self::Coder => "Coder",
            Self::ContentEditor => "Content editor",
        }
    }

    /// The port of the agent, counted from that of the orchestrator.
    pub fn offset(self) -> u16 {
        self as u16
    }

    /// The agents that can take over a step when this one is down.
    pub fn substitutes(self) -> &'static [Self] {
        match self {
            Self::WebResearch => &[Self::NewsResearch, Self::AcademicResearch],
            Self::AcademicResearch => &[Self::WebResearch],
            Self::NewsResearch => &[Self::WebResearch],
            _ => &[],
        }
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for AgentName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL
            .into_iter()
            .find(|agent| agent.as_str() == name)
            .ok_or_else(|| format!("there is no agent `{name}`; there are: {}", known()))
    }
}

/// Where a statement comes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    pub title: String,
    pub url: String,
    /// The passage that the statement is based on.
    pub excerpt: String,
}

/// The result of a research agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Findings {
    pub summary: String,
    pub sources: Vec<Source>,
}

/// The work on a question, in steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// A question to the user, if the work cannot begin without its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarification: Option<String>,
    #[serde(default)]
    pub steps: Vec<PlanStep>,
}

/// One step of a plan: a task for one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanStep {
    /// Identifies the step within the plan.
    pub id: String,
    pub agent: AgentName,
    /// The task, in words.
    pub task: String,
    /// Ids of the steps that must be done before.
    #[serde(default)]
    pub after: Vec<String>,
}

impl Plan {
    /// The four specialists on one question: research and the analysis of own tables in parallel,
    /// then the analysis of the numbers that were found.
    pub fn standard(question: &str) -> Self {
        let step = |id: &str, agent, after: &[&str]| PlanStep {
            id: id.to_owned(),
            agent,
            task: question.to_owned(),
            after: after.iter().map(|id| (*id).to_owned()).collect(),
        };
        let steps = vec![
            step("web", AgentName::WebResearch, &[]),
            step("papers", AgentName::AcademicResearch, &[]),
            step("news", AgentName::NewsResearch, &[]),
            step("tables", AgentName::DataAnalysis, &[]),
            step("numbers", AgentName::DataAnalysis, &["web", "papers", "news"]),
        ];
        Self { clarification: None, steps }
    }

    /// Checks that the plan can be carried out: known and distinct steps, in an order without a
    /// circle, for agents that do steps.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` with the first mistake.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Status::invalid_argument(text));
        if self.steps.is_empty() || self.steps.len() > MAX_STEPS {
            return refuse(format!("a plan has 1 to {MAX_STEPS} steps, not {}", self.steps.len()));
        }
        let mut ids = BTreeSet::new();
        for step in &self.steps {
            if !ids.insert(step.id.as_str()) {
                return refuse(format!("two steps of the plan are called `{}`", step.id));
            }
            if matches!(step.agent, AgentName::Orchestrator | AgentName::Planning) {
                return refuse(format!("the agent `{}` takes no steps of a plan", step.agent));
            }
        }
        let mut done = BTreeSet::new();
        while done.len() < self.steps.len() {
            let wave = self.ready(&done);
            if wave.is_empty() {
                return refuse("the steps of the plan wait for each other".to_owned());
            }
            done.extend(wave.into_iter().map(|step| step.id.clone()));
        }
        Ok(())
    }

    /// The steps that are not done and wait for nothing.
    pub fn ready(&self, done: &BTreeSet<String>) -> Vec<&PlanStep> {
        let is_ready = |step: &&PlanStep| {
            !done.contains(&step.id) && step.after.iter().all(|id| done.contains(id))
        };
        self.steps.iter().filter(is_ready).collect()
    }
}

/// The tables of the studio's documents, as material of the data analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tables {
    /// The folder below that of the documents. Empty for all.
    pub folder: String,
}

/// The material that the content editor writes from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EditRequest {
    pub question: String,
    /// The passages, in the order of their numbers in citations.
    pub sources: Vec<Source>,
    /// Further results, such as an analysis.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The final result of the orchestrator.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub question: String,
    /// The text in Markdown, with citations such as `[1]`.
    pub markdown: String,
    pub citations: Vec<Citation>,
    /// What went wrong on the way: agents that were replaced, steps that were left out.
    pub notes: Vec<String>,
}

/// A numbered source of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Citation {
    pub number: usize,
    pub title: String,
    /// Absent for an analysis of the studio itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = Plan::standard("Why is tea green?");
        change(&mut plan);
        plan.check().err().map(|status| status.message().to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_plan_is_checked_before_it_is_carried_out() {
        assert_eq!(mistake(|_| ()), "");
        assert_eq!(mistake(|plan| plan.steps.clear()), "a plan has 1 to 8 steps, not 0");
        assert_eq!(
            mistake(|plan| plan.steps[1].id = "web".to_owned()),
            "two steps of the plan are called `web`"
        );
        assert_eq!(
            mistake(|plan| plan.steps[0].agent = AgentName::Planning),
            "the agent `planning` takes no steps of a plan"
        );
        assert_eq!(
            mistake(|plan| plan.steps[0].after.push("numbers".to_owned())),
            "the steps of the plan wait for each other"
        );
    }

    #[test]
    fn names_of_agents_are_those_of_the_wire() {
        for agent in AgentName::ALL {
            assert_eq!(json!(agent), json!(agent.as_str()));
            assert_eq!(agent.as_str().parse(), Ok(agent));
        }
        assert!("poet".parse::<AgentName>().unwrap_err().contains("there are: orchestrator"));
    }
}
