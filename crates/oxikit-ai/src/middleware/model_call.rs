//! The call of a model action, with its chunks passed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxikit_core::ports::PromptOrigin;
use oxikit_core::{Action, ActionKind, Call, Emitter, Result};
use oxikit_wire::{GenerateRequest, GenerateResponse, GenerateResponseChunk, Operation, Role};

/// Calls the model. Its span records the prompt that the request was made from. Chunks get the role and index of the message they belong to.
pub(super) async fn call_model(
    model: &Action,
    request: GenerateRequest,
    origin: Option<&PromptOrigin>,
    stream: &ModelStream,
) -> Result<GenerateResponse> {
    let call = match origin {
        Some(origin) => Call::new(request).with_labels(origin.attributes()),
        None => Call::new(request),
    };
    if model.kind() == ActionKind::BackgroundModel {
        let operation: Operation = model.run(call).await?.parse()?;
        return Ok(GenerateResponse { operation: Some(operation), ..Default::default() });
    }
    model.run_into(call, &stream.out).await?.parse()
}

/// The emitter for the chunks of a model's answer. It notes whether a chunk was sent.
#[derive(Debug)]
pub(crate) struct ModelStream {
    pub(crate) out: Emitter<GenerateResponseChunk>,
    pub(crate) has_begun: Arc<AtomicBool>,
}

impl ModelStream {
    /// Passes pieces of the message with this index on.
    pub(crate) fn new(out: &Emitter<GenerateResponseChunk>, index: u64) -> Self {
        let has_begun = Arc::new(AtomicBool::new(false));
        let begun = has_begun.clone();
        let out = out.filter_map(move |chunk: GenerateResponseChunk| {
            begun.store(true, Ordering::Relaxed);
            let (role, index) = (Some(Role::Model), Some(index));
            Ok(Some(GenerateResponseChunk { role, index, ..chunk }))
        });
        Self { out, has_begun }
    }
}
