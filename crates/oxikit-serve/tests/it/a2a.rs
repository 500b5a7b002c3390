//! A2A: both versions and bindings over one server.

mod agents;
mod cards;
mod faults;
#[cfg(feature = "a2a-grpc")]
mod grpc;
mod hostile;
mod interleavings;
mod kit;
mod lifecycle;
mod push;
mod refusals;
mod restarts;
mod scope;
#[cfg(all(feature = "jwt", feature = "mutual-tls"))]
mod security;
#[cfg(feature = "jwt")]
mod signed_cards;
mod slow_store;
mod store_faults;
mod streams;
