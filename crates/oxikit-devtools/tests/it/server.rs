//! The server of the developer tools, over HTTP.

mod agents;
mod attacks;
mod bridge;
mod doors;
mod evaluations;
pub(crate) mod kit;
mod large_lists;
mod openapi;
mod recordings;
mod resume;
mod runs;
mod senders;
mod sessions;
mod smuggling;
mod storage;
mod trpc;
mod trpc_evaluations;
