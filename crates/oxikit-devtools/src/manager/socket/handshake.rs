//! How a runtime dials in.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::upgrade::OnUpgrade;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::Socket;
use super::transport::Transport;
use crate::manager::connection::Connection;
use crate::manager::gate::{Refusal, WrongTokens, check_sender};
use crate::manager::{Runtimes, Token};

/// The door for runtimes: `/r/{token}`.
///
/// The URL with the token is what a runtime finds in `GENKIT_REFLECTION_V2_SERVER`.
/// No page may dial in, whatever its origin.
pub fn socket_route(runtimes: Runtimes, token: Token) -> Router {
    let door = Arc::new(Door { runtimes, token, wrong_tokens: WrongTokens::default() });
    Router::new().route("/r/{token}", get(dial_in)).with_state(door)
}

struct Door {
    runtimes: Runtimes,
    token: Token,
    wrong_tokens: WrongTokens,
}

async fn dial_in(
    State(door): State<Arc<Door>>,
    Path(presented): Path<String>,
    request: Request,
) -> Response {
    match admit(&door, &presented, request) {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

fn admit(door: &Door, presented: &str, mut request: Request) -> Result<Response, Refusal> {
    check_sender(request.uri(), request.headers())?;
    door.wrong_tokens.check(&door.token, presented)?;
    let accept = accept_key(request.headers())?;
    let upgrade = request.extensions_mut().remove::<OnUpgrade>().ok_or(NOT_A_SOCKET)?;
    let seat = door.runtimes.take_seat().ok_or((
        StatusCode::SERVICE_UNAVAILABLE,
        "too many runtimes are connected; end some of them",
    ))?;
    let runtimes = door.runtimes.clone();
    door.runtimes.spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            let transport = Transport::new(upgraded);
            let max_message = runtimes.options().max_message;
            let socket = Socket::new(transport, max_message, runtimes.share()).await;
            // Boxed: what a socket keeps while it is idle is counted.
            Box::pin(Connection::new(runtimes, socket).serve()).await;
        }
        drop(seat);
    });
    let headers = [
        (UPGRADE, HeaderValue::from_static("websocket")),
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (SEC_WEBSOCKET_ACCEPT, accept),
    ];
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers).into_response())
}

const NOT_A_SOCKET: Refusal = (StatusCode::BAD_REQUEST, "runtimes dial in with a WebSocket");

/// The answer to the key of a handshake, if it is one.
fn accept_key(headers: &HeaderMap) -> Result<HeaderValue, Refusal> {
    if !names(headers, &CONNECTION, "upgrade") || !names(headers, &UPGRADE, "websocket") {
        return Err(NOT_A_SOCKET);
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err((StatusCode::UPGRADE_REQUIRED, "only version 13 of WebSocket is served"));
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).filter(|key| key.len() == 24).ok_or(NOT_A_SOCKET)?;
    HeaderValue::from_str(&derive_accept_key(key.as_bytes())).map_err(|_| NOT_A_SOCKET)
}

/// Whether a header's list holds this word.
fn names(headers: &HeaderMap, header: &HeaderName, word: &str) -> bool {
    let values = headers.get_all(header).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|item| item.trim().eq_ignore_ascii_case(word))
}
