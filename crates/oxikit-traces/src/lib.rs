//! Receives the spans and log lines of all runtimes, stores them, and shows them over HTTP.
//!
//! [`telemetry_routes`] is the port to which runtimes of every language send their spans, in
//! Genkit's own form or by OTLP, and from which the official tools read. [`trace_routes`] is the
//! part of the developer tools' own API about traces, and [`tools`] has the procedures of the
//! official tools' API about them. All of them use one [`TraceStore`], a SQLite file. The crate
//! does not listen: a server puts the routes on its ports.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let folder = std::env::temp_dir().join(format!("oxikit-traces-lib-{}", std::process::id()));
//! # let path = folder.join("traces.db");
//! use axum::body::Body;
//! use axum::http::Request;
//! use oxikit_http::Token;
//! use oxikit_traces::{TelemetryOptions, TraceStore, telemetry_port};
//!
//! let (store, token) = (TraceStore::open(&path)?, Token::random());
//! let port = telemetry_port(store.clone(), token, TelemetryOptions::default());
//! // A runtime posts a trace.
//! let post = Request::post("/api/traces")
//!     .header("host", "localhost")
//!     .header("content-type", "application/json")
//!     .body(Body::from(
//!         r#"{"traceId":"t1","spans":{"s1":{"spanId":"s1","traceId":"t1","startTime":1,
//!             "endTime":2,"attributes":{},"displayName":"greet","spanKind":"INTERNAL",
//!             "instrumentationLibrary":{"name":"my-tracer"}}}}"#,
//!     ))?;
//! assert_eq!(port.answer(post).await.status(), 200);
//! assert_eq!(store.summary("t1").await?.unwrap().name, "greet");
//! # drop((port, store));
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod api;
mod body;
mod follow;
mod hidden_traces;
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
mod store;
pub mod tools;
mod unverified;

pub use api::trace_routes;
pub use api::{
    TRACE_ROUTES, TraceApi, TraceInfo, failure as trace_failure, status as trace_status,
};
pub use hidden_traces::HiddenTraces;
pub use options::TelemetryOptions;
pub use own_processes::{Connection, OwnProcesses};
pub use oxikit_sqlite::Damage;
pub use peer_process::{OwnProcess, RuntimeProcess};
pub use port::TelemetryPort;
pub use routes::telemetry_port;
#[doc(hidden)]
pub use routes::telemetry_route_table;
pub use routes::telemetry_routes;
pub use store::{
    FilterValue, FilterValues, Imported, LogPage, LogQuery, ModelPrice, PrunedTraces, SeenSession,
    SeenSessionPage, SeenSessionQuery, StoredSpan, TokenUsage, TraceError, TraceEvent, TraceFeed,
    TraceFilter, TraceOptions, TracePage, TraceQuery, TraceStatus, TraceStore, TraceSummary,
    TraceWriter,
};
