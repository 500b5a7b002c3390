//! Embedders that are called through rig.

use oxikit_ai::Result;
use rig_core::DynModel;
use rig_core::operation::Embedding;

use crate::provider::EmbedCall;

/// Embeds the texts in batches, each as large as the provider accepts in one request. The first
/// batch that fails ends the call.
pub(crate) async fn in_batches(
    model: &DynModel<Embedding>,
    call: &EmbedCall,
) -> Result<Vec<Vec<f32>>> {
    let batch = model.capabilities().max_documents.max(1);
    let mut vectors = Vec::with_capacity(call.texts.len());
    for texts in call.texts.chunks(batch) {
        let response =
            model.call(texts.to_vec()).await.map_err(|error| call.link.failure(error))?;
        let narrowed = response
            .embeddings
            .into_iter()
            .map(|embedding| embedding.vec.into_iter().map(|number| number as f32).collect());
        vectors.extend(narrowed);
    }
    Ok(vectors)
}
