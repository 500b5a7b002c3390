//! An application and a scripted manager, connected by a pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use oxikit_core::{
    Action, ActionInput, ActionKind, ActionOutput, Context, Emitter, Handler, Inputs, OpenSpan,
    Payload, Registry, SpanExporter, SpanRecord, Status,
};
use oxikit_telemetry::GenkitExporter;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Bytes, Error};
use tokio_util::sync::CancellationToken;

use super::super::session::Session;
use super::super::{Backoff, ManagerLink, connection};
use crate::identity::Identity;
use crate::runs::Runs;

/// Timeout of everything that a test waits for, in virtual time.
const SOON: Duration = Duration::from_secs(600);
/// Capacity in bytes of the pipe between manager and application.
pub(super) const PIPE: usize = 64 * 1024;

/// An application that attends a manager.
pub(super) struct App {
    sockets: mpsc::Receiver<DuplexStream>,
    pub(super) connects: Arc<AtomicUsize>,
    /// Whether a manager is connected.
    pub(super) is_up: Arc<AtomicBool>,
    /// Lets a run of `/flow/gated` end.
    pub(super) gate: Arc<Semaphore>,
    pub(super) registry: Registry,
    pub(super) telemetry: GenkitExporter,
    pub(super) ending: CancellationToken,
    pub(super) session: Arc<Session>,
    task: JoinHandle<()>,
}

/// One connection, as the manager sees it.
pub(super) struct Manager {
    socket: WebSocketStream<DuplexStream>,
    /// The pings that came.
    pub(super) pings: Vec<Bytes>,
}

pub(super) fn flow<H, Args>(registry: &Registry, name: &str, handler: H)
where
    H: Handler<Args>,
    H::In: ActionInput,
    H::Out: ActionOutput,
    H::Chunk: ActionOutput,
{
    registry.register(Action::builder(ActionKind::Flow, name).handler(handler));
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct Prefix {
    prefix: Option<String>,
}

fn define(registry: &Registry, gate: &Arc<Semaphore>) {
    flow(registry, "greet", async |input: Name| Ok(json!({"text": format!("Hi {}", input.name)})));
    flow(registry, "countdown", async |from: u32, _: Context, out: Emitter<u32>| {
        for n in (1..=from).rev() {
            out.send(n).await?;
        }
        Ok("liftoff")
    });
    flow(registry, "boom", async |_: Value| Err::<(), _>(Status::internal("kaboom")));
    flow(registry, "denied", async |_: Value| {
        Err::<(), _>(Status::permission_denied("not for you"))
    });
    flow(registry, "returnsNothing", async |_: Value| Ok(()));
    flow(registry, "echo", async |input: Payload| Ok(input));
    flow(registry, "forever", async |_: Value, _: Context, out: Emitter<&'static str>| {
        out.send("started").await?;
        std::future::pending::<()>().await;
        Ok(())
    });
    let gate = gate.clone();
    flow(registry, "gated", move |input: Value| {
        let gate = gate.clone();
        async move {
            gate.acquire().await.expect("it is never closed").forget();
            Ok(input)
        }
    });
    registry.register(Action::builder(ActionKind::Flow, "bidiEcho").bidi(
        async |init: Prefix, mut inputs: Inputs<String>, _: Context, out: Emitter<String>| {
            let prefix = init.prefix.unwrap_or_default();
            let mut count = 0;
            while let Some(input) = inputs.next().await? {
                count += 1;
                out.send(format!("{prefix}{}", input.to_uppercase())).await?;
            }
            Ok(json!({"count": count}))
        },
    ));
    registry.set_value("defaultModel", "defaultModel", json!({"name": "echo/model"}));
}

pub(super) fn identity() -> Identity {
    Identity { id: "4242".to_owned(), pid: 4242, name: "reflect-app".to_owned() }
}

/// Flushes whatever exporter the test adds later.
pub(super) fn runs(registry: Registry) -> Runs {
    struct All(Registry);
    #[async_trait::async_trait]
    impl SpanExporter for All {
        fn start(&self, _: &OpenSpan) {}
        fn end(&self, _: SpanRecord) {}
        async fn flush(&self) {
            if let Some(exporter) = self.0.exporter() {
                exporter.flush().await;
            }
        }
    }
    Runs::new(registry.clone(), Arc::new(All(registry)))
}

impl App {
    pub(super) fn start() -> Self {
        let (registry, gate) = (Registry::default(), Arc::new(Semaphore::new(0)));
        define(&registry, &gate);
        let (telemetry, ending) = (GenkitExporter::default(), CancellationToken::new());
        let session = Session::new(
            identity(),
            runs(registry.clone()),
            Some(telemetry.clone()),
            ending.clone(),
        );
        let (sender, sockets) = mpsc::channel(1);
        let connects = Arc::<AtomicUsize>::default();
        let is_up = Arc::new(AtomicBool::new(true));
        let task = tokio::spawn({
            let (session, ending) = (session.clone(), ending.clone());
            let (connects, is_up) = (connects.clone(), is_up.clone());
            async move {
                let (backoff, address) = (Backoff::default(), "manager".to_owned());
                let link = ManagerLink { session: &session, backoff, address, ending };
                link.run(async || {
                    connects.fetch_add(1, Ordering::Relaxed);
                    let refused = || Error::Io(std::io::ErrorKind::ConnectionRefused.into());
                    if !is_up.load(Ordering::Relaxed) {
                        return Err(refused());
                    }
                    let (ours, theirs) = tokio::io::duplex(PIPE);
                    sender.send(theirs).await.map_err(|_| refused())?;
                    let config = Some(connection::config());
                    Ok(WebSocketStream::from_raw_socket(ours, Role::Client, config).await)
                })
                .await;
                session.end().await;
            }
        });
        Self { sockets, connects, is_up, gate, registry, telemetry, ending, session, task }
    }

    /// An application and its manager, registered.
    pub(super) async fn registered() -> (Self, Manager) {
        let mut app = Self::start();
        let manager = app.accept_registered().await;
        (app, manager)
    }

    /// The next connection, not registered yet.
    pub(super) async fn accept(&mut self) -> Manager {
        let socket =
            timeout(SOON, self.sockets.recv()).await.expect("no connection").expect("connects");
        let config = WebSocketConfig::default().max_frame_size(None).max_message_size(None);
        let socket = WebSocketStream::from_raw_socket(socket, Role::Server, Some(config)).await;
        Manager { socket, pings: Vec::new() }
    }

    /// The next connection, after its registration with an official manager.
    pub(super) async fn accept_registered(&mut self) -> Manager {
        self.accept_answered(json!({"result": {}})).await
    }

    /// The next connection, after its registration with a manager that says who it is.
    pub(super) async fn accept_named(&mut self, name: &str) -> Manager {
        self.accept_answered(json!({"result": {"managerId": name}})).await
    }

    /// The next connection, whose registration is answered with this.
    pub(super) async fn accept_answered(&mut self, mut answer: Value) -> Manager {
        let mut manager = self.accept().await;
        let register = manager.recv().await;
        assert_eq!(register["method"], "register");
        (answer["jsonrpc"], answer["id"]) = (json!("2.0"), register["id"].clone());
        manager.send(answer).await;
        manager
    }

    /// Ends it; all its work has ended then.
    pub(super) async fn end(self) {
        self.ending.cancel();
        timeout(SOON, self.task).await.expect("it ends").expect("it does not panic");
    }
}

impl Manager {
    pub(super) async fn send(&mut self, message: Value) {
        self.send_text(&message.to_string()).await;
    }

    pub(super) async fn send_text(&mut self, text: &str) {
        self.send_message(Message::text(text)).await;
    }

    pub(super) async fn send_message(&mut self, message: Message) {
        self.socket.send(message).await.expect("the application listens");
    }

    /// Hands over what is to be sent without waiting until it is.
    pub(super) async fn feed(&mut self, message: Value) {
        self.feed_message(Message::text(message.to_string())).await;
    }

    pub(super) async fn feed_message(&mut self, message: Message) {
        self.socket.feed(message).await.expect("it listens");
    }

    /// For a test that reads while it writes.
    pub(super) fn into_halves(
        self,
    ) -> (
        SplitSink<WebSocketStream<DuplexStream>, Message>,
        SplitStream<WebSocketStream<DuplexStream>>,
    ) {
        self.socket.split()
    }

    pub(super) async fn flush(&mut self) {
        self.socket.flush().await.expect("it listens");
    }

    /// Asks, with these parameters.
    pub(super) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params, "id": id})).await;
    }

    /// Asks for a run.
    pub(super) async fn run(&mut self, id: impl Into<Value>, key: &str, input: Value) {
        self.ask(id, "runAction", json!({"key": key, "input": input, "stream": false})).await;
    }

    pub(super) async fn tell(&mut self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// The next message, whatever it is; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Result<Message, Error>> {
        loop {
            let message = self.socket.next().await?;
            if let Ok(Message::Ping(payload)) = &message {
                self.pings.push(payload.clone());
                continue;
            }
            return Some(message);
        }
    }

    /// The next frame of data.
    pub(super) async fn recv(&mut self) -> Value {
        let message = timeout(SOON, self.next()).await.expect("nothing came");
        let message = message.expect("the connection ended").expect("it is sound");
        assert!(message.is_text(), "{message:?}");
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    /// Nothing is sent for this long.
    pub(super) async fn hears_nothing_for(&mut self, time: Duration) {
        if let Ok(message) = timeout(time, self.next()).await {
            panic!("received {message:?}");
        }
    }

    /// The state of a run: answers its trace.
    pub(super) async fn state_of(&mut self, id: impl Into<Value>) -> String {
        let state = self.recv().await;
        assert_eq!(state["method"], "runActionState", "{state}");
        assert_eq!(state["params"]["requestId"], id.into());
        let trace = state["params"]["state"]["traceId"].as_str().unwrap();
        assert_eq!(trace.len(), 32);
        trace.to_owned()
    }

    /// The other side sees the connection end without a word.
    pub(super) fn vanish(self) {
        drop(self);
    }
}
