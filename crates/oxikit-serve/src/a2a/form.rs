//! The form of answers: a version of the protocol in one of its bindings.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode as HttpStatus, header};
use oxikit_core::{OutgoingStatus, Status, StatusCode};
use oxikit_http::reply;
use oxikit_wire::a2a::{
    A2aError, ErrorKind, HttpError, MEDIA_TYPE, StreamResponse, Version, v0_3, write_error,
    write_result,
};
use oxikit_wire::rpc::{RpcError, frame, rpc_code};
use serde::Serialize;
use serde_json::{Value, json};

use super::agent_options::Served;
use super::refusal::Refusal;

/// The version and binding that a client uses.
pub(super) struct Form {
    pub(super) version: Version,
    pub(super) binding: Binding,
    /// Failures are reported under its key.
    pub(super) agent: Arc<Served>,
}

/// How a request and its answers are sent.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    /// One method of JSON-RPC.
    JsonRpc {
        /// The id of the request, as JSON text.
        id: String,
    },
    /// A path for each operation.
    Rest {
        /// The media type that the client has named.
        is_a2a_json: bool,
    },
}

/// An answer that can be written in both versions.
pub(super) trait Answer {
    /// Writes it as JSON, in the form of this version and binding.
    fn write(&self, out: &mut Vec<u8>, version: Version, is_rest: bool) -> serde_json::Result<()>;
}

/// An answer whose JSON is the same in all forms.
pub(super) struct Same<T>(pub(super) T);

impl<T: Serialize> Answer for Same<T> {
    fn write(&self, out: &mut Vec<u8>, _: Version, _: bool) -> serde_json::Result<()> {
        serde_json::to_writer(out, &self.0)
    }
}

/// An object of the protocol.
pub(super) struct Object<T>(pub(super) T);

impl<T> Answer for Object<T>
where
    T: Serialize,
    for<'a> v0_3::Out<'a, T>: Serialize,
{
    fn write(&self, out: &mut Vec<u8>, version: Version, is_rest: bool) -> serde_json::Result<()> {
        match (version, is_rest) {
            (Version::V1_0, _) => serde_json::to_writer(out, &self.0),
            (Version::V0_3, false) => serde_json::to_writer(out, &v0_3::Out::new(&self.0)),
            (Version::V0_3, true) => serde_json::to_writer(out, &v0_3::Out::rest(&self.0)),
        }
    }
}

/// An answer as JSON, without an envelope.
pub(super) fn document(
    answer: &dyn Answer,
    version: Version,
    is_rest: bool,
) -> serde_json::Result<Value> {
    let mut text = Vec::new();
    answer.write(&mut text, version, is_rest)?;
    serde_json::from_slice(&text)
}

/// A refused request as it is answered.
pub(super) struct Refused {
    pub(super) http: HttpStatus,
    pub(super) body: Vec<u8>,
    /// For the access log and the metrics.
    code: StatusCode,
}

impl Form {
    /// The response with this answer.
    pub(super) fn answer(&self, answer: &dyn Answer) -> Result<Response<Body>, Refusal> {
        let mut body = Vec::with_capacity(1024);
        let written = match &self.binding {
            Binding::JsonRpc { id } => {
                frame::response(&mut body, id, |body| answer.write(body, self.version, false))
            }
            Binding::Rest { .. } => answer.write(&mut body, self.version, true),
        };
        written.map_err(Status::from)?;
        Ok(self.response(HttpStatus::OK, body))
    }

    /// An answer as the client reads it, without the envelope of JSON-RPC.
    pub(super) fn document(&self, answer: &dyn Answer) -> serde_json::Result<Value> {
        document(answer, self.version, matches!(self.binding, Binding::Rest { .. }))
    }

    /// Writes one event of a stream.
    pub(super) fn write_event(&self, out: &mut Vec<u8>, event: &StreamResponse, is_last: bool) {
        let written = match (&self.binding, self.version) {
            (Binding::JsonRpc { id }, Version::V1_0) => write_result(out, id, event),
            (Binding::JsonRpc { id }, Version::V0_3) => {
                write_result(out, id, &v0_3::Out::new(event).with_final(is_last))
            }
            (Binding::Rest { .. }, Version::V1_0) => serde_json::to_writer(out, event),
            (Binding::Rest { .. }, Version::V0_3) => {
                serde_json::to_writer(out, &v0_3::Out::rest(event).with_final(is_last))
            }
        };
        // Events are texts and JSON values, which can always be written.
        debug_assert!(written.is_ok(), "{written:?}");
    }

    /// The answer to a refused request. A failure of the server is logged.
    pub(super) fn refuse(&self, refusal: &Refusal) -> Refused {
        let (error, code) = refusal.report(&self.agent.worker.registry, &self.agent.key);
        let http = match &self.binding {
            Binding::JsonRpc { .. } => HttpStatus::OK,
            Binding::Rest { .. } => {
                let http = error.kind.http_status(self.version);
                HttpStatus::from_u16(http).unwrap_or(HttpStatus::INTERNAL_SERVER_ERROR)
            }
        };
        Refused { http, body: self.error_body(&error), code }
    }

    fn error_body(&self, error: &A2aError) -> Vec<u8> {
        let mut body = Vec::new();
        match &self.binding {
            Binding::JsonRpc { id } => write_error(&mut body, id, error, self.version),
            Binding::Rest { .. } => {
                // Numbers and texts, which can always be written.
                body = serde_json::to_vec(&HttpError(error, self.version)).unwrap_or_default();
            }
        }
        body
    }

    /// The response to a refused request.
    pub(super) fn refused(&self, refusal: &Refusal) -> Response<Body> {
        let Refused { http, body, code } = self.refuse(refusal);
        let mut response = self.response(http, body);
        response.extensions_mut().insert(code);
        response
    }

    /// Gives a response of the HTTP edge, such as 401 or 413, a body that clients of the protocol
    /// can read.
    pub(super) fn edge_error(
        &self,
        response: Response<Body>,
        status: &OutgoingStatus,
    ) -> Response<Body> {
        let http = response.status();
        let body = match http {
            _ if http.is_server_error() => self.edge_body(ErrorKind::InternalError, status),
            HttpStatus::UNSUPPORTED_MEDIA_TYPE => {
                self.edge_body(ErrorKind::ContentTypeNotSupported, status)
            }
            _ => self.foreign_body(http, status),
        };
        let (mut head, _) = response.into_parts();
        head.headers.remove(header::CONTENT_LENGTH);
        Response::from_parts(head, Body::from(body))
    }

    fn edge_body(&self, kind: ErrorKind, status: &OutgoingStatus) -> Vec<u8> {
        self.error_body(&A2aError::new(kind).with_detail(&status.message))
    }

    /// The body of an error that the protocol leaves to HTTP. It names no reason of the protocol:
    /// clients would report a refused caller as a malformed request.
    fn foreign_body(&self, http: HttpStatus, status: &OutgoingStatus) -> Vec<u8> {
        let (code, message) = (rpc_code::INVALID_REQUEST, status.message.clone());
        let body = match (&self.binding, self.version) {
            (Binding::JsonRpc { id }, _) => {
                let mut body = Vec::new();
                frame::error_response(&mut body, id, &RpcError { code, message, data: None });
                return body;
            }
            (Binding::Rest { .. }, Version::V0_3) => json!({ "code": code, "message": message }),
            (Binding::Rest { .. }, Version::V1_0) => json!({ "error": {
                "code": http.as_u16(), "status": status.status.name(), "message": message,
            } }),
        };
        body.to_string().into_bytes()
    }

    fn response(&self, http: HttpStatus, body: Vec<u8>) -> Response<Body> {
        let mut response = reply::json_response(http, body);
        if matches!(self.binding, Binding::Rest { is_a2a_json: true }) {
            let media_type = HeaderValue::from_static(MEDIA_TYPE);
            response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        }
        response
    }
}
