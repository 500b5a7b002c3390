//! Spans and log lines of all runtimes: taken in, stored, and shown.
//!
//! [`telemetry_routes`] is the port that runtimes of every language send to, in
//! Genkit's own form or by OTLP, and that the official tools read from.
//! [`trace_routes`] is the part of the developer tools' own API that shows traces,
//! and [`tools`] has what the official tools' API says about them. All of it is in
//! one [`TraceStore`](oxikit_sql::TraceStore).

mod answer;
mod api;
mod body;
mod follow;
mod looks;
mod native;
mod official;
mod options;
mod otlp;
mod own_processes;
mod path;
mod peer_process;
mod port;
mod query;
mod routes;
mod secrets;
pub mod tools;
mod unverified;

pub use api::trace_routes;
pub(crate) use api::{TRACE_ROUTES, failure as trace_failure, status as trace_status};
pub(crate) use looks::Looks;
pub use options::TelemetryOptions;
pub(crate) use own_processes::{Connection, OwnProcess, OwnProcesses};
pub(crate) use port::TelemetryPort;
pub(crate) use routes::telemetry_port;
pub use routes::telemetry_routes;
