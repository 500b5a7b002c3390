//! Generate calls: the loop of model and tools, and the builder in front of it.
//!
//! [`Generate`] collects options. The loop (`turn`) resolves the model and the tools, asks the
//! model, runs the tools that it asks for, and asks again, until the model answers without a
//! tool request, a tool interrupts, or the maximum of rounds is reached. Middleware wraps each
//! of these steps.

mod builder;
mod model_ref;
mod overlay;
mod reply;
pub(crate) mod request;
mod resume;
mod stream;
mod tool_run;
mod turn;
mod util_action;

pub use builder::{Generate, GenerateExt};
pub(crate) use builder::{PromptTemplate, RenderedPrompt};
pub use model_ref::ModelRef;
pub use reply::Reply;
pub use stream::GenerateStream;
pub(crate) use turn::AddedMessages;
