//! A WebSocket that sends every message back, to find out whether WebSockets work at all.

use std::sync::Arc;

use axum::extract::{Request, State};
use oxikit_core::timestamp;
use oxikit_http::websocket::{Batch, Ending, Message, Socket};
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::PromptApi;
use super::failure::Answer;
use super::socket::{ENDING_SHUTDOWN, ENDING_UNFINISHED, Liveness, accept};

/// The first message.
const GREETING: &str = "The WebSocket is open. Every message is sent back.";

/// The answer to a message.
#[derive(Debug, Serialize)]
struct Echo<'a> {
    received: &'a str,
    counter: u64,
    timestamp: String,
    message: String,
}

/// `GET /api/ws/test`.
pub(crate) async fn open(State(api): State<Arc<PromptApi>>, request: Request) -> Answer {
    accept(&api, request, serve)
}

async fn serve(api: Arc<PromptApi>, mut socket: Box<Socket>) {
    let ending = exchange(&api, &mut socket).await;
    socket.close(ending).await;
}

async fn exchange(api: &PromptApi, socket: &mut Socket) -> Ending {
    socket.send(Message::text(GREETING));
    let (mut batch, mut liveness) = (Batch::default(), Liveness::new(&api.options));
    let (closing, mut counter) = (api.sockets.closing(), 0);
    loop {
        let complete_by = socket.partial_since().map(|at| at + api.options.message_timeout);
        let deadline = complete_by.map_or(liveness.next_ping(), |at| at.min(liveness.next_ping()));
        tokio::select! {
            worked = socket.work(&mut batch, true) => {
                if let Err(ending) = worked {
                    return ending;
                }
                if batch.take_received() {
                    liveness.received();
                }
                for text in batch.messages.drain(..) {
                    counter += 1;
                    socket.send(Message::text(answer(&text, counter)));
                }
            }
            () = sleep_until(deadline) => {
                let now = Instant::now();
                if complete_by.is_some_and(|at| at <= now) {
                    return ENDING_UNFINISHED;
                }
                if let Some(ending) = liveness.ping_if_due(now, &api.options, socket) {
                    return ending;
                }
            }
            () = closing.cancelled() => return ENDING_SHUTDOWN,
        }
    }
}

fn answer(text: &str, counter: u64) -> String {
    let message = format!("Message {counter} was received");
    let echo = Echo { received: text, counter, timestamp: timestamp::now(), message };
    serde_json::to_string(&echo).unwrap_or_default()
}
