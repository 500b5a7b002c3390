//! The telemetry port and the traces of the API.

mod kit;
mod replay;
