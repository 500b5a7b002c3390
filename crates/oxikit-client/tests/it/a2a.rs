//! The client of A2A.

mod bindings;
mod cards;
mod credentials;
mod cut;
mod foreign;
#[cfg(feature = "a2a-grpc")]
mod grpc;
#[cfg(feature = "a2a-grpc")]
mod grpc_peer;
mod headers;
mod kit;
mod proxy;
mod recordings;
mod resuming;
mod server;
#[cfg(feature = "signed-cards")]
mod signatures;
mod tolerance;
mod tools;
