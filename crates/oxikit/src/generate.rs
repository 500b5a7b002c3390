//! Generate calls: the loop of model and tools, and the builder in front of it.

mod builder;
pub(crate) mod model_call;
mod reply;
pub(crate) mod request;
mod resume;
mod stream;
pub(crate) mod tool_run;
pub(crate) mod turn;
mod util_action;

pub use builder::{Generate, GenerateExt, ModelRef};
pub use reply::Reply;
pub use stream::GenerateStream;
pub(crate) use turn::Said;
