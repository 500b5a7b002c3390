//! Watches a request to its end: one line of the access log, and the metrics.
//!
//! The line has target `oxikit::access`. It names what was asked and how it
//! ended; never the query, a header or a body, as these may hold secrets.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{Method, Response};
use oxikit_core::{StatusCode, TraceId};

use crate::metrics::Meters;
use crate::reply;

/// A path of a stranger is cut here.
const PATH_LIMIT: usize = 256;
/// What nginx logs when the client has gone.
const CLIENT_GONE: u16 = 499;

/// One request being watched. It is over when this is dropped; if nobody said how
/// it ended, the client has gone.
#[derive(Default)]
pub(crate) struct Watch(Option<Watched>);

struct Watched {
    started: Instant,
    /// Absent if nobody reads the access log: then nothing is copied for it.
    line: Option<Box<Line>>,
    meters: Option<Arc<Meters>>,
    http: u16,
    code: StatusCode,
    bytes_in: u64,
    chunks: u64,
}

struct Line {
    method: Method,
    path: String,
    trace_id: Option<String>,
}

impl Watch {
    /// A request has come.
    pub(crate) fn start(head: &Parts) -> Self {
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

    /// Counts it as a request of this action.
    pub(crate) fn measure(&mut self, meters: Option<&Arc<Meters>>) {
        if let Some(watched) = &mut self.0
            && let Some(meters) = meters
        {
            meters.begin();
            watched.meters = Some(meters.clone());
        }
    }

    /// Its body has been read.
    pub(crate) fn read(&mut self, bytes: usize) {
        if let Some(watched) = &mut self.0 {
            watched.bytes_in = bytes as u64;
        }
    }

    /// It is answered as a whole.
    pub(crate) fn answered(&mut self, response: &Response<Body>) {
        let Some(watched) = &mut self.0 else { return };
        watched.http = response.status().as_u16();
        watched.code = response.extensions().get().copied().unwrap_or(StatusCode::Ok);
        if let Some(line) = &mut watched.line {
            let trace_id = response.headers().get(reply::TRACE_ID);
            line.trace_id = trace_id.and_then(|id| id.to_str().ok()).map(ToOwned::to_owned);
        }
    }

    /// It is answered by a stream, whose end is still to come.
    pub(crate) fn streams(&mut self, trace_id: TraceId) {
        if let Some(line) = self.0.as_mut().and_then(|watched| watched.line.as_mut()) {
            line.trace_id = Some(trace_id.to_string());
        }
    }

    /// One chunk is on its way.
    pub(crate) fn chunk(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.chunks += 1;
        }
    }

    /// The stream's last block is on its way.
    pub(crate) fn stream_ended(&mut self, code: StatusCode) {
        if let Some(watched) = &mut self.0 {
            watched.http = 200;
            watched.code = code;
        }
    }

    /// Hands the request on to whoever ends it.
    pub(crate) fn take(&mut self) -> Self {
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
