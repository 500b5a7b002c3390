//! A manager on a free port, and runtimes that do what a test says.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::ListenerExt;
use futures_util::{SinkExt, StreamExt};
use oxikit_devtools::manager::{ManagerOptions, RunHandle, RunSpec, Runtimes, Token, socket_route};
use oxikit_wire::rpc::ErrorData;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, client_async};

/// Nothing in these tests takes this long; waiting for it is a failure.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const TRACE: &str = "0123456789abcdef0123456789abcdef";

/// A manager that serves until the test ends.
pub(crate) struct Manager {
    pub(crate) runtimes: Runtimes,
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
}

/// A runtime that says what it is told to.
pub(crate) struct Scripted {
    pub(crate) socket: WebSocketStream<TcpStream>,
    /// What `configure` has said, which may come at any time.
    configured: VecDeque<Value>,
}

/// A request of the manager.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) id: Value,
    pub(crate) params: Value,
}

pub(crate) fn options() -> ManagerOptions {
    let mut options = ManagerOptions::default()
        .with_telemetry_url("http://127.0.0.1:4033/t/secret")
        .with_project_name("shop");
    // Scripted runtimes answer pings only while they wait for a message.
    options.sign_of_life = Duration::from_secs(600);
    options
}

pub(crate) async fn manager(options: ManagerOptions) -> Manager {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (runtimes, token) = (Runtimes::new(options), Token::random());
    let router = socket_route(runtimes.clone(), token.clone());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Manager { runtimes, address, token }
}

/// Waits for what must come.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("this did not happen in time")
}

/// Waits until something is so.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

impl Manager {
    pub(crate) fn url(&self) -> String {
        format!("ws://{}/r/{}", self.address, self.token.reveal())
    }

    /// A connection that has not registered.
    pub(crate) async fn dial(&self) -> Scripted {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (socket, _) = soon(client_async(self.url(), stream)).await.unwrap();
        Scripted::new(socket)
    }

    /// A runtime with this id, whose process is its number.
    pub(crate) async fn runtime(&self, id: &str) -> Scripted {
        let mut runtime = self.dial().await;
        let answer = runtime.register(id, 4242).await;
        assert_eq!(answer["error"], Value::Null, "{answer}");
        assert!(runtime.configured().await["telemetryServerUrl"].is_string());
        runtime
    }

    /// Starts a run on the default target.
    pub(crate) async fn start(&self, spec: RunSpec) -> RunHandle {
        soon(self.runtimes.run(spec)).await.unwrap()
    }

    /// Nothing is left of what was asked.
    pub(crate) async fn is_at_rest(&self) {
        until(|| {
            let counts = self.runtimes.counts();
            counts.pending == 0 && counts.traces == 0
        })
        .await;
    }
}

impl Scripted {
    pub(crate) fn new(socket: WebSocketStream<TcpStream>) -> Self {
        Self { socket, configured: VecDeque::new() }
    }

    /// What the next `configure` says.
    pub(crate) async fn configured(&mut self) -> Value {
        loop {
            if let Some(params) = self.configured.pop_front() {
                return params;
            }
            let message = self.read().await;
            assert_eq!(message["method"], "configure", "{message}");
            assert_eq!(message.get("id"), None);
            self.configured.push_back(message["params"].clone());
        }
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        soon(self.socket.send(Message::text(text.into()))).await.unwrap();
    }

    /// The next message but for `configure`; pings are answered meanwhile.
    pub(crate) async fn next(&mut self) -> Value {
        loop {
            let message = self.read().await;
            if message["method"] != "configure" {
                return message;
            }
            self.configured.push_back(message["params"].clone());
        }
    }

    async fn read(&mut self) -> Value {
        loop {
            match soon(self.socket.next()).await.expect("the manager has closed").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next request or notification, which must be this method.
    pub(crate) async fn asked(&mut self, method: &str) -> Asked {
        let mut message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        assert_eq!(message["jsonrpc"], "2.0");
        Asked { id: message["id"].take(), params: message["params"].take() }
    }

    /// Why the manager closes the connection.
    pub(crate) async fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match soon(self.socket.next()).await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("closed without a word: {error}"),
                None => return None,
            }
        }
    }

    pub(crate) async fn register(&mut self, id: &str, pid: u32) -> Value {
        let params = json!({"id": id, "pid": pid, "name": "app", "genkitVersion": "test/1",
            "reflectionApiSpecVersion": 1, "envs": ["dev"]});
        self.request("1", "register", params).await
    }

    /// Asks the manager something; its answer.
    pub(crate) async fn request(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let answer = self.next().await;
            // What was no message is answered too, without an id.
            if answer["id"].is_null() && answer["error"].is_object() {
                continue;
            }
            assert_eq!(answer["id"], id, "{answer}");
            return answer;
        }
    }

    pub(crate) async fn state(&mut self, asked: &Asked, trace_id: &str) {
        let params = json!({"requestId": asked.id, "state": {"traceId": trace_id}});
        self.send(json!({"jsonrpc": "2.0", "method": "runActionState", "params": params})).await;
    }

    pub(crate) async fn chunk(&mut self, asked: &Asked, chunk: Value) {
        let params = json!({"requestId": asked.id, "chunk": chunk});
        self.send(json!({"jsonrpc": "2.0", "method": "streamChunk", "params": params})).await;
    }

    pub(crate) async fn answer(&mut self, asked: &Asked, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": asked.id, "result": result})).await;
    }

    pub(crate) async fn fail(&mut self, asked: &Asked, error: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": asked.id, "error": error})).await;
    }
}

/// A run of a flow.
pub(crate) fn flow(name: &str, input: Value) -> RunSpec {
    RunSpec::new(json!({"key": format!("/flow/{name}"), "input": input}).to_string())
}

/// The end of a run: its output, or the code and the message of its failure.
pub(crate) async fn end(handle: RunHandle) -> Result<Option<Value>, (u8, String)> {
    match soon(handle.finish()).await {
        Ok(outcome) => Ok(outcome.result.map(|text| serde_json::from_slice(&text).unwrap())),
        Err(error) => Err(told(error)),
    }
}

pub(crate) fn told(error: ErrorData) -> (u8, String) {
    (error.code.unwrap(), error.message.unwrap())
}

pub(crate) async fn next_chunk(handle: &mut RunHandle) -> Option<Value> {
    let chunk = soon(handle.next_chunk()).await?;
    Some(serde_json::from_slice(&chunk).unwrap())
}
