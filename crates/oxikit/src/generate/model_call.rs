//! The call of a model action, with its chunks passed on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxikit_core::{Action, ActionKind, Call, Emitter, Result};
use oxikit_wire::{GenerateRequest, GenerateResponse, GenerateResponseChunk, Operation, Role};

use crate::middleware::ModelStream;

/// Calls the model. Chunks get the role and index of the message they belong to.
pub(crate) async fn call_model(
    model: &Action,
    request: GenerateRequest,
    stream: &ModelStream,
) -> Result<GenerateResponse> {
    if model.kind() == ActionKind::BackgroundModel {
        let operation: Operation = model.run(Call::new(request)).await?.parse()?;
        return Ok(GenerateResponse { operation: Some(operation), ..Default::default() });
    }
    model.run_into(Call::new(request), &stream.out).await?.parse()
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
