//! Headers for browsers: which pages of other sites may read a response (CORS).

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode as HttpStatus};

use crate::reply::json_response;
use crate::sender::SenderCheck;

/// The CORS headers of a server: what pages of allowed origins may do and read. Which origins
/// are allowed is decided by [`SenderCheck`].
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue};
/// use oxikit_http::{Cors, SenderCheck};
///
/// let cors = Cors { methods: "GET, POST", request_headers: None, response_headers: "x-trace" };
/// let sender = SenderCheck::local().allow_origins(["https://app.example".to_owned()]);
/// let mut request = HeaderMap::new();
/// request.insert("origin", HeaderValue::from_static("https://app.example"));
/// let mut response = HeaderMap::new();
/// cors.add(sender.allowed_origin(&request), &mut response);
/// assert_eq!(response["access-control-allow-origin"], "https://app.example");
/// ```
#[derive(Debug, Clone)]
pub struct Cors {
    /// Methods that pages may use, such as `POST, GET, DELETE`.
    pub methods: &'static str,
    /// Headers that pages may send; `None` allows all that the browser asks for.
    pub request_headers: Option<&'static str>,
    /// Headers of a response that pages may read.
    pub response_headers: &'static str,
}

impl Cors {
    /// Whether this is a CORS preflight request, by which a browser asks before it calls.
    pub fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
        *method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// The response to a preflight request. It allows nothing if the origin is not allowed.
    pub fn preflight(&self, sender: &SenderCheck, asked: &HeaderMap) -> Response<Body> {
        let mut response = json_response(HttpStatus::NO_CONTENT, Body::empty());
        let origin = sender.allowed_origin(asked);
        self.add(origin, response.headers_mut());
        if origin.is_none() {
            return response;
        }
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(self.methods));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        let allowed = match self.request_headers {
            Some(allowed) => Some(HeaderValue::from_static(allowed)),
            None => asked.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned(),
        };
        if let Some(allowed) = allowed {
            headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
        }
        response
    }

    /// Adds the headers that let a page of this origin read the response: of the one that
    /// [`SenderCheck::allowed_origin`] has found in the request.
    pub fn add(&self, origin: Option<&HeaderValue>, response: &mut HeaderMap) {
        let Some(origin) = origin else { return };
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.append(VARY, HeaderValue::from_static("Origin"));
        let exposed = HeaderValue::from_static(self.response_headers);
        response.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}
