//! The telemetry port and the traces of the API.

mod api;
mod doors;
mod follow;
mod forms;
mod kit;
mod load;
mod otlp;
mod replay;
mod secrets;
