//! One client: it sends its turns in one session, and repeats a turn that fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use oxikit::Message;
use oxikit_client::RemoteAction;
use oxikit_core::{Status, StatusCode};
use oxikit_wire::{AgentFinishReason, AgentInit, AgentInput, AgentOutput};
use tokio::time::sleep;

use super::progress::Progress;
use crate::seen::{Log, Seen};

const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause after `ABORTED`, when other clients hold the lease of the same session. It is
/// longer, so that few of them ask at the same time.
const LONGEST_PAUSE_IF_BUSY: Duration = Duration::from_millis(400);

pub(super) struct Conversation {
    /// Prefix of its tokens.
    pub(super) name: String,
    pub(super) client: usize,
    pub(super) session: String,
    /// Whether it sends the id of the snapshot to continue from; else that of the session.
    pub(super) follows_snapshots: bool,
    pub(super) turns: usize,
    /// Maximum number of attempts per turn.
    pub(super) attempts: usize,
    /// The same agent on several servers.
    pub(super) actions: Arc<[RemoteAction]>,
    pub(super) log: Arc<Log>,
    pub(super) progress: Arc<Progress>,
}

impl Conversation {
    pub(super) async fn run(self) -> Result<()> {
        let mut last = None;
        for turn in 0..self.turns {
            let Some(seen) = self.send_until_acknowledged(turn, last.as_deref()).await else {
                break;
            };
            self.log.add(&seen)?;
            last = Some(seen.snapshot).filter(|_| self.follows_snapshots);
        }
        Ok(())
    }

    /// Repeats one turn until it is acknowledged. Every attempt has its own token: an attempt
    /// without a response may be stored completely or not at all.
    async fn send_until_acknowledged(&self, turn: usize, from: Option<&str>) -> Option<Seen> {
        let mut pause = FIRST_PAUSE;
        for attempt in 0..self.attempts {
            let token = format!("{}.{}.{turn}.{attempt}", self.name, self.client);
            let action = &self.actions[(self.client + turn + attempt) % self.actions.len()];
            let sent = self.progress.sent();
            let mut is_busy = false;
            match self.send(action, &token, from).await {
                Ok(output) => {
                    if let Some(seen) = self.seen(output, token, from, sent) {
                        self.progress.succeeded(self.client, sent);
                        return Some(seen);
                    }
                }
                Err(status) => {
                    self.progress.failed(&status, sent);
                    is_busy = status.code() == StatusCode::Aborted;
                }
            }
            sleep(pause.mul_f64(fastrand::f64())).await;
            let longest = if is_busy { LONGEST_PAUSE_IF_BUSY } else { LONGEST_PAUSE };
            pause = (pause * 2).min(longest);
        }
        None
    }

    async fn send(
        &self,
        action: &RemoteAction,
        token: &str,
        from: Option<&str>,
    ) -> Result<AgentOutput, Status> {
        let init = match from {
            Some(snapshot) => {
                AgentInit { snapshot_id: Some(snapshot.to_owned()), ..AgentInit::default() }
            }
            None => AgentInit { session_id: Some(self.session.clone()), ..AgentInit::default() },
        };
        let message = Some(Arc::new(Message::user(token)));
        let input = AgentInput { message, ..AgentInput::default() };
        action.clone().with_init(init).run(&input).await
    }

    /// The acknowledged turn; `None` if the response is a failure.
    fn seen(
        &self,
        output: AgentOutput,
        token: String,
        from: Option<&str>,
        sent: Instant,
    ) -> Option<Seen> {
        let AgentOutput { snapshot_id: Some(snapshot), message: Some(message), .. } = &output
        else {
            self.refuse(&output, sent);
            return None;
        };
        if output.finish_reason == Some(AgentFinishReason::Failed) {
            self.refuse(&output, sent);
            return None;
        }
        Some(Seen {
            session: self.session.clone(),
            client: self.client,
            token,
            text: message.text(),
            snapshot: snapshot.clone(),
            from: from.map(ToOwned::to_owned),
        })
    }

    fn refuse(&self, output: &AgentOutput, sent: Instant) {
        self.progress.refused(sent);
        eprintln!("session {}: {:?}", self.session, output.error);
    }
}
