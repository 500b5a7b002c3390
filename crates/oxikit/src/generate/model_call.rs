//! The call of a model action, with its chunks passed on.

use std::sync::atomic::Ordering;

use oxikit_core::{Action, ActionKind, Call, Event, Result, Status};
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
    if !stream.out.is_wanted() {
        return model.run(Call::new(request)).await?.parse();
    }
    let mut run = model.start(Call::new(request))?;
    while let Some(event) = run.next().await {
        match event {
            Event::Chunk(chunk) => stream.send(chunk.parse()?).await?,
            Event::Done(response) => return response.parse(),
            Event::Failed(status) => return Err(status),
        }
    }
    Err(Status::cancelled())
}

impl ModelStream {
    pub(crate) async fn send(&self, chunk: GenerateResponseChunk) -> Result<()> {
        self.has_begun.store(true, Ordering::Relaxed);
        self.out
            .send(GenerateResponseChunk {
                role: Some(Role::Model),
                index: Some(self.index),
                ..chunk
            })
            .await
    }
}
