//! Handlers that sign a browser in and out.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{ConnectInfo, State};
use axum::http::HeaderValue;
use axum::http::header::SET_COOKIE;
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::shared::Shared;
use crate::sign_in::{CODE_TIME, SignedIn};
use oxikit_http::HttpResult;
use oxikit_http::api::{Done, JsonText, Nothing, exact_object, json as answer};

/// The code of a URL that the tools have printed.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SignInRequest {
    /// The text after `#code=`.
    code: String,
}

/// A new code.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewCode {
    /// The URL to open in a browser, `http://127.0.0.1:4000/#code=…`.
    url: String,
    /// Seconds in which it must be opened. It works once.
    expires_in: u64,
}

/// `POST /api/v1/sign-in`: exchanges a one-time code for a cookie. It needs no token.
pub(crate) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    JsonText(body): JsonText,
) -> HttpResult {
    let SignInRequest { code } = exact_object(&body)?;
    with_cookie(&shared.sign_in.exchange(peer.ip(), &code)?)
}

/// `POST /api/v1/sign-out`: ends the cookie of the browser.
pub(crate) async fn sign_out(
    State(shared): State<Arc<Shared>>,
    signed_in: Option<Extension<SignedIn>>,
    _: Nothing,
) -> HttpResult {
    with_cookie(&shared.sign_in.sign_out(signed_in.as_deref()))
}

/// `POST /api/v1/sign-in/codes`: makes a one-time code with which another browser signs in.
pub(crate) async fn create_code(State(shared): State<Arc<Shared>>, _: Nothing) -> HttpResult {
    let code = shared.sign_in.new_code(Some(CODE_TIME));
    let url = format!("{}/#code={code}", shared.base_url);
    answer(&NewCode { url, expires_in: CODE_TIME.as_secs() })
}

fn with_cookie(cookie: &str) -> HttpResult {
    let cookie = HeaderValue::from_str(cookie)
        .map_err(|error| Status::internal("the cookie cannot be written").caused_by(error))?;
    let mut response = answer(&Done {})?;
    response.headers_mut().insert(SET_COOKIE, cookie);
    Ok(response)
}
