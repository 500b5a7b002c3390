//! The developer tools call a runtime over HTTP.

mod app;
mod door;
mod life;
mod recordings;
mod runs;
