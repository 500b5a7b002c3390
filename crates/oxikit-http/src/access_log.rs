//! Records each request when it ends: one line of the access log, and the metrics.
//!
//! The line has target `oxikit::access`. It has the method, the path and the outcome; never the
//! query, a header or a body, as these may hold secrets.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Response, StatusCode as HttpStatus};
use oxikit_core::{StatusCode, TraceId};

use crate::metrics::Meters;
use crate::reply::TRACE_ID;

/// Maximum number of bytes of a path in the log. Longer paths are cut.
const PATH_LIMIT: usize = 256;
/// The status that nginx logs when the client has closed the connection.
const CLIENT_GONE: u16 = 499;

/// The record of one request. It is written when this is dropped; without a call of
/// [`answered`](Self::answered) or [`stream_ended`](Self::stream_ended) the client has closed
/// the connection (499).
///
/// The default records nothing.
#[derive(Debug, Default)]
pub struct Watch(Option<Watched>);

/// A request that is recorded. The record is written by `Drop`, so that it is also written when the
/// handler is cancelled.
#[derive(Debug)]
struct Watched {
    started: Instant,
    /// `None` if the access log is off: then nothing is copied for it.
    line: Option<Box<Line>>,
    meters: Option<Arc<Meters>>,
    http: u16,
    code: StatusCode,
    bytes_in: u64,
    chunks: u64,
}

/// The members of the line that have to be copied from the request.
#[derive(Debug)]
struct Line {
    method: Method,
    path: String,
    trace_id: Option<String>,
}

impl Watch {
    /// Starts the record of a request.
    pub fn start(head: &Parts) -> Self {
        let is_logged = tracing::enabled!(target: "oxikit::access", tracing::Level::INFO);
        let line = is_logged.then(|| Box::new(Line::new(head)));
        Self(Some(Watched {
            started: Instant::now(),
            line,
            meters: None,
            http: CLIENT_GONE,
            code: StatusCode::Cancelled,
            bytes_in: 0,
            chunks: 0,
        }))
    }

    /// Counts the request in the metrics of this action.
    pub fn measure(&mut self, meters: Option<&Arc<Meters>>) {
        if let Some(watched) = &mut self.0
            && let Some(meters) = meters
        {
            meters.begin();
            watched.meters = Some(meters.clone());
        }
    }

    /// Records the number of bytes of the request body.
    pub fn read(&mut self, bytes: usize) {
        if let Some(watched) = &mut self.0 {
            watched.bytes_in = bytes as u64;
        }
    }

    /// Records the response of a request that is not answered by a stream.
    pub fn answered(&mut self, response: &Response<Body>) {
        let Some(watched) = &mut self.0 else { return };
        watched.http = response.status().as_u16();
        // The error response carries its code as an extension: several codes share an HTTP status.
        watched.code = response.extensions().get().copied().unwrap_or(StatusCode::Ok);
        if response.status() == HttpStatus::SWITCHING_PROTOCOLS {
            // The connection goes on. Clients of WebSockets reconnect for ever, and each attempt
            // would be a line.
            watched.line = None;
        }
        if let Some(line) = &mut watched.line {
            let trace_id = response.headers().get(TRACE_ID);
            line.trace_id = trace_id.and_then(|id| id.to_str().ok()).map(ToOwned::to_owned);
        }
    }

    /// Records the trace of a request that is answered by a stream.
    /// [`stream_ended`](Self::stream_ended) follows when the stream is complete.
    pub fn streams(&mut self, trace_id: TraceId) {
        if let Some(line) = self.0.as_mut().and_then(|watched| watched.line.as_mut()) {
            line.trace_id = Some(trace_id.to_string());
        }
    }

    /// Counts one chunk that was sent.
    pub fn chunk(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.chunks += 1;
        }
    }

    /// Records how a stream has ended.
    pub fn stream_ended(&mut self, code: StatusCode) {
        if let Some(watched) = &mut self.0 {
            watched.http = 200;
            watched.code = code;
        }
    }

    /// Moves the record out, to the task or stream that completes the request; this one records
    /// nothing from now on.
    pub fn take(&mut self) -> Self {
        Self(self.0.take())
    }
}

impl Line {
    fn new(head: &Parts) -> Self {
        let path = head.uri.path();
        // A path in a request line is ASCII, so every index is a boundary.
        let path = path.get(..PATH_LIMIT).unwrap_or(path).to_owned();
        Self { method: head.method.clone(), path, trace_id: None }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let duration = self.started.elapsed();
        if let Some(meters) = &self.meters {
            meters.end(self.code, duration, self.bytes_in, self.chunks);
        }
        let Some(line) = &self.line else { return };
        tracing::info!(
            target: "oxikit::access",
            method = line.method.as_str(),
            path = line.path,
            status = self.http,
            code = self.code.name(),
            duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            trace_id = line.trace_id,
            bytes_in = self.bytes_in,
            chunks = self.chunks,
            "request"
        );
    }
}
