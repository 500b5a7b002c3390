//! The developer tools call a runtime over HTTP.

mod access;
pub(crate) mod app;
mod child;
mod life;
mod recordings;
mod runs;
mod telemetry;
