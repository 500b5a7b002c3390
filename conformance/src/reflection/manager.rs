//! A manager that says what it is told to, and keeps what the runtime sends.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_hdr_async};

/// Longer than any recorded action takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the frames of a registration are kept under.
pub(super) const REGISTER: &str = "register";

pub(super) struct Manager {
    listener: TcpListener,
    socket: Option<WebSocketStream<TcpStream>>,
    /// The path that the runtime has connected to.
    pub(super) path: String,
    /// Frames of the runtime by request, in their order, that nobody has asked for.
    received: HashMap<String, VecDeque<Value>>,
    /// What was answered to the requests so far.
    answers: HashMap<String, Value>,
    fences: u32,
}

impl Manager {
    pub(super) async fn bind() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (received, answers) = (HashMap::new(), HashMap::new());
        Ok(Self { listener, socket: None, path: String::new(), received, answers, fences: 0 })
    }

    pub(super) fn url(&self) -> Result<String> {
        Ok(format!("ws://{}", self.listener.local_addr()?))
    }

    /// Waits for the runtime, if it is not connected.
    pub(super) async fn connect(&mut self) -> Result<()> {
        if self.socket.is_some() {
            return Ok(());
        }
        let accepted = timeout(PATIENCE, self.listener.accept());
        let (stream, _) = accepted.await.context("the runtime did not connect")??;
        let mut path = String::new();
        #[expect(clippy::result_large_err, reason = "the type of the callback is given")]
        let note = |request: &Request, response: Response| {
            request.uri().path().clone_into(&mut path);
            Ok(response)
        };
        self.socket = Some(accept_hdr_async(stream, note).await?);
        self.path = path;
        Ok(())
    }

    pub(super) async fn send(&mut self, text: String) -> Result<()> {
        let socket = self.socket.as_mut().context("the runtime is not connected")?;
        Ok(socket.send(Message::text(text)).await?)
    }

    /// Leaves with this code; without one the connection breaks.
    pub(super) async fn leave(&mut self, code: Option<u16>) -> Result<()> {
        let Some(mut socket) = self.socket.take() else { return Ok(()) };
        if let Some(code) = code {
            let frame = CloseFrame { code: code.into(), reason: "".into() };
            socket.close(Some(frame)).await?;
        }
        Ok(())
    }

    /// The next frame of the runtime that belongs to this request.
    pub(super) async fn next_of(&mut self, request: &str) -> Result<Value> {
        loop {
            let waiting = self.received.get_mut(request);
            if let Some(frame) = waiting.and_then(VecDeque::pop_front) {
                return Ok(frame);
            }
            let next = timeout(PATIENCE, self.receive());
            next.await.with_context(|| format!("nothing came for request {request}"))??;
        }
    }

    /// Waits until the runtime has read all that was sent.
    pub(super) async fn fence(&mut self) -> Result<()> {
        self.fences += 1;
        let id = json!(format!("fence {}", self.fences));
        let params = json!({ "type": "defaultModel" });
        let request =
            json!({ "jsonrpc": "2.0", "id": id, "method": "listValues", "params": params });
        self.send(request.to_string()).await?;
        self.next_of(&id.to_string()).await?;
        Ok(())
    }

    /// Waits until the runtime closes the connection.
    pub(super) async fn see_off(&mut self) -> Result<()> {
        let mut socket = self.socket.take().context("the runtime is not connected")?;
        loop {
            match timeout(PATIENCE, socket.next()).await.context("the runtime stays")? {
                Some(Ok(Message::Close(_))) => return Ok(()),
                Some(Ok(_)) => {}
                Some(Err(error)) => bail!("the runtime did not say goodbye: {error}"),
                None => bail!("the runtime did not say goodbye"),
            }
        }
    }

    /// What nobody has asked for, by request.
    pub(super) fn take_rest(&mut self) -> Vec<(String, Value)> {
        let frames = self.received.drain();
        frames.flat_map(|(id, frames)| frames.into_iter().map(move |it| (id.clone(), it))).collect()
    }

    async fn receive(&mut self) -> Result<()> {
        let socket = self.socket.as_mut().context("the runtime is not connected")?;
        let message = socket.next().await.context("the runtime has left")??;
        if let Message::Text(text) = message {
            self.keep(serde_json::from_str(&text)?);
        }
        Ok(())
    }

    fn keep(&mut self, frame: Value) {
        let request = request_of(&frame);
        // What the runtime cannot know to have arrived comes again after a break.
        if frame.get("method").is_none()
            && self.answers.insert(request.clone(), frame.clone()).as_ref() == Some(&frame)
        {
            return;
        }
        self.received.entry(request).or_default().push_back(frame);
    }
}

/// The request that a frame of the runtime belongs to: its id as JSON text.
pub(super) fn request_of(frame: &Value) -> String {
    match frame["method"].as_str() {
        Some("register") => REGISTER.to_owned(),
        Some(_) => frame["params"]["requestId"].to_string(),
        None => frame["id"].to_string(),
    }
}
