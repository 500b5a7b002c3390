//! A server that is not reachable, not yet, or not any more.

use std::time::{Duration, Instant};

use oxikit_core::{Action, ActionKind, Call, SpanExporter as _};
use oxikit_telemetry::GenkitExporter;
use tokio::io::AsyncWriteExt as _;

use crate::application::Application;
use crate::collector::{Collector, Post};
use crate::raw_server::{OK, accept, listen, nowhere, read_post};

/// The inputs of the spans in these posts.
fn inputs(posts: &[Post]) -> Vec<u32> {
    let spans = posts.iter().flat_map(|post| post.body["spans"].as_object().unwrap().values());
    let inputs = spans.map(|span| span["attributes"]["genkit:input"].as_str().unwrap());
    inputs.map(|input| input.parse().unwrap()).collect()
}

#[tokio::test]
async fn spans_that_end_before_a_server_is_known_are_kept() {
    let collector = Collector::start().await;
    let app = Application::new(GenkitExporter::new());
    app.echo(300).await;
    app.exporter.flush().await;
    assert_eq!((app.exporter.server(), app.exporter.dropped()), (None, 44));
    app.exporter.set_server(&collector.url).unwrap();
    app.exporter.flush().await;
    assert_eq!(inputs(&collector.posts()), (44..300).collect::<Vec<_>>());
    assert_eq!(app.exporter.server().as_deref(), Some(&*collector.url));
}

#[tokio::test]
async fn a_bad_url_is_refused_and_the_good_one_is_kept() {
    let exporter = GenkitExporter::builder().server("http://localhost:4033").build().unwrap();
    let refused = exporter.set_server("https://localhost:4034").unwrap_err();
    assert!(refused.message().contains("`http://localhost:4033`"), "{}", refused.message());
    assert_eq!(exporter.server().as_deref(), Some("http://localhost:4033"));
    GenkitExporter::builder().server("nonsense").build().unwrap_err();
}

#[tokio::test]
async fn a_server_that_comes_back_gets_the_newest() {
    const ALL: u32 = 9000;
    let (address, url) = nowhere().await;
    let app = Application::telling(&url);
    app.echo(1).await;
    app.exporter.flush().await;
    app.echo(ALL - 1).await;
    let lost = app.exporter.dropped();
    // The first is in the hands of the sender.
    assert_eq!(lost, u64::from(ALL - 1 - 8192));

    let collector = Collector::at(address).await;
    collector.wait_for(|posts| posts.len() as u64 + lost == u64::from(ALL)).await;
    assert_eq!(app.exporter.dropped(), lost);
    let newest = inputs(&collector.posts()).into_iter().rev().take(8192).rev();
    assert_eq!(newest.collect::<Vec<_>>(), (ALL - 1 - 8192..ALL - 1).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_waits_is_bounded_in_bytes() {
    let (address, url) = nowhere().await;
    let app = Application::telling(&url);
    app.echo(1).await;
    app.exporter.flush().await;
    let flow =
        Action::builder(ActionKind::Flow, "large").handler(async |text: String| Ok(text.len()));
    for _ in 0..100 {
        let call = Call::new("a".repeat(250 * 1024)).in_registry(&app.registry);
        flow.run(call).await.unwrap();
    }
    let lost = app.exporter.dropped();
    assert!((34..=36).contains(&lost), "{lost}");
    let collector = Collector::at(address).await;
    collector.wait_for(|posts| posts.len() as u64 + lost == 101).await;
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_is_away() {
    let (_, url) = nowhere().await;
    let app = Application::telling(&url);
    app.echo(1).await;
    let began = Instant::now();
    for _ in 0..100 {
        app.echo(1).await;
        app.exporter.flush().await;
    }
    app.exporter.close().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_server_that_hangs_up_is_not_tried_all_the_time() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    app.echo(1000).await;
    let began = Instant::now();
    let mut tries = 0;
    while let Some(left) = Duration::from_secs(2).checked_sub(began.elapsed()) {
        if let Ok(peer) = tokio::time::timeout(left, accept(&listener)).await {
            drop(peer);
            tries += 1;
        }
    }
    // 0.25 s, 0.5 s and 1 s between them, or half of that.
    assert!((2..=5).contains(&tries), "{tries}");
    assert!(app.exporter.dropped() <= 2);
}

#[tokio::test]
async fn a_server_that_never_answers_is_waited_for_once() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    let server = tokio::spawn(async move {
        let mut peers = Vec::new();
        loop {
            peers.push(accept(&listener).await);
        }
    });
    let began = Instant::now();
    for _ in 0..10 {
        app.echo(1).await;
        app.exporter.flush().await;
    }
    assert!((5..9).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    server.abort();
}

#[tokio::test]
async fn what_talks_no_http_is_as_good_as_away() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    app.echo(1).await;
    let server = tokio::spawn(async move {
        let mut peer = accept(&listener).await;
        peer.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
        peer
    });
    tokio::time::timeout(Duration::from_secs(1), app.exporter.flush()).await.unwrap();
    server.await.unwrap();
}

#[tokio::test]
async fn a_request_on_which_connections_break_holds_up_no_others() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    app.echo(3).await;
    let server = tokio::spawn(async move {
        let mut answered = 0;
        while answered < 2 {
            let mut peer = accept(&listener).await;
            while let Some(post) = read_post(&mut peer).await {
                let span = post["spans"].as_object().unwrap().values().next().unwrap();
                if span["attributes"]["genkit:input"] == "1" {
                    break;
                }
                peer.write_all(OK).await.unwrap();
                answered += 1;
                if answered == 2 {
                    break;
                }
            }
        }
    });
    tokio::time::timeout(Duration::from_secs(10), server).await.unwrap().unwrap();
    assert_eq!(app.exporter.dropped(), 1);
}

#[tokio::test]
async fn another_server_gets_what_comes_from_then_on() {
    let (first, second) = (Collector::start().await, Collector::start().await);
    let app = Application::telling(&first.url);
    app.echo(1).await;
    app.exporter.flush().await;
    app.exporter.set_server(&second.url).unwrap();
    app.echo(2).await;
    app.exporter.flush().await;
    assert_eq!((first.ended(), second.ended()), (1, 2));
}

#[tokio::test]
async fn another_server_gets_what_the_one_that_is_away_could_not() {
    let (_, url) = nowhere().await;
    let app = Application::telling(&url);
    // Long enough for pauses of seconds.
    for _ in 0..3 {
        app.echo(1).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let collector = Collector::start().await;
    app.exporter.set_server(&collector.url).unwrap();
    let began = Instant::now();
    app.exporter.flush().await;
    assert_eq!(collector.ended(), 3);
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
}
