//! The developer tools call a runtime over HTTP.

pub(crate) mod app;
mod child;
mod door;
mod life;
mod recordings;
mod runs;
mod telemetry;
