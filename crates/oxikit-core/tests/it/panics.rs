//! Panics of user code harm their own run only.

use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Event, Result, Status, StatusCode};

use crate::recorder::Recorder;

#[track_caller]
fn check(status: &Status) {
    assert_eq!(status.code(), StatusCode::Internal);
    assert!(!status.is_public());
    assert!(status.message().contains("ouch"), "{status}");
    assert_eq!(status.outgoing().message, "Internal error");
}

async fn panic_later(_: ()) -> Result<u32> {
    panic!("ouch {}", 1)
}

fn panic_first(_: ()) -> std::future::Ready<Result<u32>> {
    panic!("ouch")
}

#[tokio::test]
async fn a_panic_is_internal_wherever_it_happens() {
    let (recorder, registry) = Recorder::new();
    let first = Action::builder(ActionKind::Flow, "first").handler(panic_first);
    let later = Action::builder(ActionKind::Flow, "later").handler(panic_later);
    for action in [first, later] {
        check(&action.run(Call::empty().in_registry(&registry)).await.unwrap_err());
        let mut run = action.start(Call::empty()).unwrap();
        let Some(Event::Failed(status)) = run.next().await else { panic!("not failed") };
        check(&status);
        assert!(run.next().await.is_none());
    }
    assert_eq!(recorder.ended().len(), 2);
}

#[tokio::test]
async fn a_panic_in_a_step_ends_its_span_and_fails_its_action() {
    let (recorder, registry) = Recorder::new();
    let action =
        Action::builder(ActionKind::Flow, "flow").handler(|(): (), ctx: Context| async move {
            let inner: Result<u32> = ctx.step("step", async { panic!("ouch") }).await;
            inner
        });
    check(&action.run(Call::empty().in_registry(&registry)).await.unwrap_err());
    assert_eq!(recorder.one("step").attributes["genkit:isFailureSource"], true);
    assert!(!recorder.one("flow").attributes.contains_key("genkit:isFailureSource"));
}

#[tokio::test]
async fn one_panic_in_a_hundred_calls_fails_one_call() {
    let action = Action::builder(ActionKind::Flow, "sometimes").handler(|n: u32| async move {
        assert!(n != 42, "ouch");
        Ok(n)
    });
    for n in 0..100 {
        let result = action.run(Call::new(n)).await;
        assert_eq!(result.is_err(), n == 42);
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("ouch in a destructor");
    }
}

#[tokio::test]
async fn a_panic_in_a_destructor_does_not_reach_whoever_drops_the_run() {
    let (recorder, registry) = Recorder::new();
    let action = Action::builder(ActionKind::Flow, "bomb").handler(
        |(): (), _: Context, out: Emitter<u32>| async move {
            let _bomb = Bomb;
            out.send(1).await?;
            std::future::pending::<()>().await;
            Ok(())
        },
    );
    let mut run = action.start(Call::empty().in_registry(&registry)).unwrap();
    assert!(matches!(run.next().await, Some(Event::Chunk(_))));
    drop(run);
    assert_eq!(recorder.one("bomb").attributes["genkit:state"], "error");
    assert!(Context::current().is_none());
}

#[tokio::test]
async fn after_a_panic_no_context_is_left_behind() {
    let action = Action::builder(ActionKind::Flow, "first").handler(panic_first);
    assert!(action.run(Call::empty()).await.is_err());
    assert!(Context::current().is_none());
}
