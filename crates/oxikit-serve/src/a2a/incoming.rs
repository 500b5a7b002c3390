//! A request of a known caller, and what its headers say.

use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};
use oxikit_core::{ActionContext, TraceParent};
use oxikit_wire::a2a::{A2aError, ErrorKind, Version};
use oxikit_wire::headers;

use super::agent_options::Served;
use super::extensions;
use super::refusal::Refusal;
use super::runner::Runner;
use super::service::Service;
use crate::app::App;
use crate::durable::{only, parse_position};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static(headers::LAST_EVENT_ID);
const TRACE_PARENT: HeaderName = HeaderName::from_static(headers::TRACE_PARENT);
const VERSION: HeaderName = HeaderName::from_static(headers::A2A_VERSION);

/// A request of a known caller.
pub(super) struct Incoming<'a> {
    pub(super) app: &'a Arc<App>,
    pub(super) runner: &'a Arc<Runner>,
    pub(super) agent: &'a Arc<Served>,
    pub(super) caller: ActionContext,
    pub(super) head: &'a Parts,
}

impl<'a> Incoming<'a> {
    /// The agent as this caller sees it.
    pub(super) fn service(
        self,
        version: Version,
        tenant: Option<String>,
        body_bytes: usize,
    ) -> Service<'a> {
        let headers = &self.head.headers;
        Service {
            runner: self.runner,
            agent: self.agent,
            caller: self.caller,
            tenant,
            extensions: extensions::requested(headers),
            trace_parent: trace_parent(headers),
            version,
            body_bytes,
        }
    }
}

/// The version that the client asks for, in the header or else in the query; a header that is not
/// text names none that exists.
pub(super) fn version_named(head: &Parts) -> Option<&str> {
    if let Some(value) = head.headers.get(VERSION) {
        return Some(value.to_str().unwrap_or("?"));
    }
    let mut pairs = head.uri.query()?.split('&').filter_map(|pair| pair.split_once('='));
    let named = pairs.find(|(name, _)| name.eq_ignore_ascii_case(headers::A2A_VERSION));
    named.map(|(_, version)| version)
}

pub(super) fn asked_version(head: &Parts) -> Result<Option<Version>, A2aError> {
    Ok(Version::from_header(version_named(head))?)
}

/// Refuses a request of version 1.0 that does not name its version, if the agent is strict.
pub(super) fn check_named(agent: &Served, head: &Parts, version: Version) -> Result<(), A2aError> {
    let is_named = version_named(head).is_some_and(|named| !named.trim().is_empty());
    if agent.options.is_strict && version == Version::V1_0 && !is_named {
        let detail = "a request without the header `A2A-Version` is one of version 0.3";
        return Err(A2aError::new(ErrorKind::VersionNotSupported).with_detail(detail));
    }
    Ok(())
}

/// The client's span. A header that is not valid is ignored, as its specification asks.
fn trace_parent(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::parse(headers.get(TRACE_PARENT)?.to_str().ok()?)
}

/// The position of the last event that the client has of this task.
pub(super) fn last_event(headers: &HeaderMap, task: &str) -> Result<Option<u64>, Refusal> {
    let Some(value) = only(headers, &LAST_EVENT_ID)? else { return Ok(None) };
    let parse = || {
        let (id, position) = value.to_str().ok()?.rsplit_once(':')?;
        (id == task).then(|| parse_position(position))?
    };
    let position = parse().ok_or_else(|| {
        Refusal::invalid("`Last-Event-ID` is not an id of this task: <task>:<number>")
    })?;
    Ok(Some(position))
}
