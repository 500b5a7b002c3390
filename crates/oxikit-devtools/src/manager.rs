//! The manager's side of reflection: all runtimes of a project, however they are
//! reached.
//!
//! A runtime dials in over a socket (V2, [`socket_route`]) or is found by its file
//! below `.genkit/runtimes` and called over HTTP (V1, [`Runtimes::discover`]).
//! [`Runtimes`] is the same for both: it lists them, asks what they offer, and runs
//! their actions. A running action is a [`RunHandle`]: chunks as the text they came
//! as, then an end.
//!
//! What a peer may do to the others is nothing: a connection has one id, an id in
//! use is not given away, and answers count only from the connection that was
//! asked.

mod apart;
mod backlog;
mod connection;
mod failure;
pub(crate) mod gate;
mod http;
mod incoming;
mod line;
mod listing;
mod listing_share;
mod mailbox;
mod options;
mod peer;
mod run;
mod runtimes;
mod session_request;
mod socket;
mod spec;
mod target;
mod token;
mod unfinished;

pub(crate) use apart::apart;
pub use listing::{ActionList, ListedAction, SkippedAction};
pub use options::ManagerOptions;
pub use run::{RunHandle, RunOutcome};
pub use runtimes::{ManagerCounts, Preferred, RuntimeInfo, Runtimes};
pub(crate) use runtimes::{STAND_IN, is_alive};
pub(crate) use session_request::SessionRequest;
pub use socket::socket_route;
pub use spec::RunSpec;
pub use token::Token;
