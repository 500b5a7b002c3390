//! Calls the tools that run for the project.

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
use crate::manager::Token;
use crate::project::{is_alive, manager_of};
use crate::server::{ManagerFile, proof};

/// Tools that live answer at once, even if what was asked for takes long.
const CONNECT_TIME: Duration = Duration::from_secs(3);

/// A client of the tools. The token is in no URL and no message.
#[derive(Debug, Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    manager: ManagerFile,
    verified: Arc<OnceCell<()>>,
}

impl Client {
    /// The tools that run for the project of this folder.
    pub(super) fn find(dir: &Path) -> Result<Self, Failure> {
        let found = manager_of(dir).map_err(Failure::nobody_there)?;
        let (root, manager) = found.ok_or_else(|| {
            Failure::nobody_there(format!(
                "no tools run for {}: start them with `oxikit start` (or `oxikit start --demo`), or name the project with --project",
                dir.display()
            ))
        })?;
        if !is_alive(&manager) {
            return Err(Failure::nobody_there(format!(
                "the tools that ran for {} are gone (process {}): start them with `oxikit start`",
                root.display(),
                manager.pid
            )));
        }
        Self::of(manager)
    }

    /// The tools of this file.
    pub(super) fn of(manager: ManagerFile) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            // A proxy has no business on this machine, and inputs go nowhere else.
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIME)
            .build();
        let http = http.map_err(|error| Failure::internal(error.to_string()))?;
        Ok(Self { http, manager, verified: Arc::default() })
    }

    /// Makes sure that the tools of the file listen there, and not another program. Until
    /// then nothing is sent but a random challenge.
    pub(super) async fn verify(&self) -> Result<(), Failure> {
        self.verified.get_or_try_init(|| self.challenge()).await.copied()
    }

    async fn challenge(&self) -> Result<(), Failure> {
        let challenge = proof::challenge();
        let request = self.http.get(format!("{}/", self.manager.api_url));
        let request = request.header(proof::CHALLENGE, &challenge).timeout(CONNECT_TIME);
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let proof = answer.headers().get(proof::PROOF).and_then(|proof| proof.to_str().ok());
        let token = Token::known(&self.manager.token);
        match (token, proof) {
            (Some(token), Some(proof)) if proof::is_proven(&token, &challenge, proof) => Ok(()),
            _ => Err(Failure::nobody_there(format!(
                "another program, or another version of the tools, listens at {}: start the tools with `oxikit start`",
                self.manager.api_url
            ))),
        }
    }

    /// Where the tools are, with their tokens.
    pub(super) fn manager(&self) -> &ManagerFile {
        &self.manager
    }

    /// Reads.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        read(self.send(self.request(Method::GET, path)).await?).await
    }

    /// Has an effect.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, Failure> {
        read(self.send(self.request(Method::POST, path).json(body)).await?).await
    }

    /// Changes.
    pub(super) async fn patch(&self, path: &str, body: &impl Serialize) -> Result<Value, Failure> {
        read(self.send(self.request(Method::PATCH, path).json(body)).await?).await
    }

    /// Removes.
    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        // The tools take nothing that a page could send without being asked.
        let json = "application/json";
        let request = self.request(Method::DELETE, path).header(CONTENT_TYPE, json);
        read(self.send(request).await?).await
    }

    /// Reads events as they come.
    pub(super) async fn events(&self, path: &str) -> Result<Events, Failure> {
        Ok(Events::new(self.send(self.request(Method::GET, path)).await?))
    }

    /// Has an effect that takes its time: the head of the answer comes first.
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
            Ok(Refused::Plain(refusal) | Refused::Run { error: refusal }) => refusal.into(),
            Err(_) => Failure::internal(format!("the tools answered {http}")),
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let ManagerFile { pid, api_url, .. } = &self.manager;
        let reason =
            if error.is_connect() { "nobody listens there" } else { "the connection broke" };
        Failure::nobody_there(format!(
            "the tools (process {pid}) do not answer at {api_url}: {reason}; start them with `oxikit start`"
        ))
    }
}

/// An error of the API; one of a run that did not begin stands a level deeper.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Refused {
    Plain(Refusal),
    Run { error: Refusal },
}

#[derive(Debug, Deserialize)]
struct Refusal {
    /// Such as `NOT_FOUND`.
    status: Option<String>,
    message: String,
    #[serde(default)]
    details: Option<Value>,
}

impl From<Refusal> for Failure {
    fn from(Refusal { status, message, details }: Refusal) -> Self {
        let status = status.unwrap_or_else(|| "UNKNOWN".to_owned());
        let exit = match status.as_str() {
            "UNAVAILABLE" => Exit::NobodyThere,
            _ => Exit::Failed,
        };
        Self::Told { exit, status, message, details }
    }
}

/// The body of an answer, JSON.
pub(super) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Failure> {
    let broken = |error: reqwest::Error| {
        Failure::nobody_there(format!("the tools ended in the middle of their answer: {error}"))
    };
    let body = response.bytes().await.map_err(broken)?;
    serde_json::from_slice(&body)
        .map_err(|error| Failure::internal(format!("the tools did not answer JSON: {error}")))
}

/// A query of the members that have a value.
pub(super) fn query(members: &[(&str, Option<&String>)]) -> String {
    let given = members.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    given.map(|(name, value)| format!("{name}={}", encoded(value))).collect::<Vec<_>>().join("&")
}

/// Text as a part of a URL.
pub(super) fn encoded(text: &str) -> impl Display {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}
