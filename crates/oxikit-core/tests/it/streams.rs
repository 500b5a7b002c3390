//! Chunks on their way to a reader.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use futures_util::StreamExt;
use oxikit_core::{
    Action, ActionKind, Call, Context, Emitter, Event, Result, Run, Status, StatusCode,
};
use serde_json::json;
use tokio::sync::oneshot;

fn countdown() -> Action {
    Action::builder(ActionKind::Flow, "countdown").handler(
        |from: u32, _: Context, out: Emitter<u32>| async move {
            for n in (1..=from).rev() {
                out.send(n).await?;
            }
            Ok("lift-off")
        },
    )
}

async fn read(run: &mut Run) -> (Vec<u32>, Option<Event>) {
    let mut chunks = Vec::new();
    loop {
        match run.next().await {
            Some(Event::Chunk(chunk)) => chunks.push(chunk.parse().unwrap()),
            end => return (chunks, end),
        }
    }
}

#[tokio::test]
async fn chunks_come_first_then_the_output_then_nothing() {
    let mut run = countdown().start(Call::new(3u32)).unwrap();
    let (chunks, end) = read(&mut run).await;
    assert_eq!(chunks, [3, 2, 1]);
    let Some(Event::Done(output)) = end else { panic!("{end:?}") };
    assert_eq!(output.parse::<String>().unwrap(), "lift-off");
    assert!(run.next().await.is_none());
    assert!(run.next().await.is_none());
    assert!(run.ready_chunk().is_none());
}

#[tokio::test]
async fn a_run_is_a_stream() {
    let events: Vec<_> = countdown().start(Call::new(2u32)).unwrap().collect().await;
    assert_eq!(events.len(), 3);
}

/// Far more than the queue and the budget of a task hold.
#[tokio::test]
async fn the_end_never_overtakes_a_chunk() {
    for count in [127, 128, 129, 255, 256, 257, 1000] {
        let mut run = countdown().start(Call::new(count)).unwrap();
        let (chunks, end) = read(&mut run).await;
        assert_eq!(chunks.len(), count as usize);
        assert!(matches!(end, Some(Event::Done(_))));
    }
}

/// The body ends in the same poll in which the reader has used up its budget.
#[tokio::test]
async fn the_end_waits_for_queued_chunks_when_the_reader_has_no_budget_left() {
    let burst = Action::builder(ActionKind::Flow, "burst").handler(
        |count: u32, _: Context, out: Emitter<u32>| async move {
            // Not counted against the budget, so that all fit into one poll.
            tokio::task::coop::unconstrained(async {
                for n in 0..count {
                    out.send(n).await?;
                }
                Ok::<_, oxikit_core::Status>(())
            })
            .await?;
            Ok(count)
        },
    );
    let mut run = burst.start(Call::new(250u32)).unwrap();
    let (chunks, end) = read(&mut run).await;
    assert_eq!(chunks, (0..250).collect::<Vec<_>>());
    assert!(matches!(end, Some(Event::Done(_))));
}

#[tokio::test]
async fn a_unary_call_of_a_streaming_action_makes_no_chunks() {
    let asked = Action::builder(ActionKind::Flow, "asked").handler(
        |(): (), _: Context, out: Emitter<u32>| async move {
            out.send(1).await?;
            Ok(out.is_wanted())
        },
    );
    assert!(!asked.run(Call::empty()).await.unwrap().parse::<bool>().unwrap());
    let run = asked.start(Call::empty()).unwrap();
    assert!(run.finish().await.unwrap().parse::<bool>().unwrap());
}

#[tokio::test]
async fn the_trace_id_is_known_before_the_first_chunk() {
    let traced = Action::builder(ActionKind::Flow, "traced").handler(
        |(): (), ctx: Context, out: Emitter<String>| async move {
            out.send(ctx.trace_id().to_string()).await?;
            Ok(ctx.span_id().to_string())
        },
    );
    let mut run = traced.start(Call::empty()).unwrap();
    let (trace_id, span_id) = (run.trace_id().to_string(), run.span_id().to_string());
    assert_eq!((trace_id.len(), span_id.len()), (32, 16));
    let Some(Event::Chunk(chunk)) = run.next().await else { panic!("no chunk") };
    assert_eq!(chunk.parse::<String>().unwrap(), trace_id);
    assert_eq!(run.finish().await.unwrap().parse::<String>().unwrap(), span_id);
}

#[tokio::test]
async fn a_slow_reader_makes_the_sender_wait_at_256_chunks() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let endless = Action::builder(ActionKind::Flow, "endless").handler(
        move |(): (), _: Context, out: Emitter<u32>| {
            let sent = counter.clone();
            async move {
                for n in 0.. {
                    out.send(n).await?;
                    sent.fetch_add(1, SeqCst);
                }
                Ok(())
            }
        },
    );
    let mut run = endless.start(Call::empty()).unwrap();
    assert!(matches!(run.next().await, Some(Event::Chunk(_))));
    // The run is polled again and again without reading chunks: the body is not polled
    // while there are chunks to read, and the queue holds no more than its size.
    for _ in 0..10 {
        assert!(run.ready_chunk().is_some());
        tokio::task::yield_now().await;
    }
    assert!(sent.load(SeqCst) <= 257, "{} sent", sent.load(SeqCst));
}

#[tokio::test]
async fn a_task_of_the_action_waits_for_the_reader_too() {
    let (finished, was_finished) = oneshot::channel();
    let finished = std::sync::Mutex::new(Some(finished));
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let spawning = Action::builder(ActionKind::Flow, "spawning").handler(
        move |(): (), _: Context, out: Emitter<u32>| {
            let (finished, sent) = (finished.lock().unwrap().take(), counter.clone());
            tokio::spawn(async move {
                let mut result = Ok(());
                while result.is_ok() {
                    result = out.send(0).await;
                    sent.fetch_add(1, SeqCst);
                }
                finished.unwrap().send(result).unwrap();
            });
            std::future::pending::<Result<()>>()
        },
    );
    let mut run = spawning.start(Call::empty()).unwrap();
    assert!(matches!(run.next().await, Some(Event::Chunk(_))));
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(sent.load(SeqCst), 257, "one was read and the queue is full");
    drop(run);
    // The reader was dropped: sending fails.
    let status = was_finished.await.unwrap().unwrap_err();
    assert_eq!(status.code(), StatusCode::Cancelled);
}

#[tokio::test]
async fn after_the_end_nothing_can_be_sent() {
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keeper = kept.clone();
    let action = Action::builder(ActionKind::Flow, "kept").handler(
        move |(): (), _: Context, out: Emitter<u32>| {
            *keeper.lock().unwrap() = Some(out);
            async { Ok(1) }
        },
    );
    let mut run = action.start(Call::empty()).unwrap();
    assert!(
        matches!(run.next().await, Some(Event::Done(_))),
        "a kept emitter does not keep the run"
    );
    let emitter = kept.lock().unwrap().take().unwrap();
    assert_eq!(emitter.send(1).await.unwrap_err().code(), StatusCode::Cancelled);
    assert!(run.next().await.is_none());
}

#[tokio::test]
async fn the_output_alone_passes_over_any_number_of_chunks() {
    let run = countdown().start(Call::new(1000u32)).unwrap();
    assert_eq!(run.finish().await.unwrap().to_value().unwrap(), json!("lift-off"));
}

#[tokio::test]
async fn a_detached_run_goes_on_alone() {
    let (go, wait) = oneshot::channel::<()>();
    let wait = std::sync::Mutex::new(Some(wait));
    let action = Action::builder(ActionKind::Flow, "detached").handler(
        move |(): (), _: Context, out: Emitter<u32>| {
            let wait = wait.lock().unwrap().take().unwrap();
            async move {
                wait.await.unwrap();
                for n in 0..1000 {
                    out.send(n).await?;
                }
                Ok("done")
            }
        },
    );
    let task = action.start(Call::empty()).unwrap().detach();
    go.send(()).unwrap();
    assert_eq!(task.await.unwrap().unwrap().parse::<String>().unwrap(), "done");
}

#[tokio::test]
async fn what_is_ready_can_be_read_as_one_batch() {
    let mut run = countdown().start(Call::new(100u32)).unwrap();
    let mut batches = Vec::new();
    while let Some(Event::Chunk(_)) = run.next().await {
        let mut batch = 1;
        while run.ready_chunk().is_some() {
            batch += 1;
        }
        batches.push(batch);
    }
    assert_eq!(batches, [100]);
}

#[tokio::test]
async fn an_emitter_without_a_reader_costs_nothing_and_can_be_made_anywhere() {
    let emitter = Emitter::<u32>::discard();
    emitter.send(1).await.unwrap();
    assert!(!emitter.is_wanted());
    let (emitter, mut chunks) = Emitter::<u32>::channel();
    emitter.retype::<&str>().send("x").await.unwrap();
    assert_eq!(chunks.recv().await.unwrap().parse::<String>().unwrap(), "x");
}

#[tokio::test]
async fn a_closed_queue_is_read_to_its_end_and_takes_no_more() {
    let (emitter, mut chunks) = Emitter::<u32>::channel();
    emitter.send(1).await.unwrap();
    emitter.send(2).await.unwrap();
    chunks.close();
    assert_eq!(emitter.send(3).await.unwrap_err().code(), StatusCode::Cancelled);
    for expected in [1u32, 2] {
        assert_eq!(chunks.recv().await.unwrap().parse::<u32>().unwrap(), expected);
    }
    assert!(chunks.recv().await.is_none());
}

#[tokio::test]
async fn chunks_for_the_wire_are_bounded_in_bytes() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let large = Action::builder(ActionKind::Flow, "large").handler(
        move |(): (), _: Context, out: Emitter<String>| {
            let sent = counter.clone();
            async move {
                for _ in 0..20 {
                    out.send("x".repeat(100 * 1024)).await?;
                    sent.fetch_add(1, SeqCst);
                }
                Ok(())
            }
        },
    );
    let mut run = large.start(Call::empty().for_wire()).unwrap();
    assert!(matches!(run.next().await, Some(Event::Chunk(_))));
    assert!(sent.load(SeqCst) <= 3, "{} wait", sent.load(SeqCst));
    let mut count = 1;
    while let Some(Event::Chunk(_)) = run.next().await {
        count += 1;
    }
    assert_eq!(count, 20);
}

/// Sends from several tasks while the queue is full most of the time: every sender is
/// woken in the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_sender_is_left_waiting() {
    let many = Action::builder(ActionKind::Flow, "many").handler(
        |(): (), _: Context, out: Emitter<u32>| async move {
            let senders: Vec<_> = (0..8)
                .map(|_| {
                    let out = out.clone();
                    tokio::spawn(async move {
                        for n in 0..2000 {
                            out.send(n).await?;
                        }
                        Ok::<_, Status>(())
                    })
                })
                .collect();
            for sender in senders {
                sender.await.unwrap()?;
            }
            Ok(())
        },
    );
    let mut run = many.start(Call::empty()).unwrap();
    let mut count = 0;
    while let Some(Event::Chunk(_)) = run.next().await {
        count += 1;
    }
    assert_eq!(count, 8 * 2000);
}

#[tokio::test]
async fn a_chunk_does_not_wake_the_task_that_has_just_made_it() {
    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let go = Arc::new(tokio::sync::Notify::new());
    let signal = go.clone();
    let action = Action::builder(ActionKind::Flow, "one").handler(
        move |_: (), _: Context, out: Emitter<u32>| {
            let signal = signal.clone();
            async move {
                signal.notified().await;
                out.send(1).await?;
                std::future::pending::<()>().await;
                Ok(())
            }
        },
    );
    let mut run = action.start(Call::empty()).unwrap();
    let wakes = Arc::new(Count::default());
    let waker = std::task::Waker::from(wakes.clone());
    let mut cx = std::task::Context::from_waker(&waker);
    assert!(run.poll_event(&mut cx).is_pending());
    go.notify_one();
    assert!(matches!(run.poll_event(&mut cx), std::task::Poll::Ready(Some(Event::Chunk(_)))));
    assert_eq!(wakes.0.load(std::sync::atomic::Ordering::SeqCst), 1);
}
