//! The WebSocket protocol, with real sockets: the plain protocol of Prompt Manager, its close codes,
//! and the additions.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use oxikit_prompts::RouteOptions;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::http_kit::{Kit, Socket, kit, kit_with, refused, soon};

const JOKE: &str = "---\ndescription: Jokes\ntags: [fun, short]\n---\nTell a joke.\n";

/// Whether a text is a time as the protocol writes it, such as `2025-05-11T17:41:28.226Z`.
fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        let form = |(at, byte): (usize, u8)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b'T',
            13 | 16 => byte == b':',
            19 => byte == b'.',
            23 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        };
        text.len() == 24 && text.bytes().enumerate().all(form)
    })
}

#[tokio::test]
async fn the_steps_of_the_sample_client_work() {
    let kit = kit(&[("joke.md", JOKE), ("tone.md", "Be kind.")]).await;
    // Connect, initial.
    let (initial, mut one) = kit.edit("joke").await;
    assert_eq!(initial["action"], "initial");
    assert_eq!(initial["content"], "Tell a joke.\n");
    assert_eq!(initial["description"], "Jokes");
    assert_eq!(initial["tags"], json!(["fun", "short"]));
    assert_eq!(initial["prompt_type"], "standard");
    assert!(is_time(&initial["updated_at"]), "{initial}");
    let (_, mut other) = kit.edit("joke").await;
    // Update, status, broadcast to the other one only.
    let status = one.update("Tell a short joke.\n").await;
    assert_eq!(status["success"], true);
    assert!(is_time(&status["timestamp"]), "{status}");
    let update = other.expect("update").await;
    assert_eq!(update["content"], "Tell a short joke.\n");
    assert!(is_time(&update["timestamp"]), "{update}");
    // The front matter is unchanged.
    kit.expect_text("joke.md", &JOKE.replace("a joke", "a short joke")).await;
    // Metadata: the status to the sender, complete values to the other one.
    one.send(json!({"action": "update_metadata", "tags": []})).await;
    assert_eq!(one.expect("update_status").await["success"], true);
    let metadata = other.expect("update_metadata").await;
    assert_eq!(metadata["description"], "Jokes", "{metadata}");
    assert_eq!(metadata["tags"], json!([]));
    assert_eq!(metadata["prompt_type"], "standard");
    assert!(is_time(&metadata["timestamp"]), "{metadata}");
    // Expansion, to the asker only: the next message of the other one is its own answer.
    for client in [&mut one, &mut other] {
        client.send(json!({"action": "expand", "content": "Hi. [[tone]]"})).await;
        let expanded = client.expect("expanded").await;
        assert_eq!(expanded["content"], "Hi. [[tone]]");
        assert_eq!(expanded["expanded"], "Hi. Be kind.");
        assert_eq!(expanded["dependencies"], json!(["tone"]));
        assert_eq!(expanded["warnings"], json!([]));
    }
    // Reconnect: the state is that of the last edit.
    drop(one);
    let (initial, _) = kit.edit("joke").await;
    assert_eq!(initial["content"], "Tell a short joke.\n");
    assert_eq!(initial["tags"], json!([]));
}

#[tokio::test]
async fn fragments_have_an_endpoint_and_no_type() {
    let kit = kit(&[("fragments/tone.md", "Be kind."), ("joke.md", "x")]).await;
    let mut socket = kit.socket("/api/prompts/ws/fragments/tone").await;
    let initial = socket.expect("initial").await;
    assert_eq!(initial["content"], "Be kind.");
    assert!(initial.get("prompt_type").is_none(), "{initial}");
    assert_eq!(initial["kind"], "fragment");
    assert_eq!(socket.update("Be very kind.").await["success"], true);
    kit.expect_text("fragments/tone.md", "Be very kind.").await;
    // The alias of newer clients takes both kinds.
    for id in ["tone", "joke"] {
        kit.socket(&format!("/ws/prompts/{id}")).await.expect("initial").await;
    }
}

#[tokio::test]
async fn a_client_sees_4004_for_a_document_that_does_not_exist() {
    let kit = kit(&[("joke.md", "x"), ("fragments/tone.md", "x")]).await;
    let check = async |path: &str, reason: &str| {
        let closed = kit.socket(path).await.closed().await;
        assert_eq!(closed, (4004, reason.to_owned()), "{path}");
    };
    check("/api/prompts/ws/nope", "Prompt 'nope' not found").await;
    check("/api/prompts/ws/fragments/nope", "Fragment 'nope' not found").await;
    check("/api/prompts/ws/tone", "Prompt 'tone' not found").await;
    check("/api/prompts/ws/fragments/joke", "Fragment 'joke' not found").await;
    check("/ws/prompts/nope", "Prompt 'nope' not found").await;
    let long = "x".repeat(300);
    let (code, reason) = kit.socket(&format!("/api/prompts/ws/{long}")).await.closed().await;
    assert_eq!((code, reason.len()), (4004, 123), "a close frame has room for 123 bytes");
    kit.server.close().await;
}

#[tokio::test]
async fn an_ambiguous_id_is_refused_and_a_full_one_is_found() {
    let kit = kit(&[("a/joke.md", "one"), ("b/joke.md", "two")]).await;
    let (code, reason) = kit.socket("/api/prompts/ws/joke").await.closed().await;
    assert_eq!(code, 4004);
    assert!(reason.contains("a/joke") && reason.contains("b/joke"), "{reason}");
    let (initial, _) = kit.edit("b%2Fjoke").await;
    assert_eq!(initial["content"], "two");
}

#[tokio::test]
async fn a_deleted_document_closes_its_connections() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, socket) = kit.edit("joke").await;
    let (status, _) = kit.send(reqwest::Method::DELETE, "/joke", json!({})).await;
    assert_eq!(status, 200);
    assert_eq!(socket.closed().await.0, 4004);
}

#[tokio::test]
async fn a_connection_follows_a_rename() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut socket) = kit.edit("joke").await;
    let (status, _) = kit.post("/rename", json!({"old_id": "joke", "new_id": "jest"})).await;
    assert_eq!(status, 200);
    assert_eq!(socket.update("y").await["success"], true);
    kit.expect_text("jest.md", "y").await;
    assert!(!kit.file("joke.md").exists());
}

#[tokio::test]
async fn frames_that_cannot_be_read_are_answered_and_the_connection_stays() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut socket) = kit.edit("joke").await;
    for text in ["", "hello", "{", "[]", "{}", r#"{"action":"fly"}"#, r#"{"action":"update"}"#] {
        socket.send_text(text).await;
        let error = socket.expect("error").await;
        assert_eq!(error["code"], "bad_request", "{text}");
        assert!(error["message"].is_string(), "{text}");
    }
    socket.send_text(r#"{"action":"update","content":1,"op":"77"}"#).await;
    assert_eq!(socket.expect("error").await["op"], "77");
    let deep = format!(r#"{{"action":"update","content":{}}}"#, "[".repeat(200_000));
    socket.send_text(&deep).await;
    socket.expect("error").await;
    soon(socket.stream.send(Message::binary(vec![0xff, 0xfe]))).await.unwrap();
    socket.expect("error").await;
    // Text in a binary frame is read as text.
    let update = json!({"action": "update", "content": "y"}).to_string();
    soon(socket.stream.send(Message::binary(update.into_bytes()))).await.unwrap();
    assert_eq!(socket.expect("update_status").await["success"], true);
}

#[tokio::test]
async fn a_hundred_thousand_bad_messages_disturb_nobody() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut good) = kit.edit("joke").await;
    let (_, bad) = kit.edit("joke").await;
    let (mut sender, mut receiver) = bad.stream.split();
    let reader = tokio::spawn(async move { while let Some(Ok(_)) = receiver.next().await {} });
    let flood = tokio::spawn(async move {
        for _ in 0..100_000 {
            if sender.feed(Message::text("{\"action\":")).await.is_err() {
                break;
            }
        }
        _ = sender.close().await;
    });
    for number in 0..20 {
        assert_eq!(good.update(&format!("edit {number}")).await["success"], true);
    }
    soon(flood).await.unwrap();
    soon(reader).await.unwrap();
    kit.expect_text("joke.md", "edit 19").await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_closes_with_1009() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut socket) = kit.edit("joke").await;
    let large = json!({"action": "update", "content": "y".repeat(3 << 20)});
    socket.send(large).await;
    assert_eq!(socket.expect("update_status").await["success"], true);
    let too_large = json!({"action": "update", "content": "z".repeat(5 << 20)}).to_string();
    // The server closes while the client still sends.
    _ = soon(socket.stream.send(Message::text(too_large))).await;
    assert_eq!(socket.closed().await.0, 1009);
    kit.expect_text("joke.md", &"y".repeat(3 << 20)).await;
}

/// A server with short times.
async fn impatient_kit(pong_timeout: Duration) -> Kit {
    let change = move |mut options: oxikit_prompts::PromptServerOptions| {
        options.routes.ping_interval = Duration::from_millis(50);
        options.routes.pong_timeout = pong_timeout;
        options.routes.message_timeout = Duration::from_millis(200);
        options
    };
    kit_with(&[("joke.md", "x")], |prompts| prompts, change).await
}

#[tokio::test]
async fn a_client_that_does_not_answer_pings_is_closed_with_1001() {
    let defaults = RouteOptions::default();
    assert_eq!(defaults.ping_interval, Duration::from_secs(15));
    assert_eq!(defaults.pong_timeout, Duration::from_secs(30));
    let kit = impatient_kit(Duration::from_millis(200)).await;
    let (_, mut socket) = kit.edit("joke").await;
    // The library answers a ping when it is read; nobody reads for a while.
    let started = std::time::Instant::now();
    while kit.server.open_sockets() > 0 {
        assert!(started.elapsed() < Duration::from_secs(20), "the socket is still open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(started.elapsed() >= Duration::from_millis(150));
    let closed = loop {
        match soon(socket.stream.next()).await {
            Some(Ok(Message::Close(frame))) => break frame.map(|frame| u16::from(frame.code)),
            Some(Ok(_)) => {}
            // The close frame may be lost when the connection is reset.
            Some(Err(_)) | None => break None,
        }
    };
    assert!(matches!(closed, None | Some(1001)), "{closed:?}");
}

#[tokio::test]
async fn a_client_that_answers_pings_stays() {
    let kit = impatient_kit(Duration::from_secs(5)).await;
    let (_, mut socket) = kit.edit("joke").await;
    let pings = async {
        for _ in 0..10 {
            let message = socket.stream.next().await;
            assert!(matches!(message, Some(Ok(Message::Ping(_)))), "{message:?}");
        }
    };
    soon(pings).await;
    assert_eq!(kit.server.open_sockets(), 1);
}

#[tokio::test]
async fn beyond_the_limit_a_socket_is_refused_before_the_handshake() {
    let change = |mut options: oxikit_prompts::PromptServerOptions| {
        options.routes.max_sockets = 2;
        options
    };
    let kit = kit_with(&[("joke.md", "x")], |prompts| prompts, change).await;
    let (_, first) = kit.edit("joke").await;
    let (_, _second) = kit.edit("joke").await;
    assert_eq!(refused(kit.try_socket("/api/prompts/ws/joke", &[]).await), 503);
    assert_eq!(refused(kit.try_socket("/api/ws/test", &[]).await), 503);
    drop(first);
    let started = std::time::Instant::now();
    while kit.server.open_sockets() > 1 {
        assert!(started.elapsed() < Duration::from_secs(20), "the place is still taken");
        tokio::task::yield_now().await;
    }
    kit.edit("joke").await;
}

#[tokio::test]
async fn at_shutdown_sockets_are_closed_with_1001_and_edits_are_kept() {
    let kit = kit(&[("joke.md", "x"), ("other.md", "x")]).await;
    let (_, mut one) = kit.edit("joke").await;
    let (_, other) = kit.edit("other").await;
    let echo = kit.socket("/api/ws/test").await;
    assert_eq!(one.update("y").await["success"], true);
    let file = kit.file("joke.md");
    let Kit { server, folder, .. } = kit;
    let (one, other, echo, ()) =
        soon(async { tokio::join!(one.closed(), other.closed(), echo.closed(), server.close()) })
            .await;
    assert_eq!([one.0, other.0, echo.0], [1001; 3]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "y");
    drop(folder);
}

#[tokio::test]
async fn a_server_that_is_dropped_closes_its_sockets() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, socket) = kit.edit("joke").await;
    drop(kit);
    assert_eq!(socket.closed().await.0, 1001);
}

#[tokio::test]
async fn the_echo_socket_sends_every_message_back() {
    let kit = kit(&[]).await;
    let mut socket = kit.socket("/api/ws/test").await;
    assert!(!socket.next_text().await.is_empty(), "a greeting");
    for (number, text) in ["hello", "{\"a\":1}"].into_iter().enumerate() {
        socket.send_text(text).await;
        let echo = socket.next().await;
        assert_eq!(echo["received"], text);
        assert_eq!(echo["counter"], number + 1);
        assert!(is_time(&echo["timestamp"]) && echo["message"].is_string(), "{echo}");
    }
}

#[tokio::test]
async fn the_same_op_makes_one_revision() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut one) = kit.edit("joke").await;
    let (_, mut other) = kit.edit("joke").await;
    let edit = json!({"action": "update", "content": "y", "base_rev": 1, "op": "a-1"});
    one.send(edit.clone()).await;
    let first = one.expect("update_status").await;
    one.send(edit.clone()).await;
    let second = one.expect("update_status").await;
    other.expect("update").await;
    other.send(edit).await;
    let third = other.expect("update_status").await;
    for status in [&first, &second, &third] {
        let parts = (&status["success"], &status["rev"], &status["op"], &status["hash"]);
        assert_eq!(parts, (&json!(true), &json!(2), &json!("a-1"), &first["hash"]), "{status}");
    }
    let (_, history) = kit.get("/joke/history").await;
    assert_eq!(history["revisions"].as_array().unwrap().len(), 2, "{history}");
}

#[tokio::test]
async fn two_plain_clients_lose_nothing() {
    let text = "First paragraph.\n\nSecond paragraph.\n";
    let kit = kit(&[("joke.md", text)]).await;
    let (_, mut one) = kit.edit("joke").await;
    let (_, mut other) = kit.edit("joke").await;
    // Both have seen the same text, and send before they hear of each other.
    one.send(json!({"action": "update", "content": text.replace("First", "The first")})).await;
    other.send(json!({"action": "update", "content": text.replace("Second", "The second")})).await;
    let expected = "The first paragraph.\n\nThe second paragraph.\n";
    for client in [&mut one, &mut other] {
        let mut has_status = false;
        let mut content = Value::Null;
        while !has_status || content != expected {
            let message = client.next().await;
            match message["action"].as_str() {
                Some("update_status") => {
                    assert_eq!(message["success"], true, "{message}");
                    has_status = true;
                }
                Some("update") => content = message["content"].clone(),
                _ => panic!("{message}"),
            }
        }
    }
    kit.expect_text("joke.md", expected).await;
}

#[tokio::test]
async fn clients_that_know_the_additions_patch_restore_and_see_each_other() {
    let kit = kit(&[("joke.md", "Tell a joke.")]).await;
    let (initial, mut one) = kit.edit("joke").await;
    assert_eq!((&initial["rev"], &initial["id"]), (&json!(1), &json!("joke")));
    assert_eq!(initial["protocol"]["name"], "oxikit.prompts");
    let (_, mut other) = kit.edit("joke").await;
    let welcome = one.hello("Ada").await;
    assert_eq!(welcome["rev"], 1);
    assert!(welcome["session"].is_string());
    other.hello("Bob").await;
    let next = async |socket: &mut crate::http_kit::Socket, action: &str| loop {
        let message = socket.next().await;
        if message["action"] == action {
            break message;
        }
        assert_eq!(message["action"], "presence", "{message}");
    };
    let ops = json!([["keep", 7], ["insert", "short "], ["keep", 5]]);
    one.send(json!({"action": "patch", "base_rev": 1, "op": "p1", "ops": ops})).await;
    let status = next(&mut one, "update_status").await;
    assert_eq!((&status["success"], &status["rev"]), (&json!(true), &json!(2)), "{status}");
    let patched = next(&mut other, "patched").await;
    assert_eq!((&patched["rev"], &patched["base_rev"]), (&json!(2), &json!(1)));
    assert_eq!(patched["author"], "Ada");
    kit.expect_text("joke.md", "Tell a short joke.").await;
    one.send(json!({"action": "presence", "name": "Ada", "cursor": 4})).await;
    loop {
        let list = other.expect("presence").await;
        let clients = list["clients"].as_array().unwrap();
        if clients.iter().any(|client| client["name"] == "Ada" && client["cursor"] == 4) {
            break;
        }
    }
    one.send(json!({"action": "history", "limit": 10, "op": "h1"})).await;
    let history = next(&mut one, "history").await;
    let revs: Vec<_> =
        history["revisions"].as_array().unwrap().iter().map(|it| &it["rev"]).collect();
    assert_eq!((revs, &history["op"]), (vec![&json!(2), &json!(1)], &json!("h1")));
    one.send(json!({"action": "restore", "rev": 1})).await;
    assert_eq!(next(&mut one, "update_status").await["rev"], 3);
    let patched = next(&mut other, "patched").await;
    assert_eq!(patched["reason"], "restore", "{patched}");
    kit.expect_text("joke.md", "Tell a joke.").await;
}

#[tokio::test]
async fn a_reader_that_stops_does_not_slow_the_writers() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut writer) = kit.edit("joke").await;
    let mut readers = Vec::new();
    for _ in 0..200 {
        readers.push(kit.edit("joke").await.1);
    }
    // The last one never reads; 40 edits of 64 KiB are more than the buffers of its connection.
    let mut stalled = readers.pop().unwrap();
    let last = format!("{}39", "y".repeat(64 << 10));
    let reading = readers.into_iter().map(|mut reader| {
        let last = last.clone();
        tokio::spawn(async move { while reader.expect("update").await["content"] != last {} })
    });
    let reading: Vec<_> = reading.collect();
    let mut slowest = Duration::ZERO;
    for number in 0..40 {
        let started = std::time::Instant::now();
        let status = writer.update(&format!("{}{number}", "y".repeat(64 << 10))).await;
        assert_eq!(status["success"], true);
        slowest = slowest.max(started.elapsed());
    }
    for reader in reading {
        soon(reader).await.unwrap();
    }
    eprintln!("slowest edit with 199 readers and a stalled one: {slowest:?}");
    // The stalled one gets the newest text when it reads again, or was closed.
    let newest = async {
        loop {
            match stalled.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    let message: Value = serde_json::from_str(&text).unwrap();
                    if message["content"] == last {
                        return;
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            }
        }
    };
    soon(newest).await;
}

/// Frames that the network takes only in part are completed before anything else is sent.
#[tokio::test]
async fn a_reader_that_was_away_receives_whole_messages_in_order() {
    let kit = kit(&[("joke.md", JOKE)]).await;
    let (_, mut author) = kit.edit("joke").await;
    let (_, mut reader) = kit.edit("joke").await;
    // 12 MB: more than the system keeps for a connection.
    let content = |number: u32| format!("{number} {}\n", "x".repeat(300_000));
    for number in 0..40 {
        assert_eq!(author.update(&content(number)).await["success"], true);
    }
    let mut last = None;
    loop {
        let message = reader.next().await;
        let text = message["content"].as_str().expect("a message with the content");
        let number: u32 = text.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(text, content(number), "the content is whole");
        assert!(last < Some(number), "{last:?} is followed by {number}");
        last = Some(number);
        if number == 39 {
            return;
        }
    }
}

/// Reads updates up to a text, which must come in the order of the edits.
async fn read_until(socket: &mut Socket, last: usize) {
    let mut seen = 0;
    while seen < last {
        let message = socket.next().await;
        let content = message["content"].as_str().unwrap();
        let edit: usize = content.split(' ').next().unwrap().parse().unwrap();
        assert!(edit > seen, "{edit} after {seen}");
        assert_eq!(message["action"], "update");
        seen = edit;
    }
}

/// The room sends to some members by itself and wakes the tasks of others, and to one whose client
/// does not read it can send only the begin of a message, between the answers to its pings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_room_gets_every_change_in_order() {
    const EDITS: usize = 80;
    let kit = kit(&[("joke.md", "x")]).await;
    let (_, mut slow) = kit.edit("joke").await;
    let (_, mut writer) = kit.edit("joke").await;
    let mut readers = Vec::new();
    for _ in 0..130 {
        let (_, mut socket) = kit.edit("joke").await;
        readers.push(tokio::spawn(async move { read_until(&mut socket, EDITS).await }));
    }
    for edit in 1..=EDITS {
        slow.stream.send(Message::Ping(vec![b'p'; 100].into())).await.unwrap();
        let text = format!("{edit} {}", "x".repeat(100_000));
        assert_eq!(writer.update(&text).await["success"], true);
    }
    read_until(&mut slow, EDITS).await;
    for reader in readers {
        soon(reader).await.unwrap();
    }
}

/// The network takes only the begin of a large change, and nothing but the room wakes the task that has
/// to send the rest: the client sends nothing, and pings come late.
#[tokio::test]
async fn a_client_that_reads_late_gets_the_rest_of_a_change() {
    let kit = kit_with(
        &[("joke.md", "x")],
        |mut prompts| {
            prompts.max_content = 16 << 20;
            prompts
        },
        |mut server| {
            server.routes.max_message = 16 << 20;
            server.routes.ping_interval = Duration::from_secs(600);
            server
        },
    )
    .await;
    let (_, mut reader) = kit.edit("joke").await;
    let (_, mut writer) = kit.edit("joke").await;
    // More than the buffers of a connection hold: 4 MB to send, and what the reader has room for.
    let text = "x".repeat(10 << 20);
    assert_eq!(writer.update(&text).await["success"], true);
    let content = reader.expect("update").await["content"].as_str().map(str::len);
    assert_eq!(content, Some(text.len()));
}
