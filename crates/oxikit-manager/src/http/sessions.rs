//! Requests about sessions over HTTP: the REST API for agents, which only runtimes of oxikit
//! have.

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::SessionActivity;
use oxikit_wire::headers;
use oxikit_wire::rpc::{ErrorData, ForkSessionParams, ListSessionsParams};
use reqwest::{Method, RequestBuilder};
use serde::Deserialize;
use serde_json::json;

use super::{HttpPeer, MAX_ERROR_BODY, encoded, status_error};
use crate::failure::failure;
use crate::session_request::SessionRequest;

/// An error response of the REST API for agents.
#[derive(Deserialize)]
struct ApiError {
    status: String,
    message: String,
}

impl HttpPeer {
    /// Sends a request about sessions. The context of the caller goes into a header.
    pub(crate) async fn ask_sessions(&self, request: &SessionRequest) -> Result<Bytes, ErrorData> {
        let mut call = self.session_call(request).timeout(self.options.call_timeout);
        if let Some(context) = request.context() {
            let context = serde_json::to_string(context).unwrap_or_default();
            call = call.header(headers::CONTEXT, encoded(&context).to_string());
        }
        let answer = call.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return self.body(answer, self.options.max_message).await;
        }
        let text = self.body(answer, MAX_ERROR_BODY).await.unwrap_or_default();
        Err(session_error(status, &text))
    }

    /// The HTTP request for each kind of session request.
    fn session_call(&self, request: &SessionRequest) -> RequestBuilder {
        match request {
            SessionRequest::List(params) => self.client.get(self.url(&list_path(params))),
            SessionRequest::Get(session) => {
                self.client.get(self.url(&path(&session.agent, &session.session_id)))
            }
            SessionRequest::Delete(session) => {
                let path = path(&session.agent, &session.session_id);
                self.client.request(Method::DELETE, self.url(&path))
            }
            SessionRequest::Fork(ForkSessionParams { agent, session_id, snapshot_id, .. }) => {
                let body = match snapshot_id {
                    Some(snapshot) => json!({ "snapshotId": snapshot }),
                    None => json!({}),
                };
                self.post(&format!("{}/fork", path(agent, session_id)), body.to_string())
            }
        }
    }
}

/// The path and query of a list.
fn list_path(params: &ListSessionsParams) -> String {
    let ListSessionsParams { agent, limit, continuation_token, status, .. } = params;
    let mut path = format!("agents/{}/sessions?", encoded(agent));
    if let Some(limit) = limit {
        path.push_str(&format!("&limit={limit}"));
    }
    if let Some(token) = continuation_token {
        path.push_str(&format!("&continuationToken={}", encoded(token)));
    }
    match status {
        Some(SessionActivity::Active) => path.push_str("&status=active"),
        Some(SessionActivity::Completed) => path.push_str("&status=completed"),
        None => {}
    }
    path
}

/// The path of a session.
fn path(agent: &str, session_id: &str) -> String {
    format!("agents/{}/sessions/{}", encoded(agent), encoded(session_id))
}

/// Distinguishes a missing session from a runtime without this API: only the API itself sends
/// errors with a `status`.
fn session_error(status: reqwest::StatusCode, text: &[u8]) -> ErrorData {
    if let Ok(ApiError { status, message }) = serde_json::from_slice(text)
        && let Ok(code) = status.parse()
    {
        return failure(code, message);
    }
    match status.as_u16() {
        404 | 405 | 501 => failure(
            StatusCode::Unimplemented,
            "the runtime does not support requests about sessions",
        ),
        _ => status_error(status, String::from_utf8_lossy(text).into_owned()),
    }
}
