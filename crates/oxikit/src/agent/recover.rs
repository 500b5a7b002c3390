//! Detached work that has lost its process is taken up again.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{StalledWork, StoredSnapshot};
use oxikit_core::{Action, ActionContext, Call, Context, Emitter, Registry, Result};
use oxikit_wire::{AgentFinishReason, AgentInput, AgentOutput, JsonObject, SnapshotStatus};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Definition;
use super::conversation::Conversation;
use super::detach::Detached;
use super::start::Begun;
use super::turn::TurnPlace;
use super::writer::Writer;

/// How often to look for work that was lost.
const INTERVAL: Duration = Duration::from_secs(30);
/// So much is taken up at once.
const BATCH: usize = 64;

/// What it takes to start detached work again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Work {
    inputs: Vec<AgentInput>,
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    context: JsonObject,
}

impl Work {
    /// These inputs, for this caller. Who it is stays known; its credentials do not.
    pub(super) fn new(inputs: Vec<AgentInput>, caller: &ActionContext) -> Self {
        let mut context = JsonObject::new();
        for member in ["auth", "tenant"] {
            if let Some(value) = caller.get(member) {
                let mut value = value.clone();
                if let Value::Object(members) = &mut value {
                    members.retain(|name, value| !(value.is_string() && is_credential(name)));
                }
                context.insert(member.to_owned(), value);
            }
        }
        Self { inputs, context }
    }

    pub(super) fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }
}

fn is_credential(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["token", "key", "secret", "password", "authorization", "cookie"]
        .iter()
        .any(|word| name.contains(word))
}

/// Tells the agent's action that it goes on with something.
struct Resumption(StalledWork);

/// Takes up what was lost; answers how much. The work goes on in tasks.
pub(super) async fn recover(
    agent: &Definition,
    action: &Action,
    registry: &Registry,
) -> Result<usize> {
    let stalled = agent.store()?.stalled(&agent.name, BATCH).await?;
    let count = stalled.len();
    for stalled in stalled {
        let Ok(work) = serde_json::from_str::<Work>(&stalled.work) else {
            tracing::error!(snapshot = stalled.snapshot, "detached work cannot be read any more");
            continue;
        };
        let call = Call::empty()
            .independent()
            .without_chunks()
            .in_registry(registry)
            .with_context(ActionContext::from(work.context))
            .with_extra(Resumption(stalled));
        let run = action.start(call)?;
        let (key, trace_id) = (action.key().to_owned(), run.trace_id());
        let registry = registry.clone();
        tokio::spawn(async move {
            if let Err(status) = run.output().await {
                registry.report_failure(&key, Some(trace_id), &status);
            }
        });
    }
    Ok(count)
}

/// Looks for lost work as long as the application lives.
pub(super) fn watch(agent: &Arc<Definition>, action: &Action, registry: &Registry) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let (agent, key, registry) =
        (Arc::downgrade(agent), action.key().to_owned(), registry.downgrade());
    runtime.spawn(async move {
        while let (Some(agent), Some(registry)) = (agent.upgrade(), registry.upgrade()) {
            if let Some(action) = registry.get(&key)
                && let Err(status) = recover(&agent, &action, &registry).await
            {
                tracing::warn!(%status, agent = agent.name, "lost work cannot be looked for");
            }
            drop((agent, registry));
            tokio::time::sleep(INTERVAL).await;
        }
    });
}

/// Goes on with work that was lost, if this call is for that.
pub(super) async fn resumption(
    agent: &Arc<Definition>,
    ctx: &Context,
) -> Option<Result<AgentOutput>> {
    let Resumption(stalled) = ctx.extra()?;
    Some(go_on(agent, ctx, stalled).await)
}

async fn go_on(
    agent: &Arc<Definition>,
    ctx: &Context,
    stalled: &StalledWork,
) -> Result<AgentOutput> {
    let StalledWork { owner, session, snapshot, work } = stalled;
    let output = AgentOutput {
        session_id: Some(session.clone()),
        snapshot_id: Some(snapshot.clone()),
        finish_reason: Some(AgentFinishReason::Detached),
        ..AgentOutput::default()
    };
    let store = agent.store()?.clone();
    let mut writer = Writer::new(agent.clone(), store.clone(), owner.clone(), session.clone());
    if !writer.take_if_free().await? {
        return Ok(output);
    }
    let Some(StoredSnapshot { snapshot: row, .. }) = store
        .get(owner, snapshot)
        .await?
        .filter(|stored| stored.snapshot.status == Some(SnapshotStatus::Pending))
    else {
        return Ok(output);
    };
    let parent = match &row.parent_id {
        Some(parent) => store.get(owner, parent).await?.map(|stored| stored.snapshot),
        None => None,
    };
    tracing::info!(agent = agent.name, session, snapshot, "detached work is taken up again");
    let inputs = serde_json::from_str::<Work>(work)?.inputs;
    let begun = Begun::after(parent, session.clone(), Some(writer));
    let conversation = Conversation::new(agent.clone(), ctx, begun, Emitter::discard());
    let place = TurnPlace { snapshot: Some(snapshot.clone()), parent: row.parent_id, index: 0 };
    conversation
        .go_on(Detached {
            place,
            running: None,
            waiting: inputs.into(),
            inputs: None,
            work: work.clone(),
            is_taken_up: true,
        })
        .await;
    Ok(output)
}
