//! Entity tags: the tag of a document is its revision, in quotes.

use axum::body::Body;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderValue, Response};

/// What the header `If-Match` asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Precondition {
    /// Any revision, or there is no header.
    None,
    /// One of these revisions. Tags that are not revisions are left out.
    OneOf(Vec<u64>),
}

impl Precondition {
    /// Reads the header. Weak tags match too: a revision has one content only.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut revisions = Vec::new();
        let mut has_header = false;
        for value in headers.get_all(IF_MATCH) {
            has_header = true;
            for tag in value.to_str().unwrap_or_default().split(',').map(str::trim) {
                if tag == "*" {
                    return Self::None;
                }
                let tag = tag.strip_prefix("W/").unwrap_or(tag);
                let text = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
                revisions.extend(text.and_then(|text| text.parse::<u64>().ok()));
            }
        }
        if has_header { Self::OneOf(revisions) } else { Self::None }
    }

    /// The revision that a document must have, given the one that it has now. A revision that does
    /// not exist stands for a header without any.
    pub(crate) fn expected(&self, current: u64) -> Option<u64> {
        match self {
            Self::None => None,
            Self::OneOf(revisions) if revisions.contains(&current) => Some(current),
            Self::OneOf(revisions) => Some(revisions.first().copied().unwrap_or(0)),
        }
    }
}

/// Adds the tag of a revision.
pub(crate) fn tagged(mut response: Response<Body>, rev: u64) -> Response<Body> {
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{rev}\"")) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_names_the_revisions_that_are_expected() {
        let check = |value: &'static str, current: u64, expected: Option<u64>| {
            let mut headers = HeaderMap::new();
            headers.insert(IF_MATCH, HeaderValue::from_static(value));
            assert_eq!(Precondition::read(&headers).expected(current), expected, "{value}");
        };
        check("\"3\"", 3, Some(3));
        check("\"3\"", 4, Some(3));
        check("W/\"3\"", 3, Some(3));
        check("\"2\", \"3\"", 3, Some(3));
        check("*", 3, None);
        check("\"abc\"", 3, Some(0));
        check("3", 3, Some(0));
        check("", 3, Some(0));
        assert_eq!(Precondition::read(&HeaderMap::new()).expected(3), None);
    }
}
