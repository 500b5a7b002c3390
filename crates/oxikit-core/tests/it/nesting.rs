//! Calls inside calls.

use futures_util::FutureExt;
use oxikit_core::{Action, ActionContext, ActionKind, Call, Context, Registry, Step, StepKind};
use serde_json::{Value, json};

fn who() -> Action {
    Action::builder(ActionKind::Tool, "who").handler(|(): (), ctx: Context| async move {
        Ok(json!({"auth": ctx.auth(), "trace": ctx.trace_id().to_string()}))
    })
}

async fn call_from_an_action(call: impl Fn() -> Call + Send + Sync + 'static) -> (Value, Value) {
    let call = std::sync::Arc::new(call);
    let outer = Action::builder(ActionKind::Flow, "outer").handler(move |(): (), ctx: Context| {
        let call = call.clone();
        async move {
            let inner: Value = who().run(call()).await?.parse()?;
            Ok((json!({"auth": ctx.auth(), "trace": ctx.trace_id().to_string()}), inner))
        }
    });
    let call = Call::empty().with_context(ActionContext::default().with("auth", "ada"));
    outer.run(call).await.unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_call_inside_an_action_has_its_caller_and_its_trace() {
    let (outer, inner) = call_from_an_action(Call::empty).await;
    assert_eq!(outer, inner);
    assert_eq!(inner["auth"], "ada");
}

#[tokio::test]
async fn a_call_may_say_itself_who_calls() {
    let (outer, inner) = call_from_an_action(|| {
        Call::empty().with_context(ActionContext::default().with("auth", "bob"))
    })
    .await;
    assert_eq!(outer["trace"], inner["trace"]);
    assert_eq!(inner["auth"], "bob");
}

#[tokio::test]
async fn a_call_inside_an_action_finds_actions_where_the_action_does() {
    let registry = Registry::default();
    registry.register(who());
    let outer =
        Action::builder(ActionKind::Flow, "outer").handler(|(): (), ctx: Context| async move {
            ctx.registry().run("/tool/who", Call::empty()).await
        });
    let call = Call::empty().in_registry(&registry);
    assert_eq!(outer.run(call).await.unwrap().to_value().unwrap()["auth"], json!(null));
}

#[tokio::test]
async fn a_spawned_task_has_no_context_unless_it_is_passed_along() {
    let outer =
        Action::builder(ActionKind::Flow, "outer").handler(|(): (), ctx: Context| async move {
            let trace = |ctx: Option<Context>| ctx.map(|ctx| ctx.trace_id().to_string());
            let without = tokio::spawn(async move { trace(Context::current()) }).await.unwrap();
            let scoped = ctx.clone();
            let with = tokio::spawn(async move {
                scoped
                    .scope(async {
                        tokio::task::yield_now().await;
                        Context::current().map(|ctx| ctx.trace_id().to_string())
                    })
                    .await
            });
            Ok((without, with.await.unwrap() == trace(Some(ctx))))
        });
    let output = outer.run(Call::empty()).await.unwrap();
    assert_eq!(output.to_value().unwrap(), json!([null, true]));
}

#[tokio::test]
async fn outside_of_its_own_polls_an_action_leaves_no_context() {
    let slow = Action::builder(ActionKind::Flow, "slow").handler(|(): ()| async {
        tokio::task::yield_now().await;
        Ok(Context::current().is_some())
    });
    let mut run = Box::pin(slow.run(Call::empty()));
    assert!((&mut run).now_or_never().is_none());
    assert!(Context::current().is_none());
    assert!(run.await.unwrap().parse::<bool>().unwrap());
    assert!(Context::current().is_none());
}

#[tokio::test]
async fn runs_polled_by_one_task_keep_their_contexts_apart() {
    let own = || {
        Action::builder(ActionKind::Flow, "own").handler(|(): (), ctx: Context| async move {
            for _ in 0..10 {
                tokio::task::yield_now().await;
                assert_eq!(Context::current().unwrap().span_id(), ctx.span_id());
            }
            Ok(())
        })
    };
    let (a, b) = (own(), own());
    let (a, b) = futures_util::future::join(a.run(Call::empty()), b.run(Call::empty())).await;
    a.unwrap();
    b.unwrap();
}

#[tokio::test]
async fn a_step_is_a_context_of_its_own() {
    let outer =
        Action::builder(ActionKind::Flow, "outer").handler(|(): (), ctx: Context| async move {
            let (outer, trace) = (ctx.span_id(), ctx.trace_id());
            Step::new(StepKind::Util, "inner")
                .run(|inner| {
                    // Also in the part before the first await.
                    assert_eq!(Context::current().unwrap().span_id(), inner.span_id());
                    async move { Ok((inner.span_id() != outer, inner.trace_id() == trace)) }
                })
                .await
        });
    let output = outer.run(Call::empty()).await.unwrap();
    assert_eq!(output.to_value().unwrap(), json!([true, true]));
}

#[tokio::test]
async fn what_no_protocol_can_send_is_handed_to_the_called_action_only() {
    struct Hidden(u32);
    let inner =
        Action::builder(ActionKind::Flow, "inner").handler(|(): (), ctx: Context| async move {
            Ok(ctx.extra::<Hidden>().map(|hidden| hidden.0))
        });
    let outer = Action::builder(ActionKind::Flow, "outer").handler(move |(): (), ctx: Context| {
        let inner = inner.clone();
        async move {
            let below: Option<u32> = inner.run(Call::empty()).await?.parse()?;
            Ok((ctx.extra::<Hidden>().map(|hidden| hidden.0), below))
        }
    });
    let output = outer.run(Call::empty().with_extra(Hidden(7))).await.unwrap();
    assert_eq!(output.to_value().unwrap(), json!([7, null]));
}
