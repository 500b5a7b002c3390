//! A developer tools server on free ports, and an HTTP client for it.

use std::path::Path;
use std::time::Duration;

use oxikit_devtools::{DevServer, DevServerOptions};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;

use crate::manager::{ScriptedRuntime, soon};

/// A server for a project in a temporary folder.
pub struct Kit {
    pub server: DevServer,
    pub client: Client,
    folder: TempDir,
}

/// A server with the default options.
pub async fn kit() -> Kit {
    kit_with(|options| options).await
}

/// A server with changed options.
pub async fn kit_with(change: impl FnOnce(DevServerOptions) -> DevServerOptions) -> Kit {
    let folder = tempfile::tempdir().unwrap();
    let mut options = DevServerOptions::new(folder.path()).on_any_ports();
    // A scripted runtime does not answer pings while the test uses another one, which may take
    // minutes.
    options.manager.ping_interval = Duration::from_secs(600);
    options.manager.silence_timeout = Duration::from_secs(600);
    let options = change(options);
    let server = DevServer::start(options).await.unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    Kit { server, client, folder }
}

impl Kit {
    /// The folder of the project.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// The token of the HTTP API.
    pub fn token(&self) -> &str {
        self.server.urls().api.rsplit('/').next().unwrap()
    }

    /// A request without a token.
    pub fn call_without_token(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.server.urls().base()))
    }

    /// A request with the token.
    pub fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.call_without_token(method, path).bearer_auth(self.token())
    }

    /// The status and the body of a GET request.
    pub async fn get(&self, path: &str) -> (u16, Value) {
        read(soon(self.call(Method::GET, path).send()).await.unwrap()).await
    }

    /// The status and the body of a POST request.
    pub async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        read(self.post_response(path, body).await).await
    }

    /// Posts a body. Returns the response when its head has arrived.
    pub async fn post_response(&self, path: &str, body: Value) -> Response {
        soon(self.call(Method::POST, path).json(&body).send()).await.unwrap()
    }

    /// A runtime that is connected and has not registered.
    pub async fn connect(&self) -> ScriptedRuntime {
        let url = self.server.urls().reflection.clone();
        let address = url.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, _) = soon(client_async(&url, stream)).await.unwrap();
        ScriptedRuntime::new(socket)
    }

    /// A runtime that has registered.
    pub async fn runtime(&self, id: &str) -> ScriptedRuntime {
        let mut runtime = self.connect().await;
        let answer = runtime.register(id, std::process::id()).await;
        assert_eq!(answer["error"], Value::Null, "{answer}");
        assert_eq!(runtime.configured().await["telemetryServerUrl"], self.server.urls().telemetry);
        runtime
    }
}

impl Kit {
    /// The status and the body of a DELETE request.
    pub async fn delete(&self, path: &str) -> (u16, Value) {
        let request = self.call(Method::DELETE, path).header("content-type", "application/json");
        read(soon(request.send()).await.unwrap()).await
    }
}

/// The status and the body, as JSON or else as a string.
pub async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = soon(response.text()).await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(json!(text)))
}
