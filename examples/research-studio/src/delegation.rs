//! Calls of other agents over A2A: where they are, following their streams, retries and
//! substitutes. The task of a call that is dropped is canceled.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use oxikit::Secret;
use oxikit::client::a2a::{
    A2aClient, A2aReply, Message, OutgoingMessage, Part, StreamResponse, TaskState,
};
use oxikit::prelude::*;
use tokio_util::task::TaskTracker;

use crate::UserError;
use crate::records::AgentName;
use crate::settings::{Patience, Settings};

/// Number of times that an agent is tried before a substitute is.
const ATTEMPTS: usize = 2;

/// The addresses of the agents. Clones share them.
#[derive(Debug, Clone)]
pub struct Directory {
    urls: Arc<RwLock<BTreeMap<AgentName, String>>>,
    api_key: Option<Secret<String>>,
}

impl Directory {
    /// The addresses of the settings. Agents of this process are added when they listen.
    pub fn new(settings: &Settings) -> Self {
        let port = |agent: AgentName| settings.agent_port(agent);
        let local = AgentName::ALL
            .into_iter()
            .filter(|agent| port(*agent) != 0)
            .map(|agent| (agent, format!("http://127.0.0.1:{}", port(agent))));
        let urls = local.chain(settings.agent_urls.clone()).collect();
        Self { urls: Arc::new(RwLock::new(urls)), api_key: settings.api_key.clone() }
    }

    pub fn set(&self, agent: AgentName, url: impl Into<String>) {
        self.urls.write().unwrap_or_else(PoisonError::into_inner).insert(agent, url.into());
    }

    pub fn url(&self, agent: AgentName) -> Option<String> {
        self.urls.read().unwrap_or_else(PoisonError::into_inner).get(&agent).cloned()
    }

    /// Reads the card of an agent.
    ///
    /// # Errors
    ///
    /// [`UserError::AgentDown`] if it cannot be reached.
    pub async fn connect(&self, agent: AgentName, timeout: Duration) -> Result<A2aClient> {
        let down = || Status::from(UserError::AgentDown(agent.to_string()));
        let url = self.url(agent).ok_or_else(down)?;
        let mut builder = A2aClient::builder(&url).timeout(timeout);
        if let Some(key) = &self.api_key {
            builder = builder.api_key(key.expose().clone());
        }
        builder.connect().await.map_err(|error| down().caused_by(error))
    }
}

/// The work for an agent.
#[derive(Debug, Clone)]
pub struct Work {
    pub text: String,
    /// Data for the agent, such as the results of earlier steps.
    pub data: Option<Value>,
}

/// What an agent has answered.
#[derive(Debug)]
pub enum Outcome {
    Done(Box<A2aReply>),
    /// It has asked something.
    Asked(String),
}

/// Calls agents for one caller, which is told of their progress.
pub struct Delegation<'a> {
    pub directory: &'a Directory,
    pub patience: Patience,
    pub background: &'a TaskTracker,
}

/// What is reported while an agent works.
pub trait Listener: Sync {
    fn progress(&self, agent: AgentName, text: &str) -> impl Future<Output = Result<()>> + Send;
}

impl Delegation<'_> {
    /// Gives work to an agent. One that cannot be reached is tried again, then its substitutes are.
    /// Returns the agent that has done it.
    ///
    /// # Errors
    ///
    /// The error of the last agent.
    pub async fn run(
        &self,
        agent: AgentName,
        work: &Work,
        listener: &impl Listener,
    ) -> Result<(AgentName, Outcome)> {
        let mut last = Status::from(UserError::AgentDown(agent.to_string()));
        for candidate in [agent].into_iter().chain(agent.substitutes().iter().copied()) {
            for attempt in 1..=ATTEMPTS {
                match self.once(candidate, work, listener).await {
                    Ok(outcome) => return Ok((candidate, outcome)),
                    Err(error) => last = error,
                }
                let text = format!("attempt {attempt} failed: {}", last.message());
                listener.progress(candidate, &text).await?;
                if last.code() != StatusCode::Unavailable {
                    break;
                }
                tokio::time::sleep(self.patience.pause).await;
            }
        }
        Err(last)
    }

    /// One call. The task is canceled if this future is dropped or fails.
    async fn once(
        &self,
        agent: AgentName,
        work: &Work,
        listener: &impl Listener,
    ) -> Result<Outcome> {
        let client = self.directory.connect(agent, self.patience.step).await?;
        let mut stream = client.send_stream(message(work)).await?;
        let mut open =
            OpenTask { client: client.clone(), id: None, background: self.background.clone() };
        while let Some(event) = stream.next().await {
            match event? {
                StreamResponse::Task(task) => open.id = Some(task.id),
                StreamResponse::StatusUpdate(update) => {
                    open.id = Some(update.task_id);
                    if update.status.state == TaskState::Working
                        && let Some(message) = &update.status.message
                    {
                        listener.progress(agent, &message.text()).await?;
                    }
                }
                StreamResponse::ArtifactUpdate(_) | StreamResponse::Message(_) => {}
            }
        }
        let reply = stream.finish().await?;
        if reply.state().is_none_or(TaskState::is_terminal) {
            open.id = None;
        }
        outcome(agent, reply)
    }
}

fn message(work: &Work) -> OutgoingMessage {
    let message = OutgoingMessage::new(&work.text);
    match &work.data {
        Some(data) => message.part(Part::data(data.clone())),
        None => message,
    }
}

fn outcome(agent: AgentName, reply: A2aReply) -> Result<Outcome> {
    let said = |task: &oxikit::client::a2a::Task| task.status.message.as_ref().map(Message::text);
    let said = reply.task().and_then(said).unwrap_or_default();
    match reply.state() {
        Some(TaskState::Completed) | None => Ok(Outcome::Done(Box::new(reply))),
        Some(state) if state.is_interrupted() => Ok(Outcome::Asked(said)),
        Some(state) => {
            let text = format!("the task of `{agent}` is {state}: {said}");
            Err(Status::new(StatusCode::FailedPrecondition, text))
        }
    }
}

/// A task of another agent that has not ended. It is canceled when this is dropped.
struct OpenTask {
    client: A2aClient,
    id: Option<String>,
    background: TaskTracker,
}

impl Drop for OpenTask {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let client = self.client.clone();
        self.background.spawn_on(
            async move {
                // The task may have ended meanwhile, or its agent be gone.
                if let Err(error) = client.cancel(&id).await {
                    tracing::debug!(task = %id, %error, "the task was not canceled");
                }
            },
            &runtime,
        );
    }
}
