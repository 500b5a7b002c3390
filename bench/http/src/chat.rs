//! An agent whose model says twenty words.

use std::sync::Arc;

use oxikit::Model;
use oxikit::prelude::*;
use oxikit::wire::{FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk};
use oxikit_core::ports::SessionStore;

/// Defines the agent `chat` on this store.
pub(crate) fn define(ai: &Oxikit, store: Arc<dyn SessionStore>) -> anyhow::Result<()> {
    ai.define_model(Model::builder("local/twenty").handler(twenty));
    ai.define_agent(Agent::builder("chat").model("local/twenty").shared_store(store))?;
    Ok(())
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
