//! Serves oxikit actions over HTTP.
//!
//! ```no_run
//! use oxikit::prelude::*;
//!
//! #[tokio::main]
//! async fn main() -> std::io::Result<()> {
//!     let ai = Oxikit::builder().build();
//!     ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
//!     oxikit_serve::serve(&ai).await
//! }
//! ```
//!
//! ```sh
//! curl -d '{"data":"Ada"}' -H 'content-type: application/json' http://127.0.0.1:3400/greet
//! ```

mod access_log;
mod action_http;
mod agents_api;
mod auth;
mod caller;
mod durable;
mod exposed;
mod framing;
mod framing_guard;
mod gate;
#[cfg(feature = "jwt")]
mod jwt;
mod limits;
mod listen;
#[cfg(feature = "log")]
mod log;
mod metrics;
mod openapi;
mod operations;
mod origin;
#[cfg(feature = "otlp")]
mod otlp;
mod panic_guard;
#[cfg(feature = "dev-tools")]
mod reflection;
mod reply;
mod request;
mod server;
mod stall_guard;
mod stream;
mod wrong_keys;

pub use auth::{ApiKey, ContextProvider, Policy, RequestInfo, context_from};
pub use exposed::Expose;
#[cfg(feature = "jwt")]
pub use jwt::{Algorithm, JwtAuth};
pub use limits::Limits;
#[cfg(feature = "log")]
pub use log::init_log;
#[cfg(feature = "dev-tools")]
pub use reflection::{DevConfig, DevTools, dev_log_layer, reflect};
pub use server::{BoundServer, Server, serve};

/// What the server of the developer tools does in the same way. Not for others: it
/// changes without notice.
#[doc(hidden)]
pub mod inside {
    pub use crate::agents_api::{
        Events, ExecuteBody, StreamHead, TurnEvent, activity, shown_state,
    };
    pub use crate::framing_guard::FramingGuard;
    pub use crate::reply::{TRACE_ID, error, error_with, json_response, stream_response};
    pub use crate::request::{Refusal, check_media_type, read_body};
    pub use crate::stall_guard::StallGuard;
    pub use crate::wrong_keys::{WINDOW as WRONG_WINDOW, WrongKeys};
}

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
