//! The server of the developer tools, over HTTP.

mod agents;
mod attacks;
mod bridge;
mod doors;
mod evaluations;
pub(crate) mod kit;
mod recordings;
mod runs;
mod sessions;
mod storage;
mod trpc;
mod trpc_evaluations;
