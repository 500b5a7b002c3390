//! Against oxikit's own server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit_client::{Client, RemoteAction};
use oxikit_core::ports::memory::MemoryStreams;
use oxikit_core::{Action, ActionKind, Inputs};
use oxikit_serve::{ApiKey, Server};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;

/// Serves until it is dropped.
struct Served {
    address: SocketAddr,
    client: Client,
    _stop: oneshot::Sender<()>,
}

async fn served(server: Server) -> Served {
    let server = server.port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    tokio::spawn(server.run(async move { drop(stopped.await) }));
    Served { address, client: Client::new().unwrap(), _stop: stop }
}

impl Served {
    fn action(&self, name: &str) -> RemoteAction {
        self.client.action(&format!("http://{}/{name}", self.address)).unwrap()
    }
}

#[tokio::test]
async fn an_action_is_run_with_types_on_both_sides() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
    ai.define_flow("none", |_: Option<u8>| async move { Ok(()) });
    let server = served(Server::new(&ai)).await;
    let text: String = server.action("greet").run(&"Ada ä 🦀").await.unwrap();
    assert_eq!(text, "Hello, Ada ä 🦀!");
    server.action("none").run::<()>(&()).await.unwrap();
    let status = server.action("greet").run::<String>(&1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
    assert!(status.details().is_some(), "the schema errors are kept: {status:?}");
    let status = server.action("missing").run::<String>(&1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
}

#[tokio::test]
async fn an_action_is_streamed_with_types_on_both_sides() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("count", |to: u32, _: Context, out: Emitter<u32>| async move {
        for n in 0..to {
            out.send(n).await?;
        }
        Ok("ä")
    });
    let server = served(Server::new(&ai)).await;
    let mut stream = server.action("count").stream::<u32, String>(&2000).await.unwrap();
    for n in 0..2000 {
        assert_eq!(stream.next().await.unwrap().unwrap(), n);
    }
    assert!(stream.next().await.is_none());
    assert_eq!(stream.position(), 2000);
    assert_eq!(stream.finish().await.unwrap(), "ä");
    let unread = server.action("count").stream::<u32, String>(&2000).await.unwrap();
    assert_eq!(unread.finish().await.unwrap(), "ä");
}

#[tokio::test]
async fn all_sixteen_statuses_arrive_with_message_and_details() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("fail", |code: String| async move {
        let code: StatusCode = code.parse().or_internal()?;
        Err::<(), _>(Status::public(code, "words").with_details(json!({ "a": 1 })))
    });
    let server = served(Server::new(&ai)).await;
    let fail = server.action("fail");
    for code in StatusCode::ALL.into_iter().filter(|code| *code != StatusCode::Ok) {
        let unary = fail.run::<()>(code.name()).await.unwrap_err();
        let stream = fail.stream::<(), ()>(code.name()).await.unwrap();
        for status in [unary, stream.finish().await.unwrap_err()] {
            assert_eq!((status.code(), status.message()), (code, "words"));
            assert_eq!(status.details(), Some(&json!({ "a": 1 })));
            assert_eq!(status.outgoing().message, code.standard_message());
        }
    }
}

#[tokio::test]
async fn the_init_reaches_the_action() {
    let ai = Oxikit::builder().build().unwrap();
    let registry: &oxikit_core::Registry = ai.as_ref();
    registry.register(Action::builder(ActionKind::Flow, "both").bidi(
        |init: Value, mut inputs: Inputs<Value>, _: Context, _: Emitter<()>| async move {
            Ok(json!([init, inputs.next().await?]))
        },
    ));
    let server = served(Server::new(&ai)).await;
    let action = server.action("both").with_init(json!({ "session": 1 }));
    let expected = json!([{ "session": 1 }, "in"]);
    assert_eq!(action.run::<Value>("in").await.unwrap(), expected);
    let stream = action.stream::<(), Value>("in").await.unwrap();
    assert_eq!(stream.finish().await.unwrap(), expected);
}

#[tokio::test]
async fn callers_are_let_in_or_told_why_not() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", |name: String| async move { Ok(name) });
    let server = served(Server::new(&ai).auth(ApiKey::new("good-key"))).await;
    let greet = server.action("greet");
    let cases = [
        (greet.clone(), Err(StatusCode::Unauthenticated)),
        (greet.clone().with_header("authorization", "wrong"), Err(StatusCode::PermissionDenied)),
        (greet.with_header("authorization", "Bearer good-key"), Ok("Ada".to_owned())),
    ];
    for (greet, expected) in cases {
        let unary = greet.run::<String>("Ada").await;
        let streamed = match greet.stream::<(), String>("Ada").await {
            Ok(stream) => stream.finish().await,
            Err(status) => Err(status),
        };
        assert_eq!(unary.map_err(|status| status.code()), expected);
        assert_eq!(streamed.map_err(|status| status.code()), expected);
    }
}

/// Sends a message when it is dropped.
struct Guard(mpsc::UnboundedSender<&'static str>);

impl Drop for Guard {
    fn drop(&mut self) {
        _ = self.0.send("dropped");
    }
}

#[tokio::test]
async fn an_action_ends_within_100_ms_when_its_caller_leaves() {
    let ai = Oxikit::builder().build().unwrap();
    let (tell, mut told) = mpsc::unbounded_channel();
    ai.define_flow("hang", move |_: u8, _: Context, out: Emitter<u8>| {
        let guard = Guard(tell.clone());
        async move {
            _ = guard.0.send("running");
            out.send(1).await?;
            std::future::pending::<()>().await;
            drop(guard);
            Ok(())
        }
    });
    let server = served(Server::new(&ai)).await;
    let hang = server.action("hang");

    // Every run must end, and the fastest of a few in time: a machine that is busy
    // with something else proves nothing.
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..5 {
        let mut stream = hang.stream::<u8, ()>(&1).await.unwrap();
        assert_eq!(stream.next().await.unwrap().unwrap(), 1);
        assert_eq!(told.recv().await, Some("running"));
        let left = Instant::now();
        drop(stream);
        assert_eq!(told.recv().await, Some("dropped"));
        fastest[0] = fastest[0].min(left.elapsed());

        let hang = hang.clone();
        let call = tokio::spawn(async move { hang.run::<()>(&1).await });
        assert_eq!(told.recv().await, Some("running"));
        let left = Instant::now();
        call.abort();
        assert_eq!(told.recv().await, Some("dropped"));
        fastest[1] = fastest[1].min(left.elapsed());
    }
    assert!(fastest.iter().all(|time| *time < Duration::from_millis(100)), "{fastest:?}");
}

/// A server whose flow `steps` waits for a signal before its second chunk.
async fn durable() -> (Served, Arc<Notify>) {
    let ai = Oxikit::builder().build().unwrap();
    let go_on = Arc::new(Notify::new());
    let signal = go_on.clone();
    ai.define_flow("steps", move |_: u8, _: Context, out: Emitter<u8>| {
        let signal = signal.clone();
        async move {
            out.send(1).await?;
            signal.notified().await;
            out.send(2).await?;
            Ok("end")
        }
    });
    let streams = Arc::new(MemoryStreams::default());
    (served(Server::new(&ai).durable_streams(streams)).await, go_on)
}

#[tokio::test]
async fn a_durable_stream_is_read_again_from_any_position() {
    let (server, go_on) = durable().await;
    let steps = server.action("steps");
    let mut stream = steps.stream::<u8, String>(&1).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), 1);
    let id = stream.stream_id().unwrap().to_owned();
    drop(stream);
    go_on.notify_one();
    for (position, expected) in [(0, vec![1, 2]), (1, vec![2]), (2, vec![])] {
        let mut stream = steps.resume_from::<u8, String>(&id, position).await.unwrap();
        let mut seen = Vec::new();
        while let Some(chunk) = stream.next().await {
            seen.push(chunk.unwrap());
        }
        assert_eq!(seen, expected, "from {position}");
        assert_eq!(stream.finish().await.unwrap(), "end");
    }
    let unknown = steps.resume::<u8, String>("no-such-stream").await.unwrap_err();
    assert_eq!(unknown.code(), StatusCode::NotFound);
}

/// Forwards connections to a server until the test asks it to close them, and
/// reports when that is done.
async fn proxy(server: SocketAddr, cut: Arc<Notify>, is_cut: Arc<Notify>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => {
                    let mut from = accepted.unwrap().0;
                    connections.spawn(async move {
                        let mut to = TcpStream::connect(server).await.unwrap();
                        drop(tokio::io::copy_bidirectional(&mut from, &mut to).await);
                    });
                }
                () = cut.notified() => {
                    connections.shutdown().await;
                    is_cut.notify_one();
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn a_durable_stream_survives_a_cut_connection() {
    let (server, go_on) = durable().await;
    let (cut, is_cut) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let address = proxy(server.address, cut.clone(), is_cut.clone()).await;
    let steps = server.client.action(&format!("http://{address}/steps")).unwrap();
    let mut stream = steps.stream::<u8, String>(&1).await.unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap(), 1);
    cut.notify_one();
    is_cut.notified().await;
    go_on.notify_one();
    assert_eq!(stream.next().await.unwrap().unwrap(), 2);
    assert!(stream.next().await.is_none());
    assert_eq!(stream.finish().await.unwrap(), "end");
}
