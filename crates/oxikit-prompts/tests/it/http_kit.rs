//! A prompt server on a free port, with an HTTP client and WebSocket clients for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use oxikit_core::ports::memory::MemoryRevisions;
use oxikit_prompts::{PromptServer, PromptServerOptions, Prompts, PromptsOptions};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

/// Maximum time to wait for an event, after which a test fails.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The result of a future, which must be ready soon.
#[track_caller]
pub(crate) fn soon<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    let place = std::panic::Location::caller();
    async move {
        match tokio::time::timeout(TIMEOUT, work).await {
            Ok(done) => done,
            Err(_) => panic!("nothing happened within {TIMEOUT:?} at {place}"),
        }
    }
}

/// A server for the documents of a temporary folder.
pub(crate) struct Kit {
    pub(crate) server: PromptServer,
    pub(crate) client: reqwest::Client,
    pub(crate) folder: TempDir,
}

/// A server for these files.
pub(crate) async fn kit(files: &[(&str, &str)]) -> Kit {
    kit_with(files, |prompts| prompts, |server| server).await
}

/// A server with changed options.
pub(crate) async fn kit_with(
    files: &[(&str, &str)],
    prompts: impl FnOnce(PromptsOptions) -> PromptsOptions,
    server: impl FnOnce(PromptServerOptions) -> PromptServerOptions,
) -> Kit {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("prompts");
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::create_dir_all(&root).unwrap();
    let mut options = PromptsOptions::new([&root]);
    options.allowed_roots = vec![folder.path().to_owned()];
    let library = Prompts::open(prompts(options), Arc::new(MemoryRevisions::default())).await;
    let options = server(PromptServerOptions::default().on_any_port());
    let server = PromptServer::start(library.unwrap(), options).await.unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    Kit { server, client, folder }
}

impl Kit {
    /// The path of a file of the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("prompts").join(name)
    }

    /// The text of a file of the directory.
    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap()
    }

    /// Waits until a file of the directory has a text: it is written after a change is in the
    /// history and acknowledged.
    pub(crate) async fn expect_text(&self, name: &str, text: &str) {
        let began = std::time::Instant::now();
        while self.text(name) != text {
            assert!(began.elapsed().as_secs() < 10, "{name} has {:?}", self.text(name));
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }

    /// A request to a path.
    pub(crate) fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.server.url()))
    }

    /// Sends a `GET` request below `/api/prompts`.
    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        read(self.call(Method::GET, &format!("/api/prompts{path}"))).await
    }

    /// Sends a request with a JSON body below `/api/prompts`.
    pub(crate) async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        read(self.call(method, &format!("/api/prompts{path}")).json(&body)).await
    }

    /// Sends a `POST` request below `/api/prompts`.
    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, body).await
    }

    /// Sends a `PUT` request below `/api/prompts`.
    pub(crate) async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::PUT, path, body).await
    }

    /// Opens a WebSocket.
    pub(crate) async fn socket(&self, path: &str) -> Socket {
        self.try_socket(path, &[]).await.unwrap()
    }

    /// Opens a WebSocket with these headers.
    pub(crate) async fn try_socket(
        &self,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Socket, tungstenite::Error> {
        let address = self.server.url().trim_start_matches("http://");
        let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let stream = TcpStream::connect(address).await.unwrap();
        let (stream, _) = soon(client_async(request, stream)).await?;
        Ok(Socket { stream })
    }

    /// Opens a prompt for live editing, and reads the first message.
    pub(crate) async fn edit(&self, id: &str) -> (Value, Socket) {
        let mut socket = self.socket(&format!("/api/prompts/ws/{id}")).await;
        (socket.next().await, socket)
    }
}

/// The status and the JSON of a response; `null` if it is not JSON.
pub(crate) async fn read(request: RequestBuilder) -> (u16, Value) {
    let response = soon(request.send()).await.unwrap();
    let status = response.status().as_u16();
    let text = soon(response.text()).await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_default())
}

/// The HTTP status of a refused WebSocket.
#[track_caller]
pub(crate) fn refused(result: Result<Socket, tungstenite::Error>) -> u16 {
    match result {
        Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the socket was accepted"),
    }
}

/// A client of a WebSocket.
pub(crate) struct Socket {
    pub(crate) stream: WebSocketStream<TcpStream>,
}

impl Socket {
    /// The next message, as JSON.
    #[track_caller]
    pub(crate) fn next(&mut self) -> impl Future<Output = Value> {
        let next = self.next_text();
        async move {
            let text = next.await;
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
        }
    }

    /// The next message, as text.
    #[track_caller]
    pub(crate) fn next_text(&mut self) -> impl Future<Output = String> {
        let place = std::panic::Location::caller();
        soon(async move {
            loop {
                match self.stream.next().await {
                    Some(Ok(Message::Text(text))) => return text.as_str().to_owned(),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    other => panic!("{other:?} in place of a message at {place}"),
                }
            }
        })
    }

    /// The next message, which must have this action.
    #[track_caller]
    pub(crate) fn expect(&mut self, action: &str) -> impl Future<Output = Value> {
        let place = std::panic::Location::caller();
        let next = self.next();
        let action = action.to_owned();
        async move {
            let message = next.await;
            assert_eq!(message["action"], action.as_str(), "{message} at {place}");
            message
        }
    }

    /// Sends a message.
    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    /// Sends a text.
    pub(crate) async fn send_text(&mut self, text: &str) {
        soon(self.stream.send(Message::text(text))).await.unwrap();
    }

    /// Sends a content and reads its status.
    pub(crate) async fn update(&mut self, content: &str) -> Value {
        self.send(json!({"action": "update", "content": content})).await;
        self.expect("update_status").await
    }

    /// Says hello as a client that knows the additions, and reads the welcome. Lists of presence
    /// that come before are skipped.
    pub(crate) async fn hello(&mut self, name: &str) -> Value {
        let protocol = json!({"name": "oxikit.prompts", "version": 1});
        self.send(json!({"action": "hello", "client": name, "protocol": protocol})).await;
        loop {
            let message = self.next().await;
            if message["action"] == "welcome" {
                return message;
            }
            assert_eq!(message["action"], "presence", "{message}");
        }
    }

    /// Waits until the server closes the connection. Returns the code and the reason. Messages
    /// before are skipped.
    #[track_caller]
    pub(crate) fn closed(mut self) -> impl Future<Output = (u16, String)> {
        let place = std::panic::Location::caller();
        soon(async move {
            loop {
                match self.stream.next().await {
                    Some(Ok(Message::Close(Some(frame)))) => {
                        return (frame.code.into(), frame.reason.as_str().to_owned());
                    }
                    Some(Ok(Message::Close(None))) | Some(Err(_)) | None => {
                        panic!("no close code at {place}")
                    }
                    Some(Ok(_)) => {}
                }
            }
        })
    }
}
