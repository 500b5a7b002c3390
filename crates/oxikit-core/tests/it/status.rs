//! The part of a failure that may leave the process.

use oxikit_core::{ActionContext, Call, Payload, ResultExt, Secret, Status, StatusCode};
use serde_json::json;

const SECRET: &str = "hunter2-7f3a";

#[test]
fn an_internal_status_says_nothing_about_our_inside() {
    for code in StatusCode::ALL {
        let cause = std::io::Error::other(format!("password {SECRET}"));
        let status = Status::new(code, format!("cannot reach db with {SECRET}"))
            .with_details(json!({"dsn": SECRET}))
            .caused_by(cause);
        let outgoing = serde_json::to_string(&status.outgoing()).unwrap();
        assert_eq!(
            outgoing,
            json!({"status": code.name(), "message": code.standard_message()}).to_string()
        );
        assert!(!format!("{:?}", status.outgoing()).contains(SECRET));
        // Logs and traces keep the whole of it.
        assert!(status.to_string().contains(SECRET));
        assert!(format!("{status:?}").contains(SECRET));
    }
}

#[test]
fn a_public_status_leaves_with_message_and_details_but_without_its_cause() {
    let cause = std::io::Error::other(SECRET);
    let status = Status::not_found("no order `42`").with_details(json!({"id":42})).caused_by(cause);
    assert_eq!(
        serde_json::to_value(status.outgoing()).unwrap(),
        json!({"status":"NOT_FOUND","message":"no order `42`","details":{"id":42}})
    );
    assert_eq!(status.cause::<std::io::Error>().unwrap().to_string(), SECRET);
    assert!(std::error::Error::source(&status).is_some());
}

#[test]
fn errors_of_libraries_are_internal_unless_somebody_says_otherwise() {
    let parsed = "x".parse::<u32>();
    let status = parsed.clone().or_internal().unwrap_err();
    assert_eq!((status.code(), status.is_public()), (StatusCode::Internal, false));
    let status = parsed.or_status(StatusCode::InvalidArgument, "no number").unwrap_err();
    assert_eq!(status.outgoing().message, "no number");
    assert!(!Status::from(std::io::Error::other(SECRET)).is_public());
    // A status among other errors stays what it is.
    let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(Status::not_found("x"));
    assert_eq!(Status::from(boxed).code(), StatusCode::NotFound);
    let again = Err::<(), _>(Status::permission_denied("x")).or_internal().unwrap_err();
    assert_eq!(again.code(), StatusCode::PermissionDenied);
}

#[test]
fn a_secret_is_never_printed() {
    let secret = Secret::new(SECRET.to_owned());
    let printed = format!("{secret} {secret:?} {:#?} {}", Some(&secret), json!(secret));
    assert!(!printed.contains(SECRET), "{printed}");
    assert_eq!(secret.expose(), SECRET);
}

#[test]
fn a_caller_s_credentials_are_never_printed() {
    let context = ActionContext::default()
        .with("auth", json!({"uid": SECRET}))
        .with("secrets", json!({"key": SECRET}))
        .with("headers", json!([{"Authorization": SECRET, "api_key": SECRET, "apiKey": SECRET}]))
        .with("tenant", "t1");
    let call = Call::new(Payload::of(1)).with_context(context.clone());
    let printed = format!("{context:?} {call:?}");
    assert!(!printed.contains(SECRET), "{printed}");
    assert!(printed.contains("t1"));
    assert_eq!(context.auth(), Some(&json!({"uid": SECRET})));
}

/// The text that is printed by a `main` that returns this status.
#[test]
fn the_debug_form_is_a_report_to_read() {
    let cause = std::io::Error::other("connection refused");
    let status = Status::new(StatusCode::Unavailable, "the model did not answer")
        .with_hint("is the server running?")
        .caused_by(cause);
    assert_eq!(
        format!("{status:?}"),
        "UNAVAILABLE: the model did not answer (is the server running?)\n\
         caused by: connection refused"
    );
    // A cause that the message repeats is not listed again.
    let status = Status::from(std::io::Error::other("disk full"));
    assert_eq!(format!("{status:?}"), "INTERNAL: disk full");
    assert!(format!("{status:#?}").starts_with("Status {"));
}

#[test]
fn errors_of_the_standard_library_and_of_anyhow_pass_through_a_question_mark() {
    fn number(text: &str) -> oxikit_core::Result<i64> {
        Ok(text.parse::<i64>()?)
    }
    fn whole(text: &str) -> oxikit_core::Result<i64> {
        use anyhow::Context as _;
        Ok(text.parse::<i64>().context("the amount of the order")?)
    }
    fn refused() -> oxikit_core::Result<()> {
        Err(anyhow::Error::from(Status::not_found("no order `42`")).context("looking it up"))?
    }
    assert_eq!(number("x").unwrap_err().code(), StatusCode::Internal);
    let report = whole("x").unwrap_err().report();
    assert_eq!(
        report,
        "INTERNAL: the amount of the order\ncaused by: invalid digit found in string"
    );
    // A status that travelled inside of another error is still that status.
    assert_eq!(refused().unwrap_err().code(), StatusCode::NotFound);
}
