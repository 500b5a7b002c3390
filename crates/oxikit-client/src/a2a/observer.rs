//! Shows the exchange with an agent as it is on the wire, for tools that help to write agents.

use std::sync::Arc;

use oxikit_wire::headers;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, SET_COOKIE};
use reqwest::{Method, Url};

/// The value that is shown instead of one that may be a secret.
const REDACTED: &str = "[redacted]";

/// One step of the exchange with an agent. Messages of gRPC, which are binary, are not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RawExchange {
    /// A request was sent.
    Request {
        /// The method of HTTP.
        method: String,
        /// The URL, without a query that the client has added.
        url: String,
        /// The headers. Values of others than those of the protocol are replaced: they may be secrets.
        headers: Vec<(String, String)>,
        /// The body.
        body: String,
    },
    /// The head of a response has arrived.
    Response {
        /// The HTTP status.
        http: u16,
        /// The headers, without the values of cookies.
        headers: Vec<(String, String)>,
    },
    /// The body of a response, or one event of a stream.
    Body {
        /// The text.
        text: String,
    },
}

/// A function that is called for each step. It must not block.
#[derive(Clone)]
pub(super) struct Observer(Arc<dyn Fn(RawExchange) + Send + Sync>);

impl Observer {
    pub(super) fn new(observe: impl Fn(RawExchange) + Send + Sync + 'static) -> Self {
        Self(Arc::new(observe))
    }

    pub(super) fn request(&self, method: &Method, url: &Url, headers: &HeaderMap, body: &[u8]) {
        let is_protocol = |name: &str| {
            name == ACCEPT.as_str()
                || name == CONTENT_TYPE.as_str()
                || [headers::A2A_VERSION, headers::LAST_EVENT_ID, headers::TRACE_PARENT]
                    .contains(&name)
        };
        (self.0)(RawExchange::Request {
            method: method.to_string(),
            url: url.to_string(),
            headers: listed(headers, is_protocol),
            body: String::from_utf8_lossy(body).into_owned(),
        });
    }

    pub(super) fn response(&self, http: u16, headers: &HeaderMap) {
        let headers = listed(headers, |name| name != SET_COOKIE.as_str());
        (self.0)(RawExchange::Response { http, headers });
    }

    pub(super) fn body(&self, text: &[u8]) {
        (self.0)(RawExchange::Body { text: String::from_utf8_lossy(text).into_owned() });
    }
}

/// The headers as texts, with the values of those that may be shown.
fn listed(headers: &HeaderMap, is_shown: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let shown = |(name, value): (&reqwest::header::HeaderName, &reqwest::header::HeaderValue)| {
        let value = match is_shown(name.as_str()) {
            true => String::from_utf8_lossy(value.as_bytes()).into_owned(),
            false => REDACTED.to_owned(),
        };
        (name.to_string(), value)
    };
    headers.iter().map(shown).collect()
}
