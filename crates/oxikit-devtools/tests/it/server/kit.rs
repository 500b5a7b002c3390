//! A server on free ports, and a client that calls it.

use std::path::Path;
use std::time::Duration;

use oxikit_devtools::server::{DevServer, DevServerOptions};
use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;

use crate::manager::kit::{Scripted, soon};

/// A server of a project in a folder of its own.
pub(crate) struct Kit {
    pub(crate) server: DevServer,
    pub(crate) client: Client,
    folder: TempDir,
}

pub(crate) async fn kit() -> Kit {
    kit_with(|options| options).await
}

pub(crate) async fn kit_with(change: impl FnOnce(DevServerOptions) -> DevServerOptions) -> Kit {
    let folder = tempfile::tempdir().unwrap();
    let mut options = DevServerOptions::new(folder.path()).on_any_ports();
    // Scripted runtimes read nothing while others are at work, which may take minutes.
    options.manager.ping = Duration::from_secs(600);
    options.manager.sign_of_life = Duration::from_secs(600);
    let options = change(options);
    let server = DevServer::start(options).await.unwrap();
    let client = Client::builder().no_proxy().build().unwrap();
    Kit { server, client, folder }
}

impl Kit {
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn token(&self) -> &str {
        self.server.urls().api.rsplit('/').next().unwrap()
    }

    /// A call without a token.
    pub(crate) fn stranger(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.server.urls().base()))
    }

    /// A call of somebody who may.
    pub(crate) fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.stranger(method, path).bearer_auth(self.token())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        read(soon(self.call(Method::GET, path).send()).await.unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        read(self.posted(path, body).await).await
    }

    /// The head of the answer to a post.
    pub(crate) async fn posted(&self, path: &str, body: Value) -> Response {
        soon(self.call(Method::POST, path).json(&body).send()).await.unwrap()
    }

    /// A runtime that has not registered yet.
    pub(crate) async fn dial(&self) -> Scripted {
        let url = self.server.urls().reflection.clone();
        let address = url.trim_start_matches("ws://").split('/').next().unwrap();
        let stream = TcpStream::connect(address).await.unwrap();
        let (socket, _) = soon(client_async(&url, stream)).await.unwrap();
        Scripted::new(socket)
    }

    /// A runtime that has registered.
    pub(crate) async fn runtime(&self, id: &str) -> Scripted {
        let mut runtime = self.dial().await;
        let answer = runtime.register(id, std::process::id()).await;
        assert_eq!(answer["error"], Value::Null, "{answer}");
        assert_eq!(runtime.configured().await["telemetryServerUrl"], self.server.urls().telemetry);
        runtime
    }
}

/// Status and body, which is JSON.
pub(crate) async fn read(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    let text = soon(response.text()).await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(json!(text)))
}
