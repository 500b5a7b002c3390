//! Two small agents written by hand: `toy` keeps its sessions, `plain` has them
//! sent along.

use std::sync::{Arc, Mutex};

use oxikit_core::{
    Action, ActionKind, Context, Emitter, Inputs, Registry, Result, Status, StatusCode, json_patch,
};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentFinishReason, AgentInit, AgentInput, AgentOutput,
    AgentStreamChunk, Artifact, GenerateResponseChunk, GetSnapshotRequest, Message, Part,
    RuntimeError, SessionSnapshot, SessionState, SnapshotStatus, TurnEnd,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

#[derive(Default)]
pub(crate) struct Toy {
    snapshots: Mutex<Vec<SessionSnapshot>>,
    inits: Mutex<Vec<Value>>,
    /// A turn was dropped before its end.
    pub(crate) dropped: Notify,
}

/// The result of a turn.
struct Ended {
    message: Option<Message>,
    reason: AgentFinishReason,
}

impl Toy {
    pub(crate) fn register(registry: &Registry) -> Arc<Self> {
        let toy = Arc::new(Self::default());
        for (name, has_store) in [("toy", true), ("plain", false)] {
            let toy = toy.clone();
            let agent = Action::builder(ActionKind::Agent, name).bidi(
                move |init: AgentInit,
                      mut inputs: Inputs<AgentInput>,
                      _: Context,
                      out: Emitter<AgentStreamChunk>| {
                    let toy = toy.clone();
                    async move {
                        let input = inputs.next().await?.unwrap_or_default();
                        toy.inits.lock().unwrap().push(serde_json::to_value(&init)?);
                        toy.invoke(has_store, init, input, &out).await
                    }
                },
            );
            registry.register(agent);
        }
        toy.register_companions(registry);
        toy
    }

    fn register_companions(self: &Arc<Self>, registry: &Registry) {
        let toy = self.clone();
        registry.register(Action::builder(ActionKind::AgentSnapshot, "toy").handler(
            move |request: GetSnapshotRequest| {
                let found = toy.find(&request);
                async move { found.ok_or_else(|| Status::not_found("no such snapshot")) }
            },
        ));
        let toy = self.clone();
        registry.register(Action::builder(ActionKind::AgentAbort, "toy").handler(
            move |AgentAbortRequest { snapshot_id }: AgentAbortRequest| {
                let status = toy.set_status(&snapshot_id, SnapshotStatus::Aborted);
                async move { Ok(AgentAbortResponse { snapshot_id, status }) }
            },
        ));
    }

    /// The inits of all invocations since the last call.
    pub(crate) fn take_inits(&self) -> Vec<Value> {
        std::mem::take(&mut self.inits.lock().unwrap())
    }

    /// Ends detached work; returns the previous status.
    pub(crate) fn set_status(&self, id: &str, status: SnapshotStatus) -> Option<SnapshotStatus> {
        let mut snapshots = self.snapshots.lock().unwrap();
        let snapshot = snapshots.iter_mut().find(|snapshot| snapshot.snapshot_id == id)?;
        let before = snapshot.status;
        if before == Some(SnapshotStatus::Pending) {
            snapshot.status = Some(status);
            let said = Arc::new(Message::model("done at last"));
            snapshot.state.get_or_insert_default().messages.get_or_insert_default().push(said);
            snapshot.error = (status == SnapshotStatus::Failed).then(down);
        }
        before
    }

    fn find(&self, request: &GetSnapshotRequest) -> Option<SessionSnapshot> {
        let snapshots = self.snapshots.lock().unwrap();
        let is_asked_for = |snapshot: &&SessionSnapshot| match &request.snapshot_id {
            Some(id) => snapshot.snapshot_id == *id,
            None => snapshot.session_id == request.session_id,
        };
        snapshots.iter().rev().find(is_asked_for).cloned()
    }

    fn save(
        &self,
        parent_id: Option<String>,
        state: &SessionState,
        status: SnapshotStatus,
    ) -> String {
        let mut snapshots = self.snapshots.lock().unwrap();
        let snapshot_id = format!("snapshot-{}", snapshots.len() + 1);
        snapshots.push(SessionSnapshot {
            snapshot_id: snapshot_id.clone(),
            session_id: state.session_id.clone(),
            parent_id,
            created_at: "2026-11-15T06:32:35.495Z".into(),
            status: Some(status),
            state: Some(state.clone()),
            ..SessionSnapshot::default()
        });
        snapshot_id
    }

    /// The state to go on from, and its snapshot.
    fn start(&self, has_store: bool, init: AgentInit) -> Result<(SessionState, Option<String>)> {
        let fresh = |session_id: Option<String>| {
            let made = || format!("session-{}", self.snapshots.lock().unwrap().len() + 1);
            let session_id = Some(session_id.unwrap_or_else(made));
            SessionState { session_id, ..SessionState::default() }
        };
        match (has_store, init.state) {
            (true, Some(_)) => Err(Status::failed_precondition("Cannot send 'state' to agent")),
            (false, None) if init.snapshot_id.is_some() || init.session_id.is_some() => {
                Err(Status::failed_precondition("Cannot use 'sessionId' with agent"))
            }
            (false, Some(mut state)) => {
                state.session_id.get_or_insert_with(|| "session-0".into());
                Ok((state, None))
            }
            (false, None) => Ok((fresh(None), None)),
            (true, None) => {
                let (session_id, snapshot_id) = (init.session_id, init.snapshot_id);
                if session_id.is_none() && snapshot_id.is_none() {
                    return Ok((fresh(None), None));
                }
                let request = GetSnapshotRequest { session_id: session_id.clone(), snapshot_id };
                match self.find(&request) {
                    Some(found) if found.status == Some(SnapshotStatus::Completed) => {
                        Ok((found.state.unwrap_or_default(), Some(found.snapshot_id)))
                    }
                    Some(_) if request.snapshot_id.is_some() => {
                        Err(Status::invalid_argument("the snapshot is not resumable"))
                    }
                    _ => Ok((fresh(session_id), None)),
                }
            }
        }
    }

    async fn invoke(
        &self,
        has_store: bool,
        init: AgentInit,
        input: AgentInput,
        out: &Emitter<AgentStreamChunk>,
    ) -> Result<AgentOutput> {
        let (before, parent) = self.start(has_store, init)?;
        let session_id = before.session_id.clone();
        let mut state = before.clone();
        state.messages.get_or_insert_default().extend(input.message.clone());
        if input.detach == Some(true) {
            let snapshot_id = Some(self.save(parent, &state, SnapshotStatus::Pending));
            let finish_reason = Some(AgentFinishReason::Detached);
            return Ok(AgentOutput {
                session_id,
                snapshot_id,
                finish_reason,
                ..AgentOutput::default()
            });
        }
        let Ended { message, reason } = self.turn(&mut state, &input, out).await?;
        let has_failed = reason == AgentFinishReason::Failed;
        let mut snapshot_id = parent.clone().filter(|_| has_failed);
        let message = message.map(Arc::new);
        if has_failed {
            state = before;
        } else {
            state.messages.get_or_insert_default().extend(message.clone());
            if has_store {
                snapshot_id = Some(self.save(parent, &state, SnapshotStatus::Completed));
            }
        }
        let turn_end =
            Some(TurnEnd { snapshot_id: snapshot_id.clone(), finish_reason: Some(reason) });
        out.send(AgentStreamChunk { turn_end, ..AgentStreamChunk::default() }).await?;
        Ok(AgentOutput {
            session_id,
            snapshot_id,
            artifacts: state.artifacts.clone(),
            state: (!has_store).then_some(state),
            message,
            finish_reason: Some(reason),
            error: has_failed.then(down),
        })
    }

    async fn turn(
        &self,
        state: &mut SessionState,
        input: &AgentInput,
        out: &Emitter<AgentStreamChunk>,
    ) -> Result<Ended> {
        let said = |text: String| Ended {
            message: Some(Message::model(text)),
            reason: AgentFinishReason::Stop,
        };
        if let Some(resume) = &input.resume {
            return Ok(said(serde_json::to_string(resume)?));
        }
        let text = input.message.as_deref().map(Message::text).unwrap_or_default();
        match text.as_str() {
            "count" => {
                count(state, out).await?;
                Ok(said("counted".into()))
            }
            "fail" => {
                count(state, out).await?;
                Ok(Ended { message: None, reason: AgentFinishReason::Failed })
            }
            "throw" => Err(Status::public(StatusCode::Unavailable, "the model is away")),
            "confirm" => {
                let request = Part::tool_request("confirm", Some("k1".into()), json!({ "q": 1 }));
                let request = request.with_metadata("interrupt", json!({ "why": "careful" }));
                let message = Some(Message::model("asking").with_part(request));
                Ok(Ended { message, reason: AgentFinishReason::Interrupted })
            }
            "wait" => {
                let _guard = NotifyOnDrop(&self.dropped);
                out.send(text_chunk("waiting")).await?;
                std::future::pending().await
            }
            _ => {
                let count = state.messages.as_ref().map_or(0, Vec::len);
                out.send(text_chunk(&format!("echo({count}): "))).await?;
                out.send(text_chunk(&text)).await?;
                Ok(said(format!("echo({count}): {text}")))
            }
        }
    }
}

/// Changes the custom state twice, and makes an artifact.
async fn count(state: &mut SessionState, out: &Emitter<AgentStreamChunk>) -> Result<()> {
    let old = state.custom.as_deref().cloned().unwrap_or_else(|| json!({}));
    let first = json!({ "count": old["count"].as_u64().unwrap_or(0) + 1 });
    let mut second = first.clone();
    second["done"] = json!(true);
    for patch in [json_patch::diff(&Value::Null, &first), json_patch::diff(&first, &second)] {
        let custom_patch = Some(patch);
        out.send(AgentStreamChunk { custom_patch, ..AgentStreamChunk::default() }).await?;
    }
    state.custom = Some(Arc::new(second));
    let doc = Arc::new(Artifact {
        name: Some("doc".into()),
        parts: vec![Part::data(first["count"].clone())],
        metadata: None,
    });
    out.send(AgentStreamChunk { artifact: Some(doc.clone()), ..AgentStreamChunk::default() })
        .await?;
    state.artifacts = Some(vec![doc]);
    Ok(())
}

fn text_chunk(text: &str) -> AgentStreamChunk {
    let model_chunk = Some(GenerateResponseChunk::text(text));
    AgentStreamChunk { model_chunk, ..AgentStreamChunk::default() }
}

fn down() -> RuntimeError {
    RuntimeError {
        status: Some("UNAVAILABLE".into()),
        message: "UNAVAILABLE: model down".into(),
        details: Some(json!({ "retry": true })),
    }
}

struct NotifyOnDrop<'a>(&'a Notify);

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
