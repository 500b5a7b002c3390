//! An A2A agent whose card, answers and errors are hostile.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use super::{hostile, long};

/// Answers until the test ends; the URL of the agent.
pub(super) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/agent", listener.local_addr().unwrap());
    let card = card(&url);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // The command may have closed the connection.
            drop(answer(stream.unwrap(), &card));
        }
    });
    url
}

fn card(url: &str) -> Value {
    let interface = |version: &str, url: &str| json!({ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": version });
    json!({
        "name": hostile(), "description": long() + &hostile(), "version": hostile(),
        "supportedInterfaces": [interface("1.0", url), interface(&hostile(), &hostile())],
        "capabilities": { "streaming": true },
        "securitySchemes": { hostile(): { "type": "http", "scheme": "Bearer" } },
        "skills": [{ "id": hostile(), "name": hostile(), "description": hostile() }],
    })
}

fn answer(mut stream: TcpStream, card: &Value) -> std::io::Result<()> {
    let request = read_request(&mut stream)?;
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or_default();
    let mut media_type = "application/json";
    let body = if head.starts_with("GET") {
        card.to_string()
    } else {
        let call: Value = serde_json::from_str(body).unwrap();
        let response = |result: Value| json!({ "jsonrpc": "2.0", "id": 1, "result": result });
        match call["method"].as_str().unwrap() {
            "SendMessage" => response(json!({ "task": task() })).to_string(),
            "SendStreamingMessage" => {
                media_type = "text/event-stream";
                events().into_iter().map(|it| format!("data: {}\n\n", response(it))).collect()
            }
            "GetTask" => response(task()).to_string(),
            _ => json!({ "error": { "code": -32002, "message": hostile(), "data": hostile() } })
                .to_string(),
        }
    };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )
}

fn read_request(stream: &mut TcpStream) -> std::io::Result<String> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if count == 0 || body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return Ok(text);
        }
    }
}

fn status() -> Value {
    let message =
        json!({ "messageId": hostile(), "role": "ROLE_AGENT", "parts": [{ "text": hostile() }] });
    json!({ "state": "TASK_STATE_COMPLETED", "message": message, "timestamp": hostile() })
}

fn artifact() -> Value {
    json!({ "artifactId": hostile(), "name": hostile(), "parts": [{ "text": hostile() }] })
}

fn task() -> Value {
    json!({ "id": hostile(), "contextId": hostile(), "status": status(), "artifacts": [artifact()] })
}

fn events() -> Vec<Value> {
    let ids = json!({ "taskId": hostile(), "contextId": hostile() });
    let with = |name: &str, value: Value| {
        let mut event = ids.clone();
        event[name] = value;
        event
    };
    vec![
        json!({ "artifactUpdate": with("artifact", artifact()) }),
        json!({ "statusUpdate": with("status", status()) }),
    ]
}
