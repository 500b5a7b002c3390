//! Many spans in few requests, many requests on one connection.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use oxikit_core::{Action, ActionKind, Call, Context, SpanExporter as _};
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Semaphore;

use crate::application::{Application, echo};
use crate::collector::{Answer, Collector, Post, ended_in};
use crate::raw_server::{OK, accept, listen, read_post};

/// A machine that is busy may make a short span a long one, but not many.
const FEW: usize = 5;

#[tokio::test]
async fn a_short_span_is_told_once() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    app.echo(100).await;
    app.exporter.flush().await;
    assert_eq!((collector.ended(), app.exporter.dropped()), (100, 0));
    assert!(collector.posts().len() <= 100 + FEW);
}

#[tokio::test]
async fn all_spans_of_a_trace_are_one_post() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let outer =
        Action::builder(ActionKind::Flow, "outer").handler(|n: u32, ctx: Context| async move {
            ctx.step("before", async { Ok(()) }).await?;
            echo().run(Call::new(n)).await?.parse::<u32>()
        });
    for n in 0..50u32 {
        outer.run(Call::new(n).in_registry(&app.registry)).await.unwrap();
    }
    app.exporter.flush().await;
    assert_eq!(collector.ended(), 150);
    assert!(collector.posts().len() <= 50 + FEW);
}

#[tokio::test]
async fn spans_arrive_without_a_flush() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    app.echo(1).await;
    collector.wait_for(|posts| ended_in(posts) == 1).await;
}

#[tokio::test]
async fn many_traces_share_one_connection() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    app.echo(500).await;
    app.exporter.flush().await;
    assert_eq!((collector.ended(), collector.connections()), (500, 1));
}

#[tokio::test]
async fn requests_do_not_wait_for_each_others_answers() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    app.echo(64).await;
    let server = tokio::spawn(async move {
        let mut peer = accept(&listener).await;
        for _ in 0..64 {
            read_post(&mut peer).await.unwrap();
        }
        peer.write_all(&OK.repeat(64)).await.unwrap();
        peer
    });
    tokio::time::timeout(Duration::from_secs(4), app.exporter.flush()).await.unwrap();
    server.await.unwrap();
    assert_eq!(app.exporter.dropped(), 0);
}

/// Serves connections that end after `each` answers, until all these traces are
/// there; also how many connections that took.
async fn serve_few_each(listener: tokio::net::TcpListener, each: usize, traces: usize) -> usize {
    let mut seen = BTreeSet::new();
    for connections in 1.. {
        let mut peer = accept(&listener).await;
        for _ in 0..each {
            let Some(post) = read_post(&mut peer).await else { break };
            seen.insert(post["traceId"].as_str().unwrap().to_owned());
            peer.write_all(OK).await.unwrap();
            if seen.len() == traces {
                // What was sent twice is answered too.
                while read_post(&mut peer).await.is_some() {
                    peer.write_all(OK).await.unwrap();
                }
                return connections;
            }
        }
    }
    unreachable!("it goes on until all are there")
}

#[tokio::test]
async fn what_was_not_answered_when_a_connection_broke_is_sent_again() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    app.echo(100).await;
    let server = tokio::spawn(serve_few_each(listener, 10, 100));
    tokio::time::timeout(Duration::from_secs(10), app.exporter.flush()).await.unwrap();
    assert_eq!(app.exporter.dropped(), 0);
    drop(app);
    assert!(server.await.unwrap() >= 10);
}

#[tokio::test]
async fn a_connection_that_was_closed_while_idle_costs_nothing() {
    let (listener, url) = listen().await;
    let app = Application::telling(&url);
    let served = tokio::spawn(async move {
        let mut posts = Vec::new();
        for _ in 0..5 {
            let mut peer = accept(&listener).await;
            posts.push(read_post(&mut peer).await.unwrap());
            peer.write_all(OK).await.unwrap();
        }
        posts
    });
    for _ in 0..5 {
        app.echo(1).await;
        app.exporter.flush().await;
    }
    assert_eq!(served.await.unwrap().len(), 5);
    assert_eq!(app.exporter.dropped(), 0);
}

#[tokio::test]
async fn what_the_server_refuses_is_counted_and_not_sent_again() {
    let status = StatusCode::INTERNAL_SERVER_ERROR;
    let collector = Collector::answering(Answer { status, ..Answer::default() }).await;
    let app = Application::telling(&collector.url);
    app.echo(10).await;
    app.exporter.flush().await;
    assert_eq!((app.exporter.dropped(), collector.ended()), (10, 10));
}

#[tokio::test]
async fn a_flush_waits_for_the_answers() {
    let delay = Duration::from_millis(200);
    let collector = Collector::answering(Answer { delay: Some(delay), ..Answer::default() }).await;
    let app = Application::telling(&collector.url);
    app.echo(1).await;
    // This one comes while the first is on its way.
    let first = tokio::spawn({
        let exporter = app.exporter.clone();
        async move { exporter.flush().await }
    });
    tokio::time::sleep(delay / 4).await;
    app.echo(1).await;
    app.exporter.flush().await;
    assert!(first.is_finished());
    assert_eq!(collector.ended(), 2);
}

#[tokio::test]
async fn after_its_close_an_exporter_takes_nothing() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    app.echo(2).await;
    app.exporter.close().await;
    assert_eq!(collector.ended(), 2);
    app.echo(3).await;
    app.exporter.flush().await;
    assert_eq!((collector.ended(), app.exporter.dropped()), (2, 3));
}

#[tokio::test]
async fn what_is_left_is_sent_when_the_last_handle_is_dropped() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    app.echo(5).await;
    drop(app);
    collector.wait_for(|posts| ended_in(posts) == 5).await;
}

#[tokio::test]
async fn the_path_of_the_server_is_kept_and_localhost_is_found() {
    let collector = Collector::start().await;
    let port = collector.url.rsplit(':').next().unwrap();
    let app = Application::telling(&format!("http://localhost:{port}/t/s3cret/"));
    app.echo(1).await;
    app.exporter.flush().await;
    assert_eq!(collector.posts()[0].path, "/t/s3cret/api/traces");
    assert!(!format!("{:?}", app.exporter).contains("s3cret"));
}

#[tokio::test]
async fn spans_come_from_threads_without_a_runtime() {
    let collector = Collector::start().await;
    let url = collector.url.clone();
    std::thread::spawn(move || Application::telling(&url).echo_anywhere(7)).join().unwrap();
    collector.wait_for(|posts| ended_in(posts) == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_flows_at_once_are_all_told_to_the_end() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let gate = Arc::new(Semaphore::new(0));
    let flow = Action::builder(ActionKind::Flow, "slow").handler({
        let gate = gate.clone();
        move |n: u32, ctx: Context| {
            let gate = gate.clone();
            async move {
                let wait = async {
                    gate.acquire().await.unwrap().forget();
                    Ok(())
                };
                ctx.step("wait", wait).await?;
                Ok(n)
            }
        }
    });
    let runs: Vec<_> = (0..1000u32)
        .map(|n| {
            let (flow, call) = (flow.clone(), Call::new(n).in_registry(&app.registry));
            tokio::spawn(async move { flow.run(call).await })
        })
        .collect();
    // All of them are seen while they run.
    collector.wait_for(|posts| waiting_in(posts) == 1000).await;
    assert_eq!(collector.ended(), 0);
    gate.add_permits(1000);
    for run in runs {
        run.await.unwrap().unwrap();
    }
    app.exporter.flush().await;
    let traces = collector.traces();
    assert_eq!((traces.len(), app.exporter.dropped()), (1000, 0));
    for trace in traces.values() {
        let spans = trace["spans"].as_object().unwrap();
        assert_eq!(spans.len(), 2);
        assert!(spans.values().all(|span| span["endTime"].as_f64().unwrap() > 0.0), "{trace}");
    }
}

/// The number of flows whose step was reported as running.
fn waiting_in(posts: &[Post]) -> usize {
    posts.iter().filter(|post| has_span(&post.body, "wait")).count()
}

fn has_span(trace: &Value, name: &str) -> bool {
    trace["spans"].as_object().unwrap().values().any(|span| span["displayName"] == name)
}
