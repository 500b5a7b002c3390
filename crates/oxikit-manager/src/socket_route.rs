//! The HTTP route at which runtimes open their WebSocket.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::get;
use oxikit_core::{Status, StatusCode};
use oxikit_http::websocket::{Handshake, Socket};
use oxikit_http::{HttpError, SenderCheck, Token, TokenCheck, peer_address};

use super::connection::Connection;
use super::runtimes::Runtimes;

/// The route at which runtimes connect: `/r/{token}`.
///
/// Set `GENKIT_REFLECTION_V2_SERVER` of an application to this URL. Requests with an `Origin`
/// header are rejected, so no web page can connect.
///
/// The checks run before the handshake: a foreign `Host` or `Origin` is answered with 403, a wrong
/// token with 401 (429 after several ones from the same address), and a connection above
/// [`ManagerOptions::max_sockets`](crate::ManagerOptions::max_sockets) with 503. The connections are
/// tasks of `runtimes` and end with [`Runtimes::shutdown`].
///
/// ```
/// use oxikit_http::Token;
/// use oxikit_manager::{ManagerOptions, Runtimes, socket_route};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let runtimes = Runtimes::new(ManagerOptions::default());
/// let router: axum::Router = socket_route(runtimes, Token::random());
/// # }
/// ```
pub fn socket_route(runtimes: Runtimes, token: Token) -> Router {
    let sender = SenderCheck::local_programs();
    let port = Arc::new(RuntimePort { runtimes, sender, token: TokenCheck::new(token) });
    Router::new().route("/r/{token}", get(connect)).with_state(port)
}

/// The state of the route.
struct RuntimePort {
    runtimes: Runtimes,
    sender: SenderCheck,
    token: TokenCheck,
}

/// Checks the headers and the token, accepts the WebSocket and spawns its connection.
async fn connect(
    State(port): State<Arc<RuntimePort>>,
    Path(presented): Path<String>,
    mut request: Request,
) -> Result<Response, HttpError> {
    port.sender.check(request.uri(), request.headers())?;
    let peer = peer_address(request.extensions());
    port.token.check(peer, &presented, "the token in the path is wrong")?;
    let handshake = Handshake::read(&mut request)?;
    let slot = port.runtimes.take_slot().ok_or_else(|| {
        let message = "too many runtimes are connected: stop some of them";
        Status::public(StatusCode::Unavailable, message)
    })?;
    let runtimes = port.runtimes.clone();
    let (response, upgraded) = handshake.accept();
    port.runtimes.spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            let max_message = runtimes.options().max_message;
            let socket = Socket::new(upgraded, max_message, runtimes.share()).await;
            // Boxed: the future of a connection is large, and an idle task would keep it inline.
            Box::pin(Box::new(Connection::new(runtimes, socket)).serve()).await;
        }
        drop(slot);
    });
    Ok(response)
}
