//! The parts that all HTTP servers of oxikit are assembled of: Action HTTP, the agents' API,
//! reflection, the developer tools and the collection of traces. It has no routes of its own.
//!
//! Each part exists once here:
//!
//! | part | see |
//! | --- | --- |
//! | listening, ports, limits of connections, slow senders and readers, shutdown | [`ports`], [`serve`], [`accept`], [`Limits`] |
//! | HTTP/2 without TLS beside HTTP/1.1 | [`Limits::http2_streams`] (feature `http2`) |
//! | checks of `Host`, `Origin` and fetch metadata; CORS | [`SenderCheck`], [`Cors`], [`Edge`] |
//! | tokens, and the count of wrong ones | [`Token`], [`take_token`], [`TokenCheck`], [`WrongCredentials`] |
//! | bodies: media type, size, time; bodies that no handler has read | [`body`], [`answer_and_drain`] |
//! | responses and errors | [`reply`], [`HttpError`] |
//! | streams of server-sent events; readers that resume | [`sse`], [`feed`] |
//! | WebSockets with limits and close codes | [`websocket`] (feature `websocket`) |
//! | access log and metrics | [`Watch`], [`Metrics`] |
//! | panics of handlers | [`guarded`], [`caught`] |
//! | static files | [`static_content`] |
//! | JSON APIs as described tables of routes | [`api`] |
//!
//! A server is assembled of these parts:
//!
//! ```
//! use std::sync::Arc;
//!
//! use axum::body::Body;
//! use axum::http::{Request, Response, StatusCode};
//! use hyper::service::service_fn;
//! use oxikit_http::{Limits, SenderCheck, Shutdown, guarded, reply, serve};
//! use oxikit_core::Status;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! let listener = oxikit_http::ports::bind("127.0.0.1", 0, "`--port`").await?;
//! let sender = Arc::new(SenderCheck::local());
//! let answer = move |_: &tokio::net::TcpStream, _| {
//!     let sender = sender.clone();
//!     service_fn(move |request: Request<hyper::body::Incoming>| {
//!         let sender = sender.clone();
//!         async move {
//!             let work = async {
//!                 sender.check(request.uri(), request.headers())?;
//!                 Ok(reply::json_response(StatusCode::OK, r#"{"hello":"world"}"#))
//!             };
//!             let response = guarded(work).await.unwrap_or_else(|status: Status| reply::error(&status));
//!             Ok::<Response<Body>, std::convert::Infallible>(response)
//!         }
//!     })
//! };
//! let stop = async { /* until Ctrl-C, for example */ };
//! serve(listener, answer, Limits::default(), Shutdown::default(), stop).await;
//! # Ok(()) }
//! ```

mod access_log;
pub mod api;
pub mod body;
mod cors;
mod edge;
mod error;
pub mod feed;
mod framing;
mod framing_guard;
mod limits;
mod listen;
mod metrics;
mod panic_guard;
pub mod ports;
pub mod reply;
mod request_token;
mod sender;
pub mod sse;
mod stall_guard;
pub mod static_content;
mod token;
mod unread;
#[cfg(feature = "websocket")]
pub mod websocket;
mod wrong_credentials;

pub use access_log::Watch;
pub use cors::Cors;
pub use edge::{Edge, peer_address};
pub use error::{HttpError, HttpResult};
pub use limits::Limits;
pub use listen::{Shutdown, accept, serve};
pub use metrics::{Meters, Metrics};
pub use panic_guard::{caught, guarded};
pub use request_token::take_token;
pub use sender::{SenderCheck, is_local_host, is_navigation, single};
pub use token::{Token, TokenCheck, bearer};
pub use unread::answer_and_drain;
pub use wrong_credentials::{WINDOW as WRONG_CREDENTIALS_WINDOW, WrongCredentials};
