//! An agent whose model says twenty words, on the store that `$STORE` names.

use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::wire::{FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk};
use oxikit::{MemorySessions, Model};
use oxikit_core::ports::SessionStore;
use oxikit_sql::{PostgresStore, SqliteStore};

/// Defines the agent `chat`, on a store in memory unless one is named.
pub(crate) async fn define(ai: &Oxikit, store: Option<&str>) -> anyhow::Result<()> {
    ai.define_model(Model::builder("local/twenty").handler(twenty));
    let chat = Agent::builder("chat").model("local/twenty").shared_store(open(store).await?);
    ai.define_agent(chat)?;
    Ok(())
}

/// Opens a store by its name: `sqlite:<file>` or the URL of a PostgreSQL server.
pub(crate) async fn open(store: Option<&str>) -> anyhow::Result<Arc<dyn SessionStore>> {
    let Some(store) = store.filter(|store| !store.is_empty()) else {
        return Ok(Arc::new(MemorySessions::default()));
    };
    match store.strip_prefix("sqlite:") {
        Some(file) => Ok(Arc::new(SqliteStore::open(file)?)),
        None => Ok(Arc::new(PostgresStore::connect(store).await?)),
    }
}

async fn twenty(
    _: GenerateRequest,
    _: Context,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let mut text = String::new();
    for i in 0..20 {
        let piece = format!("word{i} ");
        text.push_str(&piece);
        out.send(vec![Part::text(piece)].into()).await?;
    }
    Ok(GenerateResponse {
        message: Some(Message::model(text).into()),
        finish_reason: Some(FinishReason::Stop),
        ..Default::default()
    })
}
