//! Resumes detached work whose process has died.
//!
//! Detached work renews a heartbeat in its snapshot. When the heartbeat is too old, the store
//! lists the work as stalled, and every process with that agent tries to take the lease of its
//! session. The one that gets it runs the work again from the parent snapshot; the others find
//! the lease taken and do nothing. So work may run twice, but only one run is stored.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{StalledWork, StoredSnapshot};
use oxikit_core::{Action, ActionContext, Call, Context, Emitter, Registry, Result, notice};
use oxikit_wire::{AgentFinishReason, AgentOutput, SnapshotStatus};

use super::Definition;
use super::begun::Begun;
use super::conversation::Conversation;
use super::detach::Detached;
use super::turn::TurnPlace;
use super::work::Work;
use super::writer::Writer;

/// Interval between two searches for stalled work.
const INTERVAL: Duration = Duration::from_secs(30);
/// Maximum number of lost works that are resumed in one round.
const BATCH: usize = 64;

/// Marks a call of the agent's action that resumes stalled work instead of starting a turn.
struct Resumption(StalledWork);

/// Resumes lost work in tasks of its own. Returns the number of works that were found.
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
            if let Err(status) = run.finish().await {
                registry.report_failure(&key, Some(trace_id), &status);
            }
        });
    }
    Ok(count)
}

/// Searches for stalled work as long as the application lives. Outside of a Tokio runtime there
/// is no task to do so, which is reported. The task holds weak references only: it must not keep
/// the application alive.
pub(super) fn watch(agent: &Arc<Definition>, action: &Action, registry: &Registry) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        notice::warning(format_args!(
            "the agent `{}` was defined outside of a Tokio runtime, so its detached work is not taken up after a crash; define it inside of `#[tokio::main]`",
            agent.name
        ));
        return;
    };
    let (agent, key, registry) =
        (Arc::downgrade(agent), action.key().to_owned(), registry.downgrade());
    runtime.spawn(async move {
        while let (Some(agent), Some(registry)) = (agent.upgrade(), registry.upgrade()) {
            if let Some(action) = registry.get(&key)
                && let Err(status) = recover(&agent, &action, &registry).await
            {
                tracing::warn!(%status, agent = agent.name, "the search for stalled work failed");
            }
            drop((agent, registry));
            tokio::time::sleep(INTERVAL).await;
        }
    });
}

/// Resumes stalled work if this call is a [`Resumption`]; `None` for all other calls.
pub(super) async fn resumption(
    agent: &Arc<Definition>,
    ctx: &Context,
) -> Option<Result<AgentOutput>> {
    let Resumption(stalled) = ctx.extra()?;
    Some(resume_work(agent, ctx, stalled).await)
}

/// Resumes the work if its session is free and its snapshot still pending: another process may
/// have resumed or aborted it meanwhile, which is not an error.
async fn resume_work(
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
    tracing::info!(agent = agent.name, session, snapshot, "detached work was resumed");
    let inputs = serde_json::from_str::<Work>(work)?.inputs;
    let begun = Begun::after(parent, session.clone(), Some(writer));
    let conversation = Conversation::new(agent.clone(), ctx, begun, Emitter::discard());
    let place = TurnPlace { snapshot: Some(snapshot.clone()), parent: row.parent_id, index: 0 };
    conversation
        .run_detached(Detached {
            place,
            running: None,
            waiting: inputs.into(),
            inputs: None,
            work: work.clone(),
            is_resumed: true,
        })
        .await;
    Ok(output)
}
