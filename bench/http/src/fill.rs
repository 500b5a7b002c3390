//! Fills a store with sessions, for those who measure lists.

use std::sync::Arc;

use futures_util::StreamExt;
use oxikit::Message;
use oxikit::wire::{AgentFinishReason, SessionSnapshot, SessionState, SnapshotStatus};
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite};

/// Number of concurrent writes, so that commits are shared.
const AT_ONCE: usize = 512;

/// Writes `sessions` sessions of one turn each; every tenth is active.
pub(crate) async fn fill(store: Arc<dyn SessionStore>, sessions: u32) -> anyhow::Result<()> {
    let owner = Owner::nobody();
    let message = Arc::new(Message::user("what is this about?"));
    let writes = futures_util::stream::iter(0..sessions).map(|number| {
        let (store, owner, message) = (&store, &owner, &message);
        async move {
            let (session, snapshot) = (format!("session-{number}"), format!("snapshot-{number}"));
            let is_active = number % 10 == 0;
            let row = SessionSnapshot {
                created_at: "2026-11-15T06:32:35.495Z".to_owned(),
                status: Some(SnapshotStatus::Completed),
                finish_reason: is_active.then_some(AgentFinishReason::Interrupted),
                state: Some(SessionState {
                    messages: Some(vec![message.clone()]),
                    ..SessionState::default()
                }),
                ..SessionSnapshot::default()
            };
            let write = SnapshotWrite::new(owner, "chat", &session, &snapshot);
            store.save(write, &|_| Ok(Some(row.clone()))).await
        }
    });
    let mut written = writes.buffer_unordered(AT_ONCE);
    while let Some(result) = written.next().await {
        result?;
    }
    Ok(())
}
