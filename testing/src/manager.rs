//! A manager on a free port, and runtimes whose messages are written by the test.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::ListenerExt;
use futures_util::{SinkExt, StreamExt};
use oxikit_http::Token;
use oxikit_manager::{ManagerOptions, RunHandle, RunSpec, Runtimes, socket_route};
use oxikit_wire::rpc::ErrorData;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, client_async};

/// Timeout of everything that a test waits for. A test that reaches it fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A valid trace id.
pub const TRACE: &str = "0123456789abcdef0123456789abcdef";

/// A manager that serves until the test ends.
pub struct Manager {
    pub runtimes: Runtimes,
    pub address: SocketAddr,
    pub token: Token,
}

/// A runtime (V2) whose messages are written by the test.
pub struct ScriptedRuntime {
    pub socket: WebSocketStream<TcpStream>,
    /// The parameters of received `configure` notifications, which may arrive at any time.
    configured: VecDeque<Value>,
}

/// A request or notification of the manager.
#[derive(Debug)]
pub struct ReceivedRequest {
    pub id: Value,
    pub params: Value,
}

/// Options for tests with scripted runtimes.
pub fn options() -> ManagerOptions {
    let mut options = ManagerOptions::default()
        .with_telemetry_url("http://127.0.0.1:4033/t/secret")
        .with_project_name("shop");
    // Scripted runtimes answer pings only while they wait for a message.
    options.silence_timeout = Duration::from_secs(600);
    options
}

/// Starts a manager.
pub async fn manager(options: ManagerOptions) -> Manager {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (runtimes, token) = (Runtimes::new(options), Token::random());
    let router = socket_route(runtimes.clone(), token.clone());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Manager { runtimes, address, token }
}

/// Waits for a future. Panics after [`PATIENCE`].
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("this did not happen in time")
}

/// Waits until a condition holds. Panics after [`PATIENCE`].
pub async fn until(mut is_so: impl FnMut() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

impl Manager {
    /// The URL at which runtimes connect, with the token.
    pub fn url(&self) -> String {
        format!("ws://{}/r/{}", self.address, self.token.reveal())
    }

    /// A connection that has not registered.
    pub async fn connect(&self) -> ScriptedRuntime {
        let stream = TcpStream::connect(self.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (socket, _) = soon(client_async(self.url(), stream)).await.unwrap();
        ScriptedRuntime::new(socket)
    }

    /// A runtime that has registered with this id.
    pub async fn runtime(&self, id: &str) -> ScriptedRuntime {
        let mut runtime = self.connect().await;
        let answer = runtime.register(id, 4242).await;
        assert_eq!(answer["error"], Value::Null, "{answer}");
        assert!(runtime.configured().await["telemetryServerUrl"].is_string());
        runtime
    }

    /// Starts a run.
    pub async fn start(&self, spec: RunSpec) -> RunHandle {
        soon(self.runtimes.run(spec)).await.unwrap()
    }

    /// Waits until no request is pending and no run is active.
    pub async fn is_idle(&self) {
        until(|| {
            let counts = self.runtimes.counts();
            counts.pending == 0 && counts.traces == 0
        })
        .await;
    }
}

impl ScriptedRuntime {
    pub fn new(socket: WebSocketStream<TcpStream>) -> Self {
        Self { socket, configured: VecDeque::new() }
    }

    /// The parameters of the next `configure` notification.
    pub async fn configured(&mut self) -> Value {
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

    pub async fn send(&mut self, message: Value) {
        self.send_text(message.to_string()).await;
    }

    pub async fn send_text(&mut self, text: impl Into<String>) {
        soon(self.socket.send(Message::text(text.into()))).await.unwrap();
    }

    /// The next message except `configure`. Pings are answered meanwhile.
    pub async fn next(&mut self) -> Value {
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

    /// The next request or notification. Panics if it has another method.
    pub async fn expect_request(&mut self, method: &str) -> ReceivedRequest {
        let mut message = self.next().await;
        assert_eq!(message["method"], method, "{message}");
        assert_eq!(message["jsonrpc"], "2.0");
        ReceivedRequest { id: message["id"].take(), params: message["params"].take() }
    }

    /// Waits until the manager closes the connection. Returns its close frame.
    pub async fn closed(&mut self) -> Option<CloseFrame> {
        loop {
            match soon(self.socket.next()).await {
                Some(Ok(Message::Close(frame))) => return frame,
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("the connection broke without a close frame: {error}"),
                None => return None,
            }
        }
    }

    /// Sends `register`. Returns the response.
    pub async fn register(&mut self, id: &str, pid: u32) -> Value {
        let params = json!({"id": id, "pid": pid, "name": "app", "genkitVersion": "test/1",
            "reflectionApiSpecVersion": 1, "envs": ["dev"]});
        self.request("1", "register", params).await
    }

    /// Sends a request to the manager. Returns the response.
    pub async fn request(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let answer = self.next().await;
            // Error responses to invalid frames have no id.
            if answer["id"].is_null() && answer["error"].is_object() {
                continue;
            }
            assert_eq!(answer["id"], id, "{answer}");
            return answer;
        }
    }

    /// Sends the trace id of a run.
    pub async fn state(&mut self, asked: &ReceivedRequest, trace_id: &str) {
        let params = json!({"requestId": asked.id, "state": {"traceId": trace_id}});
        self.send(json!({"jsonrpc": "2.0", "method": "runActionState", "params": params})).await;
    }

    /// Sends a chunk of a run.
    pub async fn chunk(&mut self, asked: &ReceivedRequest, chunk: Value) {
        let params = json!({"requestId": asked.id, "chunk": chunk});
        self.send(json!({"jsonrpc": "2.0", "method": "streamChunk", "params": params})).await;
    }

    /// Sends a successful response.
    pub async fn answer(&mut self, asked: &ReceivedRequest, result: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": asked.id, "result": result})).await;
    }

    /// Sends an error response.
    pub async fn fail(&mut self, asked: &ReceivedRequest, error: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": asked.id, "error": error})).await;
    }
}

/// The parameters of a run of a flow.
pub fn flow(name: &str, input: Value) -> RunSpec {
    RunSpec::new(json!({"key": format!("/flow/{name}"), "input": input}).to_string())
}

/// Waits for the end of a run: its output, or the code and the message of its error.
pub async fn end(handle: RunHandle) -> Result<Option<Value>, (u8, String)> {
    match soon(handle.finish()).await {
        Ok(outcome) => Ok(outcome.result.map(|text| serde_json::from_slice(&text).unwrap())),
        Err(error) => Err(code_and_message(error)),
    }
}

/// The code and the message of an error.
pub fn code_and_message(error: ErrorData) -> (u8, String) {
    (error.code.unwrap(), error.message.unwrap())
}

/// The next chunk of a run, parsed.
pub async fn next_chunk(handle: &mut RunHandle) -> Option<Value> {
    let chunk = soon(handle.next_chunk()).await?;
    Some(serde_json::from_slice(&chunk).unwrap())
}
