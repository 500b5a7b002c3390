//! `/util/generate`: the loop as an action, for the developer tools.

use oxikit_core::{Action, ActionKind, Context, Emitter, Result};
use oxikit_wire::{GenerateActionOptions, GenerateResponse, GenerateResponseChunk};

use super::builder::run_loop;
use super::turn::Said;
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
    let response =
        run_loop(ai, options, Vec::new(), Vec::new(), None, out, Said::default()).await?;
    // What only a caller in this process can use stays here.
    Ok(GenerateResponse { latency_ms: None, raw: None, ..response })
}
