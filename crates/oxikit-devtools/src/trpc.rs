//! The procedures of the official tools' server, which speaks tRPC. The official web page and command
//! line call them; new features belong to `/api/v1`.
//!
//! A query is a `GET` with its input in the URL, a mutation a `POST` with its input as the body. With
//! `batch=1` the path has several names, separated by commas, and the input is an object of their
//! inputs by position.

mod evaluations;
mod failure;
mod input;
mod procedures;

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::ALLOW;
use axum::http::{HeaderValue, Method, Response, StatusCode as HttpStatus};
use oxikit_core::Status;
use oxikit_http::reply::json_response;
use serde::Serialize;
use serde_json::value::RawValue;

use super::shared::Shared;
use failure::{Failure, Kind};
use oxikit_http::HttpResult;
use oxikit_http::api::{JsonText, query_value as query};
use oxikit_http::api::{check_json, wrong_method};
pub(crate) use procedures::procedures;

/// Maximum number of procedures in one request. More are answered with 400.
const MAX_BATCH: usize = 32;

/// The result of a procedure: its data as JSON, or no data.
type Outcome = Result<Option<String>, Failure>;

/// The data of a procedure as JSON.
fn data(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string(value);
    text.map(Some).map_err(|error| Failure::new(Kind::Internal, error.to_string()))
}

/// `GET` or `POST /api/{procedures}`: one, or several with `batch=1`.
///
/// # Errors
///
/// Errors of a procedure are tRPC errors in the body. Only errors that are found before a procedure is
/// known have the form of the tools' own API: another method, another content type, a body that is too
/// large or not UTF-8.
pub(crate) async fn call(State(shared): State<Arc<Shared>>, request: Request) -> HttpResult {
    let path = request.uri().path();
    let names = path.strip_prefix("/api/").unwrap_or(path).to_owned();
    let verb = match *request.method() {
        Method::GET | Method::HEAD => Verb::Query,
        Method::POST => Verb::Mutation,
        ref method => {
            let known = procedures().find(|(known, _)| *known == names);
            let (_, verb) = known.ok_or_else(|| Status::not_found("there is no such procedure"))?;
            return Ok(wrong_method(method, verb.allowed()));
        }
    };
    check_json(&request)?;
    let is_batch = query(request.uri(), "batch").as_deref() == Some("1");
    let input = match verb {
        Verb::Query => query(request.uri(), "input"),
        Verb::Mutation => {
            let JsonText(body) = JsonText::from_request(request, &()).await?;
            Some(String::from_utf8(body.into()).map_err(|_| not_utf8())?)
        }
    };
    let input = input.filter(|input| !input.is_empty());
    if !is_batch {
        let outcome = match checked(input.as_deref()) {
            Ok(input) => procedures::call(&shared, verb, &names, input).await,
            Err(failure) => Err(failure),
        };
        return Ok(single(&names, outcome));
    }
    Ok(batch(&shared, verb, &names, input.as_deref()).await)
}

/// The kind of a procedure, which determines its HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Query,
    Mutation,
}

impl Verb {
    pub(crate) fn method(self) -> &'static str {
        match self {
            Self::Query => "GET",
            Self::Mutation => "POST",
        }
    }

    /// The methods, as the header `Allow` lists them.
    fn allowed(self) -> &'static str {
        match self {
            Self::Query => "GET, HEAD",
            Self::Mutation => "POST",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Mutation => "mutation",
        }
    }
}

/// The response to one procedure.
fn single(name: &str, outcome: Outcome) -> Response<Body> {
    let http = status(&outcome);
    let mut response = json_response(http, body(name, outcome));
    if http == HttpStatus::METHOD_NOT_ALLOWED {
        // An effect that official clients ask for by `GET`.
        let allowed = HeaderValue::from_static(Verb::Mutation.allowed());
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// Calls several procedures one after the other, and makes one response of their results. A failed one
/// does not prevent the others.
async fn batch(shared: &Shared, verb: Verb, names: &str, input: Option<&str>) -> Response<Body> {
    let inputs: HashMap<String, &RawValue> = match input.map(serde_json::from_str).transpose() {
        Ok(inputs) => inputs.unwrap_or_default(),
        Err(error) => return single("", Err(Failure::unreadable(&error))),
    };
    let names: Vec<&str> = names.split(',').collect();
    if names.len() > MAX_BATCH {
        let message = format!("a batch has at most {MAX_BATCH} procedures");
        return single("", Err(Failure::new(Kind::BadRequest, message)));
    }
    let mut bodies = Vec::with_capacity(names.len());
    let mut https = Vec::with_capacity(names.len());
    for (place, name) in names.into_iter().enumerate() {
        let input = inputs.get(&place.to_string()).map(|input| input.get());
        let outcome = procedures::call(shared, verb, name, input).await;
        https.push(status(&outcome));
        bodies.push(body(name, outcome));
    }
    // As tRPC does: a batch whose calls differ in their status is 207.
    let first = https.first().copied().unwrap_or(HttpStatus::OK);
    let is_mixed = https.iter().any(|http| *http != first);
    let http = if is_mixed { HttpStatus::MULTI_STATUS } else { first };
    json_response(http, format!("[{}]", bodies.join(",")))
}

/// The HTTP status of a result.
fn status(outcome: &Outcome) -> HttpStatus {
    match outcome {
        Ok(_) => HttpStatus::OK,
        Err(failure) => failure.kind.http(),
    }
}

/// The result as JSON: `{"result":{"data":…}}` or `{"error":…}`.
fn body(name: &str, outcome: Outcome) -> String {
    match outcome {
        Ok(Some(data)) => format!(r#"{{"result":{{"data":{data}}}}}"#),
        Ok(None) => r#"{"result":{}}"#.to_owned(),
        Err(failure) => failure.to_json(name),
    }
}

/// Checks that the whole input is valid JSON before a part of it is read.
fn checked(input: Option<&str>) -> Result<Option<&str>, Failure> {
    if let Some(input) = input {
        serde_json::from_str::<&RawValue>(input).map_err(|error| Failure::unreadable(&error))?;
    }
    Ok(input)
}

fn not_utf8() -> Status {
    Status::invalid_argument("the body is not text in UTF-8")
}
