//! A scripted manager at the other end of a pipe, in virtual time.

mod edge_cases;
mod kit;
mod limits;
mod network;
mod reconnect;
mod runs;
#[cfg(feature = "wss")]
mod secured;
