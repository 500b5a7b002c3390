//! Sockets of runtimes: those that answer at once, and those that say nothing.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{net::TcpStream, task::JoinSet, time::timeout};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{self, Message, protocol::WebSocketConfig},
};

use crate::{Meter, Opt, mem_mb, r};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn dial(url: &str, config: Option<WebSocketConfig>) -> tungstenite::Result<Socket> {
    assert!(url.starts_with("ws://127.0.0.1:"), "loopback only");
    Ok(connect_async_with_config(url, config, true).await?.0)
}

/// Runs runtimes with `echo` and `count` until they are stopped. They are called `fast-0` and
/// so on; a line says that all have registered.
pub async fn runtimes(o: &Opt) -> Value {
    let mut all = JoinSet::new();
    for number in 0..o.c {
        let mut socket = dial(&o.url, None).await.expect("the manager");
        let register = json!({"jsonrpc": "2.0", "id": "1", "method": "register", "params": {
            "id": format!("fast-{number}"), "pid": std::process::id(), "name": "fast",
            "genkitVersion": "nodejs/1.42.0", "reflectionApiSpecVersion": 1, "envs": ["dev"]}});
        socket.send(Message::text(register.to_string())).await.expect("register");
        socket.next().await.expect("an answer").expect("an answer");
        all.spawn(serve(socket));
    }
    println!("registered");
    all.join_all().await;
    json!({"cmd": "runtime", "closed": true})
}

const TRACE: &str = "0123456789abcdef0123456789abcdef";

async fn serve(socket: Socket) -> tungstenite::Result<()> {
    let (mut out, mut messages) = socket.split();
    while let Some(message) = messages.next().await {
        let Message::Text(text) = message? else { continue };
        let Ok(request) = serde_json::from_str::<Value>(&text) else { continue };
        let (id, params) = (&request["id"], &request["params"]);
        let result = match request["method"].as_str() {
            Some("runAction") => {
                let state = json!({"jsonrpc": "2.0", "method": "runActionState",
                    "params": {"requestId": id, "state": {"traceId": TRACE}}});
                out.feed(Message::text(state.to_string())).await?;
                let chunks =
                    if params["stream"] == true { params["input"]["n"].as_u64() } else { None };
                for i in 0..chunks.unwrap_or_default() {
                    let chunk = format!(
                        r#"{{"jsonrpc":"2.0","method":"streamChunk","params":{{"requestId":{id},"chunk":{{"i":{i},"text":"a small chunk"}}}}}}"#
                    );
                    out.feed(Message::text(chunk)).await?;
                }
                json!({"result": params["input"], "telemetry": {"traceId": TRACE}})
            }
            Some("listActions") => {
                json!({"actions": {"/flow/echo": {"key": "/flow/echo", "name": "echo"}}})
            }
            Some(_) if !id.is_null() => json!({}),
            _ => continue,
        };
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        out.send(Message::text(answer.to_string())).await?;
    }
    Ok(())
}

/// Sockets that only answer pings: what the server keeps for each.
pub async fn idle(o: &Opt) -> Value {
    let memory = || o.pids.iter().map(|pid| mem_mb(*pid, "VmRSS")).sum::<f64>();
    let before = memory();
    let small = WebSocketConfig::default().read_buffer_size(512).write_buffer_size(0);
    let (mut held, mut errors) = (JoinSet::new(), 0u64);
    for _ in 0..o.c {
        match timeout(Duration::from_secs(20), dial(&o.url, Some(small))).await {
            Ok(Ok(mut socket)) => {
                _ = held.spawn(async move { while let Some(Ok(_)) = socket.next().await {} })
            }
            _ => errors += 1,
        }
    }
    let meter = Meter::start(&o.pids);
    tokio::time::sleep(Duration::from_secs_f64(o.secs)).await;
    // One that was closed meanwhile is not held.
    while held.try_join_next().is_some() {
        errors += 1;
    }
    let open = held.len();
    let mut out = meter.into_json(
        json!({"cmd": "sockets", "open": open, "errors": errors, "rss_before_mb": r(before)}),
        1.0,
    );
    out["kb_per_conn"] = r((memory() - before) * 1024.0 / (open as f64).max(1.0));
    out["idle_cpu_pct"] = r(out["cpu_s"].as_f64().unwrap_or(0.0) / o.secs * 100.0);
    out
}
