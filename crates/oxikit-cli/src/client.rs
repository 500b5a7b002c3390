//! The HTTP client of the developer tools that run for the project.
//!
//! The address and the token come from the file `manager.json` in the data folder. Before the
//! first request the client checks that the program at that address knows the token, so that
//! another program on the same port learns nothing (see [`Client::verify`]).

use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::events::Events;
use super::failure::{Exit, Failure};
use crate::project::manager_of;
use oxikit_devtools::{ManagerFile, proof};
use oxikit_http::Token;

/// Maximum time to connect, and to answer the challenge. Running developer tools are local and
/// answer at once.
const CONNECT_TIME: Duration = Duration::from_secs(3);

/// A client of the developer tools. The token is sent in a header only, never in a URL, so
/// that it does not reach logs.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    manager: ManagerFile,
    verified: Arc<OnceCell<()>>,
}

impl Client {
    /// A client of the developer tools that run for the project of this folder.
    pub(super) fn find(dir: &Path) -> Result<Self, Failure> {
        let found = manager_of(dir).map_err(Failure::unavailable)?;
        let (root, manager) = found.ok_or_else(|| {
            Failure::unavailable(format!(
                "no developer tools run for {}: start them with `oxikit start` (or `oxikit start --demo`), or pass the folder of the project with --project",
                dir.display()
            ))
        })?;
        if !manager.is_alive() {
            return Err(Failure::unavailable(format!(
                "the developer tools for {} are gone (process {} has ended): start them with `oxikit start`",
                root.display(),
                manager.pid
            )));
        }
        Self::of(manager)
    }

    /// A client of the developer tools that this file describes.
    pub(super) fn of(manager: ManagerFile) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            // The tools run on this machine. A proxy or a redirect could only send inputs and
            // the token elsewhere.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .build();
        let http = http.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self { http, manager, verified: Arc::default() })
    }

    /// Checks, once, that the developer tools listen at the address and not another program.
    ///
    /// The client sends a random challenge, and the answer must contain a proof that only
    /// a program with the token can compute. Before that nothing else is sent.
    pub(super) async fn verify(&self) -> Result<(), Failure> {
        self.verified.get_or_try_init(|| self.challenge()).await.copied()
    }

    async fn challenge(&self) -> Result<(), Failure> {
        let challenge = proof::challenge();
        let request = self.http.get(format!("{}/", self.manager.api_url));
        // The challenge carries no token, so a foreign program at this address learns nothing.
        let request = request.header(proof::CHALLENGE, &challenge).timeout(CONNECT_TIME);
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let proof = answer.headers().get(proof::PROOF).and_then(|proof| proof.to_str().ok());
        let token = Token::known(&self.manager.token);
        match (token, proof) {
            (Some(token), Some(proof)) if proof::is_proven(&token, &challenge, proof) => Ok(()),
            _ => Err(Failure::unavailable(format!(
                "another program, or another version of the developer tools, listens at {}: start the developer tools with `oxikit start`",
                self.manager.api_url
            ))),
        }
    }

    /// The addresses and tokens of the developer tools.
    pub(super) fn manager(&self) -> &ManagerFile {
        &self.manager
    }

    /// Sends a `GET` request and parses the JSON of the response.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        read(self.send(self.request(Method::GET, path)).await?).await
    }

    /// Sends a `POST` request with a JSON body and parses the JSON of the response.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        read(self.send(self.request(Method::POST, path).json(body)).await?).await
    }

    /// Sends a `PATCH` request, as [`post`](Self::post).
    pub(super) async fn patch(&self, path: &str, body: &impl Serialize) -> Result<Value, Failure> {
        read(self.send(self.request(Method::PATCH, path).json(body)).await?).await
    }

    /// Sends a `DELETE` request and parses the JSON of the response.
    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        // A web page cannot send a JSON content type across origins without permission, so the
        // tools take it as a sign of a request that no page has forged.
        let json = "application/json";
        let request = self.request(Method::DELETE, path).header(CONTENT_TYPE, json);
        read(self.send(request).await?).await
    }

    /// Sends a `GET` request whose response is a stream of events.
    pub(super) async fn events(&self, path: &str) -> Result<Events, Failure> {
        Ok(Events::new(self.send(self.request(Method::GET, path)).await?))
    }

    /// Sends a `POST` request and returns as soon as the headers of the response have arrived.
    pub(super) async fn start(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<Response, Failure> {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.manager.api_url);
        self.http.request(method, url).bearer_auth(&self.manager.token)
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        self.verify().await?;
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let http = response.status();
        let body = response.bytes().await.unwrap_or_default();
        Err(match serde_json::from_slice(&body) {
            Ok(ErrorBody::Plain(error) | ErrorBody::Run { error }) => error.into(),
            Err(_) => Failure::internal(format!(
                "the developer tools answered with the HTTP status {http}"
            )),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let ManagerFile { pid, api_url, .. } = &self.manager;
        let reason =
            if error.is_connect() { "no program listens there" } else { "the connection broke" };
        Failure::unavailable(format!(
            "the developer tools (process {pid}) do not answer at {api_url}: {reason}; start them with `oxikit start`"
        ))
    }
}

/// The body of an error response. For a run that did not begin the error is in the member
/// `error`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ErrorBody {
    Plain(ApiError),
    Run { error: ApiError },
}

#[derive(Debug, Deserialize)]
struct ApiError {
    /// Such as `NOT_FOUND`.
    status: Option<String>,
    message: String,
    #[serde(default)]
    details: Option<Value>,
}

impl From<ApiError> for Failure {
    fn from(ApiError { status, message, details }: ApiError) -> Self {
        let status = status.unwrap_or_else(|| "UNKNOWN".to_owned());
        let exit = match status.as_str() {
            "UNAVAILABLE" => Exit::Unavailable,
            _ => Exit::Failed,
        };
        Self::Error { exit, status, message, details }
    }
}

/// Reads the body of a response as JSON.
pub(super) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Failure> {
    let broken = |error: reqwest::Error| {
        Failure::unavailable(format!(
            "the developer tools ended before their response was complete: {error}; start them with `oxikit start`"
        ))
    };
    let body = response.bytes().await.map_err(broken)?;
    serde_json::from_slice(&body).map_err(|error| {
        Failure::internal(format!("the response of the developer tools is not valid JSON: {error}"))
    })
}

/// A URL query of the members that have a value.
pub(super) fn query(members: &[(&str, Option<&String>)]) -> String {
    let given = members.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    given.map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

/// Percent-encodes text for a path or a query.
pub(super) fn encoded(text: &str) -> impl Display {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}
