//! Documents that several people edit: what one of them sends, all others receive. The text is
//! serialised once. It is kept in memory; there is no file and no merge, and only `floor-stored` has a
//! history.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use axum::{
    Router,
    extract::{
        Path, State,
        ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade},
    },
    response::Response,
    routing::get,
};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::broadcast;

pub fn router() -> Router {
    Router::new().route("/api/prompts/ws/{id}", get(open)).with_state(Rooms::default())
}

struct Room {
    content: Mutex<String>,
    /// With the number of the sender.
    out: broadcast::Sender<(u64, Utf8Bytes)>,
    next: AtomicU64,
}
#[derive(Deserialize)]
struct Edit {
    action: String,
    #[serde(default)]
    content: String,
}

type Rooms = Arc<Mutex<HashMap<String, Arc<Room>>>>;

const NOW: &str = "2026-01-01T00:00:00.000Z";

async fn open(
    State(rooms): State<Rooms>,
    Path(id): Path<String>,
    up: WebSocketUpgrade,
) -> Response {
    let new = || {
        let (content, next) = (Mutex::default(), AtomicU64::default());
        Arc::new(Room { content, out: broadcast::channel(64).0, next })
    };
    let room = rooms.lock().expect("no panic").entry(id).or_insert_with(new).clone();
    up.read_buffer_size(4096).write_buffer_size(0).on_upgrade(move |socket| serve(room, socket))
}

async fn serve(room: Arc<Room>, mut socket: WebSocket) {
    let me = room.next.fetch_add(1, Relaxed);
    let mut updates = room.out.subscribe();
    let initial = json!({"action": "initial", "content": *room.content.lock().expect("no panic"),
        "description": null, "tags": [], "prompt_type": "standard", "updated_at": NOW});
    if socket.send(Message::Text(initial.to_string().into())).await.is_err() {
        return;
    }
    loop {
        tokio::select! {
            message = socket.recv() => {
                let Some(Ok(message)) = message else { return };
                let Message::Text(text) = message else { continue };
                let Ok(edit) = serde_json::from_str::<Edit>(&text) else { continue };
                if edit.action != "update" {
                    continue;
                }
                #[cfg(feature = "stored")]
                super::history::store(&edit.content).await;
                let answer = room.edit(me, edit.content);
                if socket.send(answer).await.is_err() {
                    return;
                }
            }
            update = updates.recv() => match update {
                Ok((sender, _)) if sender == me => {}
                Ok((_, text)) => if socket.send(Message::Text(text)).await.is_err() { return },
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }
}

impl Room {
    fn edit(&self, sender: u64, content: String) -> Message {
        let update = json!({"action": "update", "content": content, "timestamp": NOW}).to_string();
        *self.content.lock().expect("no panic") = content;
        let _ = self.out.send((sender, update.into()));
        let answer = json!({"action": "update_status", "success": true, "timestamp": NOW});
        Message::Text(answer.to_string().into())
    }
}
