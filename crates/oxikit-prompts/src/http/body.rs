//! Request bodies, and errors that name the member that is wrong.

use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use oxikit_http::Limits;
use oxikit_http::body::read_body;
use oxikit_wire::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Failure, PromptApi};

/// The body of a request as a JSON object. Unknown members are ignored. What cannot be read is
/// answered with 422 and the place of the error.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

/// Like [`JsonBody`], for routes whose members are all optional: the body may be empty.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<PromptApi>> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Arc<PromptApi>) -> Result<Self, Failure> {
        parse(&read(request, api).await?).map(Self)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<Arc<PromptApi>> for OptionalBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, api: &Arc<PromptApi>) -> Result<Self, Failure> {
        let body = read(request, api).await?;
        let is_empty = body.trim_ascii().is_empty();
        if is_empty { Ok(Self(T::default())) } else { parse(&body).map(Self) }
    }
}

async fn read(request: Request, api: &PromptApi) -> Result<bytes::Bytes, Failure> {
    let (head, body) = request.into_parts();
    let mut limits = Limits::default();
    limits.body_bytes = api.options.max_message;
    Ok(read_body(&head.headers, body, &limits).await?)
}

/// Reads an object. Unknown members are passed over without recursion, so that their depth does not
/// matter.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    let Ok(text) = std::str::from_utf8(body) else {
        let text = "the body is not text in UTF-8";
        return Err(Failure::new(axum::http::StatusCode::BAD_REQUEST, text));
    };
    if !text.trim_start().starts_with('{') {
        return Err(Failure::field(&["body"], "send a JSON object", "model_type"));
    }
    serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))
}

/// Finds the member that cannot be read, by reading each one on its own.
fn explain<T: DeserializeOwned>(text: &str, error: &serde_json::Error) -> Failure {
    if !error.is_data() {
        return Failure::field(
            &["body"],
            format!("the JSON cannot be read: {error}"),
            "json_invalid",
        );
    }
    if let Some(name) = missing_member(error) {
        return Failure::field(&["body", &name], "this member is required", "missing");
    }
    let members: JsonObject = serde_json::from_str(text).unwrap_or_default();
    for (name, value) in members {
        let alone = JsonObject::from_iter([(name.clone(), value)]);
        if let Err(error) = serde_json::from_value::<T>(Value::Object(alone))
            && missing_member(&error).is_none()
        {
            return Failure::field(&["body", &name], error.to_string(), "value_error");
        }
    }
    Failure::field(&["body"], error.to_string(), "value_error")
}

/// The name of a member that is required and missing.
fn missing_member(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let name = text.strip_prefix("missing field `")?.split('`').next()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse;
    use http_body_util::BodyExt;
    use oxikit_wire::prompts::{DocumentChange, NewDirectory};
    use serde_json::json;

    use super::*;

    /// Checks the status and the place of the error of a body.
    async fn check<T: DeserializeOwned + std::fmt::Debug>(body: &[u8], status: u16, place: Value) {
        let response = parse::<T>(body).unwrap_err().into_response();
        assert_eq!(response.status(), status, "{}", String::from_utf8_lossy(body));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["detail"][0]["loc"], place, "{body}");
    }

    #[tokio::test]
    async fn an_error_names_the_member() {
        check::<NewDirectory>(b"{}", 422, json!(["body", "path"])).await;
        check::<NewDirectory>(br#"{"path":5}"#, 422, json!(["body", "path"])).await;
        check::<DocumentChange>(br#"{"op":"a","tags":"b"}"#, 422, json!(["body", "tags"])).await;
        check::<DocumentChange>(br#"{"prompt_type":"x"}"#, 422, json!(["body", "prompt_type"]))
            .await;
    }

    #[tokio::test]
    async fn what_is_not_an_object_is_refused() {
        for body in ["", "[]", "null", "\"a\"", "{", "{]", "{\"a\":1}}"] {
            check::<DocumentChange>(body.as_bytes(), 422, json!(["body"])).await;
        }
        check::<DocumentChange>(b"{\"content\":\"\xff\"}", 400, Value::Null).await;
    }

    #[test]
    fn unknown_members_are_ignored_and_a_doubled_one_is_refused() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        let body = format!(" {{\"content\":\"a\",\"x\":{deep}}} ");
        let change: DocumentChange = parse(body.as_bytes()).unwrap();
        assert_eq!(change.content.as_deref(), Some("a"));
        assert!(parse::<DocumentChange>(br#"{"content":"a","content":"b"}"#).is_err());
    }
}
