//! The opening handshake of a WebSocket.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use hyper::upgrade::{OnUpgrade, Upgraded};
use oxikit_core::Status;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::error::HttpError;

/// A correct request to open a WebSocket.
#[derive(Debug)]
pub struct Handshake {
    accept: HeaderValue,
    upgrade: OnUpgrade,
}

impl Handshake {
    /// Reads the handshake of a request. The caller has checked the host, the origin and the
    /// token before.
    ///
    /// # Errors
    ///
    /// 400 if the request is not a handshake, 426 if it is one of another version.
    pub fn read(request: &mut Request) -> Result<Self, HttpError> {
        let accept = accept_key(request.headers())?;
        let upgrade = request.extensions_mut().remove::<OnUpgrade>();
        Ok(Self { accept, upgrade: upgrade.ok_or_else(not_a_handshake)? })
    }

    /// The response that accepts the handshake, and a future that resolves to the connection
    /// once the response was sent.
    pub fn accept(self) -> (Response<Body>, impl Future<Output = hyper::Result<Upgraded>>) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = HttpStatus::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, self.accept);
        (response, self.upgrade)
    }
}

fn not_a_handshake() -> HttpError {
    Status::invalid_argument("this address is for WebSocket connections").into()
}

/// The value of `Sec-WebSocket-Accept` for this handshake.
fn accept_key(headers: &HeaderMap) -> Result<HeaderValue, HttpError> {
    if !lists(headers, &CONNECTION, "upgrade") || !lists(headers, &UPGRADE, "websocket") {
        return Err(not_a_handshake());
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        let status = Status::invalid_argument("only version 13 of WebSocket is served");
        return Err(HttpError::new(HttpStatus::UPGRADE_REQUIRED, status));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24);
    let key = key.ok_or_else(not_a_handshake)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).map_err(|_| not_a_handshake())
}

/// Whether a header lists this value, as `Connection: keep-alive, upgrade` does.
fn lists(headers: &HeaderMap, header: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
}
