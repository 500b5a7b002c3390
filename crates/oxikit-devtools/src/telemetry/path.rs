//! Paths of requests, before the routes are looked up.

use axum::http::Uri;

/// What stands before a token.
const TOKEN: &str = "/t/";

/// A URL that ends with a slash, put before a path that begins with one, has two.
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

/// The token that the path begins with: `/t/<token>`, and something behind it.
pub(super) fn token(uri: &Uri) -> Option<&str> {
    let (token, _) = uri.path().strip_prefix(TOKEN)?.split_once('/')?;
    Some(token)
}

/// Leaves what is behind the token.
pub(super) fn remove_token(uri: &mut Uri) {
    let rest = uri.path().strip_prefix(TOKEN).and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    if let Some(rest) = rest {
        set_path(uri, rest.to_owned());
    }
}

fn set_path(uri: &mut Uri, mut path: String) {
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
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
