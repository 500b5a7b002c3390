//! The HTTP client of a prompt manager: that of the developer tools of the project, or one at a
//! URL.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::args::PromptTarget;
use super::client::Client;
use super::failure::Failure;

/// Maximum time to connect.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Maximum time of a request.
const REQUEST_TIME: Duration = Duration::from_secs(60);

/// A client of a prompt manager. The token is sent in a header only.
pub(super) struct PromptClient {
    http: reqwest::Client,
    /// Without a slash at its end.
    url: String,
    token: Option<String>,
}

impl PromptClient {
    /// The manager at the URL of the arguments, else that of the developer tools of the project.
    pub(super) async fn connect(
        target: &PromptTarget,
        tools: impl FnOnce() -> Result<Client, Failure>,
    ) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .timeout(REQUEST_TIME);
        if let Some(url) = &target.url {
            let http = http.build().map_err(|error| Failure::internal(error.to_string()))?;
            let url = checked_url(url)?;
            return Ok(Self { http, url, token: target.token.clone() });
        }
        let advice = "or pass the URL of a prompt manager with --url".to_owned();
        let tools = tools().map_err(|failure| failure.with_advice(advice))?;
        tools.verify().await?;
        let manager = tools.manager();
        // As for the other commands: a proxy could only send the token elsewhere.
        let http = http.no_proxy().build();
        let http = http.map_err(|error| Failure::internal(error.to_string()))?;
        let (url, token) = (manager.api_url.clone(), Some(manager.token.clone()));
        Ok(Self { http, url, token })
    }

    /// Sends a `GET` request to a path below `/api/prompts`.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a `POST` request with a JSON body.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// Sends a `PUT` request with a JSON body.
    pub(super) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(self.request(Method::PUT, path).json(body)).await
    }

    /// Sends a `DELETE` request. Its JSON body shows that no web page has forged it.
    pub(super) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(self.request(Method::DELETE, path).json(&serde_json::json!({}))).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}/api/prompts/{path}", self.url));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let http = response.status();
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if !http.is_success() {
            return Err(self.refused(http, &body));
        }
        serde_json::from_slice(&body).map_err(|error| {
            Failure::unavailable(format!(
                "the response of {} is not that of a prompt manager: {error}",
                self.url
            ))
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let reason = match error.is_connect() {
            true => "no program listens there",
            false => "the connection broke or took too long",
        };
        Failure::unavailable(format!(
            "the prompt manager does not answer at {}: {reason}; start it with `oxikit prompts` or `oxikit start`",
            self.url
        ))
    }

    /// The failure of an error response, `{"detail": …}`.
    fn refused(&self, http: StatusCode, body: &[u8]) -> Failure {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        // The detail is a list for a request that is not valid. The gate of the developer tools
        // answers with a message.
        let texts = [&body["detail"], &body["detail"][0]["msg"], &body["message"]];
        let message = match texts.iter().find_map(|text| text.as_str()) {
            Some(text) => text.to_owned(),
            None => format!("{} answered with the HTTP status {http}", self.url),
        };
        let candidates = body.get("candidates").cloned();
        match http.as_u16() {
            401 => Failure::failed(
                "UNAUTHENTICATED",
                format!("{message}; pass the token of the prompt manager with --token"),
            ),
            403 => Failure::failed("PERMISSION_DENIED", message),
            404 => Failure::failed("NOT_FOUND", message),
            409 => Failure::failed("ABORTED", message).with_details(candidates),
            412 => Failure::failed("FAILED_PRECONDITION", message),
            400..=499 => Failure::failed("INVALID_ARGUMENT", message),
            502..=504 => Failure::unavailable(message),
            _ => Failure::failed("INTERNAL", message),
        }
    }
}

/// The URL without a slash at its end. Only HTTP is possible.
fn checked_url(url: &str) -> Result<String, Failure> {
    let is_http =
        reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    match is_http {
        true => Ok(url.trim_end_matches('/').to_owned()),
        false => Err(Failure::usage("--url must begin with http:// or https://")),
    }
}
