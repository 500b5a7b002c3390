//! Background operations: started, asked about, cancelled.

use oxikit::wire::GenerateRequest;
use oxikit::{
    ActionKind, BackgroundAction, BackgroundModel, Call, Operation, Oxikit, Result, Status,
    StatusCode,
};
use serde_json::json;

fn video() -> BackgroundModel {
    BackgroundModel::builder("acme/video")
        .label("Acme video")
        .start(|request: GenerateRequest| async move {
            let mut operation = Operation::started("job-1");
            operation.metadata = json!({ "messages": request.messages.len() }).as_object().cloned();
            Ok(operation)
        })
        .check(|operation: Operation| async move {
            // The function tries to set another origin, which must have no effect.
            Ok(Operation { action: Some("/else/where".into()), ..operation }
                .finished(json!({ "message": { "role": "model", "content": [] } })))
        })
}

async fn start(ai: &Oxikit) -> Result<Operation> {
    let input = json!({ "messages": [{ "role": "user", "content": [{ "text": "a cat" }] }] });
    ai.registry().run("/background-model/acme/video", Call::new(input)).await?.parse()
}

#[tokio::test]
async fn one_definition_makes_the_three_actions_that_official_runtimes_make() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_background_model(video().cancel(|operation: Operation| async { Ok(operation) }));
    for key in [
        "/background-model/acme/video",
        "/check-operation/acme/video/check",
        "/cancel-operation/acme/video/cancel",
    ] {
        let action = ai.registry().get(key).unwrap_or_else(|| panic!("{key}"));
        let metadata = action.descriptor().metadata.clone().unwrap_or_default();
        assert_eq!(metadata["model"]["label"], "Acme video", "{key}");
        assert_eq!(action.descriptor().description.as_deref(), Some("Acme video"), "{key}");
    }
}

#[tokio::test]
async fn an_operation_is_started_and_checked_by_its_own_key() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_background_model(video());
    let started = start(&ai).await?;
    assert_eq!(
        json!(started),
        json!({
            "action": "/background-model/acme/video",
            "id": "job-1",
            "metadata": { "messages": 1 },
        })
    );
    let checked = ai.check_operation(&started).await?;
    assert_eq!(
        json!(checked),
        json!({
            "action": "/background-model/acme/video",
            "id": "job-1",
            "done": true,
            "output": { "message": { "role": "model", "content": [] } },
            "metadata": { "messages": 1 },
        })
    );
    assert!(checked.is_done());
    Ok(())
}

#[tokio::test]
async fn an_operation_is_cancelled_where_there_is_a_way_to() -> Result<()> {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_background_model(video());
    let started = start(&ai).await?;
    let status = ai.cancel_operation(&started).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unimplemented);
    assert_eq!(
        status.message(),
        "operations of `/background-model/acme/video` cannot be cancelled"
    );

    ai.define_background_model(
        video().cancel(|operation: Operation| async { Ok(operation.failed("cancelled")) }),
    );
    let cancelled = ai.cancel_operation(&started).await?;
    assert_eq!(
        json!(cancelled),
        json!({
            "action": "/background-model/acme/video",
            "id": "job-1",
            "done": true,
            "error": { "message": "cancelled" },
            "metadata": { "messages": 1 },
        })
    );
    Ok(())
}

#[tokio::test]
async fn an_operation_of_unknown_origin_is_refused_by_check_and_cancel() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("plain", |(): ()| async { Ok(()) });
    let check = async |action: Option<&str>, code: StatusCode, message: &str| {
        let operation = Operation { action: action.map(Into::into), ..Operation::started("7") };
        for result in [ai.check_operation(&operation).await, ai.cancel_operation(&operation).await]
        {
            let status = result.unwrap_err();
            assert_eq!((status.code(), status.message()), (code, message));
        }
    };
    check(
        None,
        StatusCode::InvalidArgument,
        "operation `7` does not say what started it: its member `action` is missing",
    )
    .await;
    check(
        Some("video"),
        StatusCode::InvalidArgument,
        "operation `7` says that `video` started it, which is not the key of an action",
    )
    .await;
    check(
        Some("/background-model/gone"),
        StatusCode::NotFound,
        "operation `7` was started by `/background-model/gone`, which is not a background action here",
    )
    .await;
    check(
        Some("/flow/plain"),
        StatusCode::NotFound,
        "operation `7` was started by `/flow/plain`, which is not a background action here",
    )
    .await;
}

#[tokio::test]
async fn any_kind_of_action_can_work_in_the_background_and_its_failures_are_passed_on() -> Result<()>
{
    let ai = Oxikit::builder().build().unwrap();
    let bake = ai.define_background_action(
        BackgroundAction::builder(ActionKind::Custom, "bake")
            .description("Bakes")
            .metadata("oven", "hot")
            .start(|cake: String| async move { Ok(Operation::started(cake)) })
            .check(|_: Operation| async {
                Err::<Operation, _>(Status::resource_exhausted("no flour"))
            }),
    );
    let started: Operation = bake.action().run(Call::new("pie")).await?.parse()?;
    assert_eq!(started.action.as_deref(), Some("/custom/bake"));
    let status = ai.check_operation(&started).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (StatusCode::ResourceExhausted, "no flour"));
    let check = ai.registry().get("/check-operation/bake/check").unwrap();
    assert_eq!(json!(check.descriptor().metadata), json!({ "oven": "hot" }));
    Ok(())
}
