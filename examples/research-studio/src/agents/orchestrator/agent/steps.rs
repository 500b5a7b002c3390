//! Carries out a plan: steps that wait for nothing run at the same time.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{FutureExt, StreamExt};
use futures_util::stream::FuturesUnordered;
use oxikit::prelude::*;

use super::Team;
use crate::UserError;
use crate::delegation::{Outcome, Work};
use crate::records::{AgentName, Findings, Plan, PlanStep, Source, Tables};

/// What the steps of a plan have brought so far.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub(super) findings: Vec<Findings>,
    /// Texts of agents that are not findings, such as an analysis.
    pub(super) texts: Vec<String>,
    /// What went wrong, for the reader of the report.
    pub(super) notes: Vec<String>,
}

/// The result of one step.
#[derive(Debug, Serialize)]
struct StepResult {
    /// The agent that has done it.
    agent: AgentName,
    findings: Option<Findings>,
    text: String,
}

impl Results {
    pub(super) fn sources(&self) -> Vec<Source> {
        let mut seen = BTreeSet::new();
        let sources = self.findings.iter().flat_map(|findings| &findings.sources);
        sources.filter(|source| seen.insert(source.url.clone())).cloned().collect()
    }

    fn take(&mut self, step: &PlanStep, result: Result<StepResult>) {
        let title = step.agent.title();
        match result {
            Ok(result) => {
                if result.agent != step.agent {
                    let by = result.agent.title();
                    self.notes.push(format!("{title} could not be reached; {by} took its step."));
                }
                match result.findings {
                    Some(findings) => self.findings.push(findings),
                    None => self.texts.push(result.text),
                }
            }
            Err(error) => {
                self.notes.push(format!("{title} has brought no result: {}", error.outgoing().message));
            }
        }
    }
}

impl Team<'_> {
    /// Runs all steps. A step that fails leaves a note, and the others go on.
    pub(super) async fn carry_out(&self, plan: &Plan) -> Result<Results> {
        let mut results = Results::default();
        let mut done = BTreeSet::new();
        while done.len() < plan.steps.len() {
            let ready = plan.ready(&done);
            let names: Vec<_> = ready.iter().map(|step| step.agent.title()).collect();
            self.turn.progress(format!("delegating to {}", names.join(", "))).await?;
            self.run_together(&ready, &mut results).await;
            done.extend(ready.iter().map(|step| step.id.clone()));
        }
        Ok(results)
    }

    /// Runs steps at the same time, and takes their results in the order of the plan. If the last
    /// one takes too long and there are findings already, it is dropped, which cancels its task.
    async fn run_together(&self, steps: &[&PlanStep], results: &mut Results) {
        let sources = results.sources();
        let mut open: FuturesUnordered<_> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| self.run_step(step, &sources).map(move |result| (at, result)))
            .collect();
        let mut done = BTreeMap::new();
        while !open.is_empty() {
            let has_findings = done.values().any(has_findings) || !results.findings.is_empty();
            let next = match open.len() == 1 && steps.len() > 1 && has_findings {
                true => tokio::time::timeout(self.app.settings.patience.last_step, open.next()).await,
                false => Ok(open.next().await),
            };
            let Ok(Some((at, result))) = next else { break };
            done.insert(at, result);
        }
        for (at, step) in steps.iter().enumerate() {
            match done.remove(&at) {
                Some(result) => results.take(step, result),
                None => {
                    let title = step.agent.title();
                    results.notes.push(format!("{title} took too long and was canceled."));
                }
            }
        }
    }

    async fn run_step(&self, step: &PlanStep, sources: &[Source]) -> Result<StepResult> {
        // An analysis that waits for nothing is one of the studio's own documents.
        let material = || match step.after.is_empty() {
            true => json!(Tables { folder: String::new() }),
            false => json!(sources),
        };
        let data = (step.agent == AgentName::DataAnalysis).then(material);
        let work = Work { text: step.task.clone(), data };
        let name = format!("delegate to {}", step.agent);
        let call = async {
            let (agent, outcome) = self.delegation().run(step.agent, &work, self).await?;
            match outcome {
                Outcome::Done(reply) => {
                    let artifact = reply.artifact("findings");
                    let findings = artifact.and_then(|artifact| artifact.data::<Findings>());
                    Ok(StepResult { agent, findings: findings.map(checked), text: reply.text() })
                }
                Outcome::Asked(question) => {
                    Err(UserError::Question { agent: agent.to_string(), question }.into())
                }
            }
        };
        self.turn.context().step(&name, call).await
    }
}

fn has_findings(result: &Result<StepResult>) -> bool {
    result.as_ref().is_ok_and(|result| result.findings.is_some())
}

/// The findings without sources that nobody could look up.
fn checked(mut findings: Findings) -> Findings {
    findings.sources.retain(|source| !source.url.is_empty() && !source.excerpt.is_empty());
    findings
}
