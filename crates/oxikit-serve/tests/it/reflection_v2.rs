//! A runtime registers with a manager over a socket.

mod manager;
mod sessions;

use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit_serve::DevConfig;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

use crate::reflection_v1::app::define;
use manager::Manager;

#[tokio::test]
async fn an_application_registers_under_its_name_and_takes_its_leave() {
    let (manager, url) = Manager::listen().await;
    let ai = define(mpsc::unbounded_channel().0);
    let mut config = DevConfig::default();
    config.manager = Some(url);
    config.name = Some("reflect-app".to_owned());
    config.runtime_id = Some("my-runtime".to_owned());
    let tools = config.start(&ai).await.unwrap();
    assert_eq!((tools.id(), tools.url()), ("my-runtime", None));
    let mut socket = manager.accept().await;
    let register = socket.recv().await;
    assert_eq!(register["params"]["id"], "my-runtime");
    assert_eq!(register["params"]["name"], "reflect-app");
    assert_eq!(register["params"]["pid"], std::process::id());
    assert_eq!(register["params"]["reflectionApiSpecVersion"], 1);

    // A run at work does not delay the end.
    let params = json!({"key": "/flow/slow", "input": 60_000, "stream": true});
    socket.send(json!({"method": "runAction", "params": params, "id": "1"})).await;
    assert_eq!(socket.recv().await["method"], "runActionState");
    assert_eq!(socket.recv().await["params"]["chunk"], "started");
    let began = Instant::now();
    tools.close().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    while let Some(message) = socket.next().await {
        if let Message::Close(frame) = message {
            assert_eq!(u16::from(frame.unwrap().code), 1001);
            return;
        }
    }
    panic!("it left without a word");
}

#[tokio::test]
async fn dropping_the_tools_ends_them() {
    let (manager, url) = Manager::listen().await;
    let (cancelled, mut cancellations) = mpsc::unbounded_channel();
    let ai = define(cancelled);
    let mut config = DevConfig::default();
    config.manager = Some(url);
    let tools = config.start(&ai).await.unwrap();
    let mut socket = manager.accept().await;
    socket.recv().await;
    let params = json!({"key": "/flow/slow", "input": 60_000});
    socket.send(json!({"method": "runAction", "params": params, "id": "1"})).await;
    assert_eq!(socket.recv().await["method"], "runActionState");
    drop(tools);
    cancellations.recv().await.expect("the run is cancelled");
    while socket.next().await.is_some() {}
}

#[tokio::test]
async fn the_telemetry_server_that_the_manager_names_gets_the_spans() {
    let (manager, url) = Manager::listen().await;
    let telemetry = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let telemetry_url = format!("http://{}", telemetry.local_addr().unwrap());
    let ai = define(mpsc::unbounded_channel().0);
    let mut config = DevConfig::default();
    config.manager = Some(url);
    let tools = config.start(&ai).await.unwrap();
    let mut socket = manager.accept().await;
    let register = socket.recv().await;
    let result = json!({"telemetryServerUrl": telemetry_url});
    socket.send(json!({"jsonrpc": "2.0", "result": result, "id": register["id"]})).await;
    let params = json!({"key": "/flow/greet", "input": {"name": "n"}});
    socket.send(json!({"method": "runAction", "params": params, "id": "1"})).await;
    let (mut stream, _) = telemetry.accept().await.unwrap();
    let mut head = [0; 16];
    tokio::io::AsyncReadExt::read_exact(&mut stream, &mut head).await.unwrap();
    assert_eq!(&head, b"POST /api/traces");
    drop((stream, telemetry));
    tools.close().await;
}
