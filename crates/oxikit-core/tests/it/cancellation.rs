//! Cancellation: by dropping a run, by its canceller, and by the action above it.

use std::future::pending;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Event, Result, StatusCode};
use tokio::sync::oneshot;

use crate::recorder::Recorder;

/// Sends a message when it is dropped.
struct Guard(Option<oneshot::Sender<bool>>);

impl Drop for Guard {
    fn drop(&mut self) {
        let in_context = Context::current().is_some_and(|ctx| ctx.cancellation().is_cancelled());
        _ = self.0.take().unwrap().send(in_context);
    }
}

/// An action that waits forever, the message that it was dropped, and the message of
/// a task that watches the token.
fn waiting() -> (Action, oneshot::Receiver<bool>, oneshot::Receiver<()>) {
    let (dropped, was_dropped) = oneshot::channel();
    let (seen, was_seen) = oneshot::channel();
    let senders = Arc::new(Mutex::new(Some((dropped, seen))));
    let action = Action::builder(ActionKind::Flow, "waiting").handler(
        move |(): (), ctx: Context, out: Emitter<u32>| {
            let (dropped, seen) = senders.lock().unwrap().take().unwrap();
            async move {
                let _guard = Guard(Some(dropped));
                let token = ctx.cancellation().clone();
                tokio::spawn(async move {
                    token.cancelled().await;
                    seen.send(()).unwrap();
                });
                out.send(1).await?;
                pending::<Result<u32>>().await
            }
        },
    );
    (action, was_dropped, was_seen)
}

#[tokio::test]
async fn dropping_a_run_drops_its_code_at_once_and_fires_the_token() {
    let (recorder, registry) = Recorder::new();
    let (action, mut was_dropped, was_seen) = waiting();
    let mut run = action.start(Call::empty().in_registry(&registry)).unwrap();
    assert!(matches!(run.next().await, Some(Event::Chunk(_))));
    drop(run);
    assert!(was_dropped.try_recv().unwrap(), "destructors see the context, and that it is over");
    was_seen.await.unwrap();
    let span = recorder.one("waiting");
    assert_eq!(span.attributes["genkit:state"], "error");
    assert_eq!(span.status.error().unwrap().message, "Action was cancelled");
}

#[tokio::test]
async fn dropping_the_future_of_a_unary_call_does_the_same() {
    let (action, mut was_dropped, was_seen) = waiting();
    let mut call = Box::pin(action.run(Call::empty()));
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    assert!(was_dropped.try_recv().unwrap());
    was_seen.await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_never_polled_ends_its_span_too() {
    let (recorder, registry) = Recorder::new();
    let action = Action::builder(ActionKind::Flow, "unpolled").handler(|(): ()| async { Ok(1) });
    drop(action.start(Call::empty().in_registry(&registry)).unwrap());
    assert_eq!(recorder.one("unpolled").attributes["genkit:state"], "error");
}

#[tokio::test]
async fn a_canceller_ends_the_run_from_another_task() {
    let (action, was_dropped, was_seen) = waiting();
    let mut run = action.start(Call::empty()).unwrap();
    let canceller = run.canceller();
    let reader = tokio::spawn(async move {
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        events
    });
    tokio::task::yield_now().await;
    canceller.cancel();
    canceller.cancel();
    let events = reader.await.unwrap();
    assert!(
        matches!(&events[..], [Event::Chunk(_), Event::Failed(status)] if status.code() == StatusCode::Cancelled)
    );
    assert!(was_dropped.await.unwrap());
    was_seen.await.unwrap();
}

#[tokio::test]
async fn a_run_cancelled_before_its_first_poll_never_starts() {
    let action = Action::builder(ActionKind::Flow, "never").handler(|(): ()| async {
        panic!("it was started");
        #[expect(unreachable_code, reason = "says what it returns")]
        Ok(1)
    });
    let mut run = action.start(Call::empty()).unwrap();
    run.canceller().cancel();
    assert_eq!(run.finish().await.unwrap_err().code(), StatusCode::Cancelled);
}

#[tokio::test]
async fn cancelling_what_has_ended_changes_nothing() {
    let action = Action::builder(ActionKind::Flow, "quick").handler(|(): ()| async { Ok(1) });
    let mut run = action.start(Call::empty()).unwrap();
    let canceller = run.canceller();
    assert!(matches!(run.next().await, Some(Event::Done(_))));
    canceller.cancel();
    assert!(run.next().await.is_none());
}

/// The queue is never empty, so a check after the queue would never come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_cancelled_while_its_task_keeps_the_queue_full() {
    let action = Action::builder(ActionKind::Flow, "flood").handler(
        |(): (), _: Context, out: Emitter<u32>| async move {
            tokio::spawn(async move { while out.send(1).await.is_ok() {} });
            pending::<Result<()>>().await
        },
    );
    let mut run = action.start(Call::empty()).unwrap();
    let canceller = run.canceller();
    assert!(matches!(run.next().await, Some(Event::Chunk(_))));
    canceller.cancel();
    let mut left = 0;
    let status = loop {
        match run.next().await {
            Some(Event::Chunk(_)) => left += 1,
            Some(Event::Failed(status)) => break status,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(status.code(), StatusCode::Cancelled);
    assert!(left <= 256, "{left} chunks after the end");
}

#[tokio::test]
async fn cancelling_an_action_cancels_the_calls_inside_it() {
    let (inner, was_dropped, was_seen) = waiting();
    let outer = Action::builder(ActionKind::Flow, "outer").handler(move |(): ()| {
        let inner = inner.clone();
        async move { inner.run(Call::empty()).await }
    });
    let mut call = Box::pin(outer.run(Call::empty()));
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    assert!(was_dropped.await.unwrap());
    was_seen.await.unwrap();
}

#[tokio::test]
async fn a_call_inside_an_action_is_cancelled_with_it_also_in_a_task_of_its_own() {
    let (inner, was_dropped, _) = waiting();
    let (result, was_result) = oneshot::channel();
    let result = Mutex::new(Some(result));
    let outer = Action::builder(ActionKind::Flow, "outer").handler(move |(): ()| {
        let (inner, result) = (inner.clone(), result.lock().unwrap().take().unwrap());
        async move {
            let run = inner.start(Call::empty())?;
            tokio::spawn(async move { result.send(run.finish().await) });
            pending::<Result<()>>().await
        }
    });
    let mut call = Box::pin(outer.run(Call::empty()));
    assert!((&mut call).now_or_never().is_none());
    tokio::task::yield_now().await;
    drop(call);
    assert_eq!(was_result.await.unwrap().unwrap_err().code(), StatusCode::Cancelled);
    assert!(was_dropped.await.unwrap());
}

#[tokio::test]
async fn an_independent_call_goes_on_when_its_action_is_cancelled() {
    let (go, wait) = oneshot::channel::<()>();
    let wait = Arc::new(Mutex::new(Some(wait)));
    let inner = Action::builder(ActionKind::Flow, "inner").handler(move |(): (), ctx: Context| {
        let wait = wait.lock().unwrap().take().unwrap();
        async move {
            wait.await.unwrap();
            // Calls made in here belong to it and not to the cancelled action.
            let nested =
                Action::builder(ActionKind::Flow, "nested").handler(|(): ()| async { Ok(()) });
            nested.run(Call::empty()).await?;
            Ok(ctx.trace_id().to_string())
        }
    });
    let (task, was_task) = oneshot::channel();
    let task = Mutex::new(Some(task));
    let outer = Action::builder(ActionKind::Flow, "outer").handler(move |(): (), ctx: Context| {
        let (inner, task) = (inner.clone(), task.lock().unwrap().take().unwrap());
        async move {
            let run = inner.start(Call::empty().independent())?;
            assert_eq!(run.trace_id(), ctx.trace_id());
            task.send((run.trace_id().to_string(), run.detach())).unwrap();
            pending::<Result<()>>().await
        }
    });
    let mut call = Box::pin(outer.run(Call::empty()));
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    go.send(()).unwrap();
    let (trace_id, task) = was_task.await.unwrap();
    assert_eq!(task.await.unwrap().unwrap().parse::<String>().unwrap(), trace_id);
}
