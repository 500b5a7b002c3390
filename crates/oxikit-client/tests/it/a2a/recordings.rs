//! Recorded answers of official servers over HTTP+JSON, read by the client; and the requests of
//! the official client, compared with those of this one.

use oxikit_client::a2a::{ErrorKind, OutgoingMessage, error_kind};
use serde_json::Value;

use super::kit::{agent, body_of, card_of, json_reply};
use crate::peer::peer;

const FILES: [(&str, &str); 4] = [
    ("0.3", "a2a-0.3/rest--js0.3.14-client--js0.3.14-server.jsonl"),
    ("0.3", "a2a-0.3/rest--js0.3.14-client--py0.3.26-server.jsonl"),
    ("1.0", "a2a-1.0/rest--js1.3.0-client--js1.3.0-server.jsonl"),
    ("1.0", "a2a-1.0/rest--js1.3.0-client--py1.3.0-server.jsonl"),
];

fn exchanges(file: &str) -> Vec<Value> {
    let text = oxikit_recordings::text(file);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The path of a request below the address of the agent.
fn path_of(exchange: &Value) -> &str {
    exchange["request"]["path"].as_str().unwrap().strip_prefix("/a2a/rest").unwrap_or_default()
}

#[tokio::test]
async fn recorded_tasks_are_read_by_the_same_request() {
    let mut seen = 0;
    for (version, file) in FILES {
        for exchange in exchanges(file) {
            let path = path_of(&exchange);
            let Some((id, query)) = path
                .split_once("/tasks/")
                .map(|(_, rest)| rest.split_once("?historyLength=").unwrap_or((rest, "")))
            else {
                continue;
            };
            if exchange["request"]["method"] != "GET" || id.contains(['/', ':']) {
                continue;
            }
            let http = u16::try_from(exchange["response"]["status"].as_u64().unwrap()).unwrap();
            let card = json_reply(200, &card_of(&[("HTTP+JSON", version)]));
            let peer = peer([card, json_reply(http, &exchange["response"]["body"])]).await;
            let client = agent(&peer).connect().await.unwrap();
            match client.get_task(id, query.parse().ok()).await {
                Ok(task) => assert_eq!(task.id, id),
                Err(status) => {
                    assert_eq!(error_kind(&status), Some(ErrorKind::TaskNotFound), "{exchange}");
                }
            }
            let line = format!("GET /agent{path} HTTP/1.1");
            assert_eq!(peer.requests().await[1].lines().next(), Some(&*line));
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[tokio::test]
async fn recorded_messages_are_sent_alike_and_their_answers_read() {
    let mut seen = 0;
    for (version, file) in FILES {
        for exchange in exchanges(file) {
            let body = &exchange["request"]["body"];
            let parts = body["message"].get(if version == "0.3" { "content" } else { "parts" });
            let text = parts.and_then(|parts| parts[0]["text"].as_str());
            let is_answered = exchange["response"]["status"].as_u64().unwrap() < 300;
            let (Some(text), true) = (text, is_answered) else { continue };
            let is_plain = body["message"].as_object().unwrap().len() == 3
                && parts.unwrap().as_array().unwrap().len() == 1;
            if !path_of(&exchange).ends_with("/message:send") || !is_plain {
                continue;
            }
            let card = json_reply(200, &card_of(&[("HTTP+JSON", version)]));
            let peer = peer([card, json_reply(201, &exchange["response"]["body"])]).await;
            let client = agent(&peer).connect().await.unwrap();
            client.send(OutgoingMessage::new(text)).await.unwrap();
            let mut sent = body_of(&peer.requests().await[1]);
            sent["message"]["messageId"] = body["message"]["messageId"].clone();
            assert_eq!(sent["message"], body["message"]);
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}
