//! `/util/generate`: the loop as an action, for the developer tools.

use oxikit_core::{Action, ActionKind, Context, Emitter, Result};
use oxikit_wire::{GenerateActionOptions, GenerateResponse, GenerateResponseChunk};

use super::turn::{GenerateCall, run_loop};
use crate::Oxikit;

impl Oxikit {
    pub(crate) fn define_util_generate(&self) {
        self.registry().register(Action::builder(ActionKind::Util, "generate").handler(generate));
    }
}

async fn generate(
    options: GenerateActionOptions,
    ctx: Context,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let ai = Oxikit::of(ctx.registry());
    let response = run_loop(GenerateCall::new(ai, out), options, Vec::new()).await?;
    // These members are only for callers in this process and are not sent.
    Ok(GenerateResponse { latency_ms: None, raw: None, ..response })
}
