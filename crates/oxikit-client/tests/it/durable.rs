//! Durable streams, against servers that keep to the script.

use oxikit_client::{Client, RemoteAction, RemoteStream, StatusCode};

use crate::peer::{Peer, Reply, hang_up, peer, reply};

const ONE: &str = "data: {\"message\":1}\n\n";
const TWO: &str = "data: {\"message\":2}\n\n";
const END: &str = "data: {\"result\":\"end\"}\n\n";

fn start(pieces: &[&str]) -> Reply {
    reply(200, pieces).header("x-genkit-stream-id", "sid-1")
}

fn action(peer: &Peer) -> RemoteAction {
    peer.action()
}

async fn chunks(stream: &mut RemoteStream<u8, String>) -> Vec<u8> {
    let mut chunks = Vec::new();
    while let Some(Ok(chunk)) = stream.next().await {
        chunks.push(chunk);
    }
    chunks
}

/// The id and the position of the stream in each request.
async fn asked(peer: Peer) -> Vec<(Option<String>, Option<String>)> {
    let value = |request: &str, name: &str| {
        let line = request.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim().to_owned())
    };
    let requests = peer.requests().await;
    let ask = |request: &String| {
        (value(request, "x-genkit-stream-id"), value(request, "x-oxikit-stream-position"))
    };
    requests.iter().map(ask).collect()
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn a_stream_is_resumed_from_its_start() {
    let peer = peer([start(&[END]), reply(200, [ONE, TWO, END])]).await;
    let action = action(&peer);
    let first = action.stream::<u8, String>(&1).await.unwrap();
    let id = first.stream_id().unwrap().to_owned();
    let mut again = action.resume::<u8, String>(&id).await.unwrap();
    assert_eq!(again.stream_id(), Some("sid-1"));
    assert_eq!(chunks(&mut again).await, [1, 2]);
    assert_eq!(again.position(), 2);
    assert_eq!(again.finish().await.unwrap(), "end");
    assert_eq!(asked(peer).await, [(None, None), (some("sid-1"), None)]);
}

#[tokio::test]
async fn an_unknown_stream_is_not_found() {
    let peer = peer([reply::<&str>(204, [])]).await;
    let status = action(&peer).resume::<u8, String>("x").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (StatusCode::NotFound, "Stream not found"));
}

#[tokio::test]
async fn a_server_that_knows_positions_sends_only_what_follows() {
    let rest = start(&[TWO, END]).header("x-oxikit-stream-position", "1");
    let peer = peer([rest]).await;
    let mut stream = action(&peer).resume_from::<u8, String>("sid-1", 1).await.unwrap();
    assert_eq!(stream.position(), 1);
    assert_eq!(chunks(&mut stream).await, [2]);
    assert_eq!(stream.position(), 2);
    assert_eq!(asked(peer).await, [(some("sid-1"), some("1"))]);
}

#[tokio::test]
async fn what_was_read_is_passed_over_when_a_server_replays_everything() {
    let all = || start(&[ONE, TWO, END]);
    let peer = peer([all(), all()]).await;
    let mut stream = action(&peer).resume_from::<u8, String>("sid-1", 1).await.unwrap();
    assert_eq!(chunks(&mut stream).await, [2]);
    assert_eq!(stream.finish().await.unwrap(), "end");
    // The first answer did not say where it begins, so it was not trusted.
    assert_eq!(asked(peer).await, [(some("sid-1"), some("1")), (some("sid-1"), None)]);
}

#[tokio::test]
async fn a_position_behind_the_end_still_brings_the_output() {
    let all = || start(&[ONE, TWO, END]);
    let peer = peer([all(), all()]).await;
    let stream = action(&peer).resume_from::<u8, String>("sid-1", 9).await.unwrap();
    assert_eq!(stream.finish().await.unwrap(), "end");
}

#[tokio::test]
async fn a_server_that_leaves_a_part_out_is_caught() {
    let gap = start(&[END]).header("x-oxikit-stream-position", "5");
    let peer = peer([gap]).await;
    let status = action(&peer).resume_from::<u8, String>("sid-1", 1).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::DataLoss);
}

#[tokio::test]
async fn a_stream_whose_connection_breaks_goes_on_by_itself() {
    let peer = peer([
        start(&[ONE, "data: {\"mess"]).then_cut(),
        hang_up(),
        reply(503, [""]),
        start(&[TWO]).header("x-oxikit-stream-position", "1"),
        start(&[END]).header("x-oxikit-stream-position", "2"),
    ])
    .await;
    let mut stream = action(&peer).stream::<u8, String>(&1).await.unwrap();
    assert_eq!(chunks(&mut stream).await, [1, 2]);
    assert_eq!(stream.finish().await.unwrap(), "end");
    let at = |position: &str| (some("sid-1"), some(position));
    assert_eq!(asked(peer).await, [(None, None), at("1"), at("1"), at("1"), at("2")]);
}

#[tokio::test]
async fn reconnecting_has_an_end() {
    let peer = peer([start(&[]).then_cut(), hang_up(), hang_up()]).await;
    let client = Client::builder().reconnects(2).build().unwrap();
    let action = client.action(&peer.url()).unwrap();
    let stream = action.stream::<u8, String>(&1).await.unwrap();
    assert_eq!(stream.finish().await.unwrap_err().code(), StatusCode::Unavailable);
    assert_eq!(peer.requests().await.len(), 3);
}

#[tokio::test]
async fn a_server_that_forgot_the_stream_leaves_the_reader_with_the_break() {
    let peer = peer([start(&[ONE]).then_cut(), reply::<&str>(204, [])]).await;
    let mut stream = action(&peer).stream::<u8, String>(&1).await.unwrap();
    assert_eq!(chunks(&mut stream).await, [1]);
    assert_eq!(stream.finish().await.unwrap_err().code(), StatusCode::Unavailable);
}

#[tokio::test]
async fn resuming_is_tried_again_whatever_broke() {
    let peer = peer([hang_up(), reply(502, [""]), reply(200, [ONE, END])]).await;
    let mut stream = action(&peer).resume::<u8, String>("sid-1").await.unwrap();
    assert_eq!(chunks(&mut stream).await, [1]);
}

#[tokio::test]
async fn an_error_of_the_action_is_not_a_reason_to_reconnect() {
    let failed = start(&[ONE, "error: {\"error\":{\"status\":\"ABORTED\",\"message\":\"m\"}}\n\n"]);
    let peer = peer([failed]).await;
    let mut stream = action(&peer).stream::<u8, String>(&1).await.unwrap();
    assert_eq!(chunks(&mut stream).await, [1]);
    assert_eq!(stream.finish().await.unwrap_err().code(), StatusCode::Aborted);
    assert_eq!(peer.requests().await.len(), 1);
}
