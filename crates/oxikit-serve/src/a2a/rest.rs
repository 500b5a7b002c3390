//! The HTTP+JSON binding: a path for each operation, below the agent's URL. Paths of version 0.3
//! begin with `v1/`; those of 1.0 may begin with a tenant.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Response};
use oxikit_core::check_exact;
use oxikit_http::Watch;
use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{
    A2aError, ErrorKind, GetTaskRequest, MEDIA_TYPE, PushConfig, PushConfigRequest,
    SendMessageRequest, Version, v0_3,
};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::agent_options::Served;
use super::form::{Binding, Form};
use super::incoming::{Incoming, asked_version, check_named, last_event};
use super::methods::{Answering, Asked};
use super::refusal::Refusal;
use crate::app::Slot;

/// The version and the place that a path names, below the agent's URL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route<'a> {
    pub(super) version: Version,
    tenant: Option<Cow<'a, str>>,
    place: Place<'a>,
}

#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    Send,
    Stream,
    Tasks,
    Task(Cow<'a, str>),
    Cancel(Cow<'a, str>),
    Subscribe(Cow<'a, str>),
    Pushes(Cow<'a, str>),
    Push(Cow<'a, str>, Cow<'a, str>),
    Card,
}

impl<'a> Route<'a> {
    /// `None` if there is nothing at this path.
    pub(super) fn parse(path: &'a str) -> Option<Self> {
        let path = path.strip_suffix('/').unwrap_or(path);
        if let Some(rest) = path.strip_prefix("v1/") {
            let place = place(rest, "card")?;
            return Some(Self { version: Version::V0_3, tenant: None, place });
        }
        let of = |tenant, place| Self { version: Version::V1_0, tenant, place };
        let own = place(path, "extendedAgentCard").map(|place| of(None, place));
        own.or_else(|| {
            let (tenant, rest) = path.split_once('/')?;
            Some(of(Some(decoded(tenant)?), place(rest, "extendedAgentCard")?))
        })
    }

    /// The methods that the place takes.
    fn allows(&self, method: &Method) -> bool {
        match self.place {
            Place::Send | Place::Stream | Place::Cancel(_) => method == Method::POST,
            // The specification has one of them in its text and the other one in its proto.
            Place::Subscribe(_) | Place::Pushes(_) => {
                method == Method::POST || method == Method::GET
            }
            Place::Tasks | Place::Task(_) | Place::Card => method == Method::GET,
            Place::Push(..) => method == Method::GET || method == Method::DELETE,
        }
    }

    /// Whether the answer is a stream of events.
    fn is_streaming(&self) -> bool {
        matches!(self.place, Place::Stream | Place::Subscribe(_))
    }

    /// The operation, with its parameters from path, query and body.
    fn asked(self, head: &Parts, body: &[u8]) -> Result<Asked, Refusal> {
        if !self.allows(&head.method) {
            let detail = format!("this path does not take {}", head.method);
            return Err(A2aError::new(ErrorKind::MethodNotFound).with_detail(detail).into());
        }
        let version = self.version;
        let query = head.uri.query().unwrap_or_default();
        Ok(match self.place {
            Place::Send => Asked::Send(Box::new(message(body, version)?)),
            Place::Stream => Asked::Stream(Box::new(message(body, version)?)),
            Place::Tasks => Asked::List(Box::new(from_parameters(parameters(query)?)?)),
            Place::Task(id) => {
                let mut query = parameters(query)?;
                query.insert("id".to_owned(), Value::from(id.into_owned()));
                let GetTaskRequest { id, history_length, .. } = from_parameters(query)?;
                Asked::Get { id, history: history_length }
            }
            Place::Cancel(id) => Asked::Cancel { id: id.into_owned() },
            Place::Subscribe(id) => {
                let position = last_event(&head.headers, &id)?;
                Asked::Subscribe { id: id.into_owned(), position }
            }
            Place::Pushes(task) if head.method == Method::GET => {
                Asked::ListPush { task: task.into_owned() }
            }
            Place::Pushes(task) => {
                let mut config: PushConfig = read(body, version)?;
                config.task_id = Some(task.into_owned());
                Asked::CreatePush(Box::new(config))
            }
            Place::Push(task, id) => {
                let request = PushConfigRequest {
                    tenant: None,
                    task_id: task.into_owned(),
                    id: Some(id.into_owned()),
                };
                match head.method {
                    Method::DELETE => Asked::DeletePush(request),
                    _ => Asked::GetPush(request),
                }
            }
            Place::Card => Asked::ExtendedCard,
        })
    }

    /// The tenant that the path names.
    fn tenant(&self) -> Option<&str> {
        self.tenant.as_deref()
    }
}

impl Incoming<'_> {
    /// Answers a request of the HTTP+JSON binding.
    pub(super) async fn answer_rest(
        self,
        below: &str,
        body: &[u8],
        watch: &mut Watch,
        slot: Slot,
    ) -> Response<Body> {
        let Self { app, agent, head, .. } = self;
        let route = Route::parse(below);
        let version = route.as_ref().map_or(Version::V1_0, |route| route.version);
        let form = rest_form(agent, head, version);
        let Some(route) = route else {
            let detail = "there is nothing at this path";
            let error = A2aError::new(ErrorKind::MethodNotFound).with_detail(detail);
            return form.refused(&error.into());
        };
        if let Err(error) = check_version(agent, head, version) {
            return form.refused(&error.into());
        }
        let is_streaming = route.is_streaming();
        let tenant = route.tenant().map(str::to_owned);
        let asked = route.asked(head, body);
        let service = self.service(version, tenant, body.len());
        let answering = Answering { app, service, form, head, watch, slot };
        match asked {
            Ok(asked) => answering.answer(asked).await,
            Err(refusal) => answering.refuse(is_streaming, &refusal),
        }
    }
}

/// The path tells the version. A header that names another one is refused.
pub(super) fn check_version(
    agent: &Served,
    head: &Parts,
    version: Version,
) -> Result<(), A2aError> {
    check_named(agent, head, version)?;
    match asked_version(head)? {
        Some(asked) if asked != version => {
            let detail = format!("this path is of version {version}");
            Err(A2aError::new(ErrorKind::VersionNotSupported).with_detail(detail))
        }
        _ => Ok(()),
    }
}

/// The form of answers in this version.
pub(super) fn rest_form(agent: &Arc<Served>, head: &Parts, version: Version) -> Form {
    Form { version, binding: binding(&head.headers), agent: agent.clone() }
}

/// The form of answers: the media type that the client names.
fn binding(headers: &HeaderMap) -> Binding {
    let names = |name| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.into_iter().any(|value| value.to_ascii_lowercase().contains(MEDIA_TYPE))
    };
    Binding::Rest { is_a2a_json: names(CONTENT_TYPE) || names(ACCEPT) }
}

fn place<'a>(path: &'a str, card: &str) -> Option<Place<'a>> {
    match path {
        "message:send" => return Some(Place::Send),
        "message:stream" => return Some(Place::Stream),
        "tasks" => return Some(Place::Tasks),
        path if path == card => return Some(Place::Card),
        _ => {}
    }
    let rest = path.strip_prefix("tasks/")?;
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        [task] => Some(match task.rsplit_once(':') {
            Some((task, "cancel")) => Place::Cancel(decoded(task)?),
            Some((task, "subscribe")) => Place::Subscribe(decoded(task)?),
            Some(_) => return None,
            None => Place::Task(decoded(task)?),
        }),
        [task, "pushNotificationConfigs"] => Some(Place::Pushes(decoded(task)?)),
        [task, "pushNotificationConfigs", id] => Some(Place::Push(decoded(task)?, decoded(id)?)),
        _ => None,
    }
}

fn decoded(text: &str) -> Option<Cow<'_, str>> {
    let text = percent_decode_str(text).decode_utf8().ok()?;
    (!text.is_empty()).then_some(text)
}

/// Reads a message. Clients of 0.3 write proto3 JSON, which leaves out `blocking: false`: a
/// configuration without `blocking` means that the client does not wait.
fn message(body: &[u8], version: Version) -> Result<SendMessageRequest, Refusal> {
    let mut request: SendMessageRequest = read(body, version)?;
    if request.has_json() {
        check_exact(body)?;
    }
    if let (Version::V0_3, Some(configuration)) = (version, &mut request.configuration) {
        configuration.return_immediately.get_or_insert(true);
    }
    Ok(request)
}

/// Reads a body in the form of the version.
fn read<T>(body: &[u8], version: Version) -> Result<T, Refusal>
where
    T: DeserializeOwned,
    v0_3::rest::In<T>: DeserializeOwned,
{
    // Members that are ignored are not checked when they are read.
    if str::from_utf8(body).is_err() {
        return Err(A2aError::new(ErrorKind::ParseError).with_detail("send text in UTF-8").into());
    }
    // An array would be read as the members in order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(A2aError::new(ErrorKind::ParseError).with_detail("send a JSON object").into());
    }
    let read = match version {
        Version::V1_0 => serde_json::from_slice(body),
        Version::V0_3 => serde_json::from_slice(body).map(|v0_3::rest::In(value)| value),
    };
    read.map_err(|error| {
        let kind = match error.classify() {
            serde_json::error::Category::Data => ErrorKind::InvalidParams,
            _ => ErrorKind::ParseError,
        };
        A2aError::new(kind).with_detail(error.to_string()).into()
    })
}

/// Reads parameters of the query. Numbers are read from text, as proto JSON allows.
fn from_parameters<T: DeserializeOwned>(parameters: JsonObject) -> Result<T, Refusal> {
    let parameters = Value::Object(parameters);
    serde_json::from_value(parameters).map_err(|error| Refusal::invalid(error.to_string()))
}

fn parameters(query: &str) -> Result<JsonObject, Refusal> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let parameter = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8();
        let value = value.map_err(|_| Refusal::invalid("the query is not text in UTF-8"))?;
        let value = match (name, &*value) {
            ("includeArtifacts" | "include_artifacts", "true") => Value::Bool(true),
            ("includeArtifacts" | "include_artifacts", "false") => Value::Bool(false),
            (_, text) => Value::from(text),
        };
        Ok((name.to_owned(), value))
    };
    pairs.map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_the_version_and_the_operation() {
        let route = |path| Route::parse(path).map(|route| (route.version, route.place));
        assert_eq!(route("v1/message:send"), Some((Version::V0_3, Place::Send)));
        assert_eq!(route("message:stream"), Some((Version::V1_0, Place::Stream)));
        assert_eq!(route("acme/tasks"), Some((Version::V1_0, Place::Tasks)));
        assert_eq!(route("tasks/a%3Ab:cancel"), Some((Version::V1_0, Place::Cancel("a:b".into()))));
        assert_eq!(
            route("v1/tasks/t/pushNotificationConfigs/c"),
            Some((Version::V0_3, Place::Push("t".into(), "c".into())))
        );
        for nothing in ["v1", "v1/nope", "tasks//", "tasks/t:fly", "a/b/tasks", "tasks/t/u"] {
            assert_eq!(route(nothing), None, "{nothing}");
        }
    }
}
