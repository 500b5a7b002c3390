//! Prompts (temporary).
use crate::Oxikit;
use oxikit_core::{ActionContext, Result, Status};
use oxikit_wire::GenerateActionOptions;
pub(crate) struct PromptSource;
impl PromptSource {
    pub(crate) async fn render(
        self,
        _: &Oxikit,
        _: ActionContext,
    ) -> Result<GenerateActionOptions> {
        Err(Status::internal("x"))
    }
}
