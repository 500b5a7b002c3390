//! Normalises the paths of requests before routing: merges slashes, and removes the token.

use axum::http::Uri;

/// The segment before a token.
const TOKEN: &str = "/t/";

/// Replaces several slashes by one: clients append a path with a leading slash to a URL with a
/// trailing one.
pub(super) fn merge_slashes(uri: &mut Uri) {
    if !uri.path().contains("//") {
        return;
    }
    let mut path = String::with_capacity(uri.path().len());
    for letter in uri.path().chars() {
        if letter != '/' || !path.ends_with('/') {
            path.push(letter);
        }
    }
    set_path(uri, path);
}

/// The token at the beginning of the path: `/t/<token>/…`.
pub(super) fn token(uri: &Uri) -> Option<&str> {
    let (token, _) = uri.path().strip_prefix(TOKEN)?.split_once('/')?;
    Some(token)
}

/// Removes `/t/<token>` from the path.
pub(super) fn remove_token(uri: &mut Uri) {
    let rest = uri.path().strip_prefix(TOKEN).and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    if let Some(rest) = rest {
        set_path(uri, rest.to_owned());
    }
}

/// Replaces the path and keeps the query.
fn set_path(uri: &mut Uri, mut path: String) {
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    // A `Uri` cannot be changed in place.
    let mut parts = std::mem::take(uri).into_parts();
    parts.path_and_query = path.try_into().ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_are_merged_and_the_query_stays() {
        for (sent, merged) in [
            ("/api/traces", "/api/traces"),
            ("//api///traces/?limit=1", "/api/traces/?limit=1"),
            ("/t/abc//api/traces?x=a//b", "/t/abc/api/traces?x=a//b"),
            ("http://localhost:1//api", "http://localhost:1/api"),
        ] {
            let mut uri: Uri = sent.parse().unwrap();
            merge_slashes(&mut uri);
            assert_eq!(uri.to_string(), merged);
        }
    }

    #[test]
    fn the_token_is_taken_from_the_path() {
        let mut uri: Uri = "http://localhost:1/t/abc/api/traces?limit=1".parse().unwrap();
        assert_eq!(token(&uri), Some("abc"));
        remove_token(&mut uri);
        assert_eq!(uri.to_string(), "http://localhost:1/api/traces?limit=1");
        for without in ["/api/traces", "/t/abc", "/t", "/tt/abc/api", "/"] {
            assert_eq!(token(&without.parse().unwrap()), None, "{without}");
        }
    }
}
