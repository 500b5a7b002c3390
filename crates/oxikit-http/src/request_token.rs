//! Finds the token of a request, wherever its client can put it.

use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::http::{HeaderMap, HeaderValue, Request, Uri};
use oxikit_core::Status;

use crate::token::bearer;

/// The segment before a token in the path, for programs that accept only a URL.
const PATH_TOKEN: &str = "/k/";
/// The beginning of a WebSocket subprotocol that holds a token: a page cannot set other headers of
/// a WebSocket.
const PROTOCOL_TOKEN: &str = "oxikit.token.";

/// Takes the token out of a request, so that routes and logs never see it: from the path
/// (`/k/<token>/api/…` becomes `/api/…`), from the header `Authorization`, or from the subprotocols
/// of a WebSocket (`oxikit.token.<token>`). `None` if there is none. The caller compares it.
///
/// ```
/// use axum::http::Request;
/// use oxikit_http::take_token;
///
/// let mut request = Request::builder().uri("/k/0123/api/info?a=1").body(()).unwrap();
/// assert_eq!(take_token(&mut request).unwrap().as_deref(), Some("0123"));
/// assert_eq!(request.uri(), "/api/info?a=1");
///
/// let mut request = Request::new(());
/// let protocols = "oxikit.prompts, oxikit.token.0123".parse().unwrap();
/// request.headers_mut().insert("sec-websocket-protocol", protocols);
/// assert_eq!(take_token(&mut request).unwrap().as_deref(), Some("0123"));
/// assert_eq!(request.headers()["sec-websocket-protocol"], "oxikit.prompts");
/// ```
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the path behind the token cannot be read.
pub fn take_token<B>(request: &mut Request<B>) -> Result<Option<String>, Status> {
    if let Some((token, uri)) = in_path(request.uri())? {
        *request.uri_mut() = uri;
        return Ok(Some(token));
    }
    if let Some(token) = bearer(request.headers()) {
        return Ok(Some(token.to_owned()));
    }
    Ok(in_protocols(request.headers_mut()))
}

/// The token of the path, and the URI without it.
fn in_path(uri: &Uri) -> Result<Option<(String, Uri)>, Status> {
    let Some(rest) = uri.path().strip_prefix(PATH_TOKEN) else { return Ok(None) };
    let (token, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let path = if path.is_empty() { "/" } else { path };
    let target = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let without = Uri::try_from(target)
        .map_err(|_| Status::invalid_argument("the path behind the token cannot be read"))?;
    Ok(Some((token.to_owned(), without)))
}

/// The token among the offered subprotocols, which is removed from them.
fn in_protocols(headers: &mut HeaderMap) -> Option<String> {
    let offered: Vec<String> = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|protocol| protocol.trim().to_owned())
        .collect();
    let token = offered.iter().find_map(|protocol| protocol.strip_prefix(PROTOCOL_TOKEN))?;
    let token = token.to_owned();
    headers.remove(SEC_WEBSOCKET_PROTOCOL);
    let others = offered.iter().filter(|protocol| !protocol.starts_with(PROTOCOL_TOKEN));
    let others = others.map(String::as_str).collect::<Vec<_>>().join(", ");
    if !others.is_empty()
        && let Ok(others) = HeaderValue::from_str(&others)
    {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, others);
    }
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the token that is found, and the target that is left.
    #[track_caller]
    fn check(uri: &str, header: Option<(&'static str, &str)>, token: Option<&str>, left: &str) {
        let mut request = Request::builder().uri(uri);
        if let Some((name, value)) = header {
            request = request.header(name, value);
        }
        let mut request = request.body(()).unwrap();
        assert_eq!(take_token(&mut request).unwrap().as_deref(), token, "{uri}");
        assert_eq!(request.uri().to_string(), left);
    }

    #[test]
    fn a_token_is_found_in_the_path_the_header_and_the_subprotocols() {
        check("/k/ab/api", None, Some("ab"), "/api");
        check("/k/ab", None, Some("ab"), "/");
        check("/k/", None, Some(""), "/");
        check("/k/ab/x?y=/k/cd", None, Some("ab"), "/x?y=/k/cd");
        check("/api", Some(("authorization", "bearer ab")), Some("ab"), "/api");
        check("/api", Some(("authorization", "Basic ab")), None, "/api");
        check("/ws", Some(("sec-websocket-protocol", "oxikit.token.ab")), Some("ab"), "/ws");
        check("/ws", Some(("sec-websocket-protocol", "x, oxikit.token.")), Some(""), "/ws");
        check("/ws", Some(("sec-websocket-protocol", "xoxikit.token.ab")), None, "/ws");
        check("/api?k=/k/ab", None, None, "/api?k=/k/ab");
    }

    #[test]
    fn no_token_is_left_among_the_subprotocols() {
        let mut request = Request::new(());
        let offered = HeaderValue::from_static("a,oxikit.token.one, b ,oxikit.token.two");
        request.headers_mut().insert(SEC_WEBSOCKET_PROTOCOL, offered);
        assert_eq!(take_token(&mut request).unwrap().as_deref(), Some("one"));
        assert_eq!(request.headers()[SEC_WEBSOCKET_PROTOCOL], "a, b");
    }
}
