//! The manager's side of reflection: the runtimes of a project, in every language and over
//! both protocols.
//!
//! A runtime connects by WebSocket (V2, [`socket_route`]), or is found by its file below
//! `.genkit/runtimes` and called over HTTP (V1, [`Runtimes::discover`]). [`Runtimes`] hides the
//! difference: it lists the runtimes and their actions, and runs the actions. A running action
//! is a [`RunHandle`], which yields chunks as JSON text and then the outcome.
//!
//! ```
//! use oxikit_manager::{ManagerOptions, RunSpec, Runtimes};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let runtimes = Runtimes::new(ManagerOptions::default());
//! let spec = RunSpec::new(r#"{"key":"/flow/tellJoke","input":"tea"}"#);
//! let error = runtimes.run(spec).await.unwrap_err();
//! assert!(error.message.unwrap().starts_with("no runtime is connected"));
//! # }
//! ```
//!
//! Runtimes are isolated from each other: a connection has one runtime id, an id in use is not
//! given to another connection, and a response counts only if it comes from the runtime that
//! was sent the request.

mod block_in_place;
mod chunk_queue;
mod connection;
mod connection_handle;
mod failure;
mod http;
mod incoming;
mod listing;
mod options;
mod outcome;
mod outgoing;
mod overflow_budget;
mod run;
mod runtimes;
mod session_request;
mod shared_listing;
mod socket_peer;
mod socket_route;
mod spec;
mod target;

pub use block_in_place::block_in_place_if_large;
pub use listing::{ActionList, ListedAction, SkippedAction};
pub use options::ManagerOptions;
pub use outcome::RunOutcome;
pub use run::RunHandle;
pub use runtimes::{CONNECTED_FILE_PREFIX, is_alive};
pub use runtimes::{ManagerCounts, Preferred, RuntimeInfo, Runtimes};
pub use session_request::SessionRequest;
pub use socket_route::socket_route;
pub use spec::RunSpec;
