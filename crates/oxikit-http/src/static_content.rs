//! Files that are part of the program: pages, scripts, documents.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode as HttpStatus};
use bytes::Bytes;

/// Content Security Policy of a page: scripts, styles and requests of the page's own server
/// only, nothing inline, and no other page may show it in a frame.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A response with a file of this media type. Its headers tell browsers not to guess another
/// one.
pub fn content(media_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let guards = [("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer")];
    for (name, value) in guards {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

/// An HTML page that loads only what its own server sends.
pub fn page(html: &'static str) -> Response<Body> {
    let mut page = content("text/html; charset=utf-8", html);
    let policy = HeaderValue::from_static(PAGE_POLICY);
    page.headers_mut().insert(HeaderName::from_static("content-security-policy"), policy);
    page
}

/// Adds the header that tells caches not to keep a response.
pub fn not_cached(mut response: Response<Body>) -> Response<Body> {
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whether `If-None-Match` names the tag of the current version, so that the response is 304.
///
/// ```
/// use axum::http::{HeaderMap, HeaderValue};
/// use oxikit_http::static_content::has_current;
///
/// let mut asked = HeaderMap::new();
/// asked.insert("if-none-match", HeaderValue::from_static("\"old\", W/\"new\""));
/// assert!(has_current(&asked, b"\"new\""));
/// assert!(!has_current(&asked, b"\"newer\""));
/// ```
pub fn has_current(asked: &HeaderMap, tag: &[u8]) -> bool {
    let lists = asked.get_all(IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    let mut tags = lists.flat_map(|list| list.split(','));
    tags.any(|known| known.trim().trim_start_matches("W/").as_bytes() == tag)
}

/// A document that is written once, with a tag by which clients ask whether it has changed.
///
/// ```
/// use axum::http::HeaderMap;
/// use oxikit_http::static_content::Document;
///
/// let document = Document::new("application/json", "{}".into());
/// let mut request = HeaderMap::new();
/// let response = document.response(&request);
/// assert_eq!(response.status(), 200);
/// request.insert("if-none-match", response.headers()["etag"].clone());
/// assert_eq!(document.response(&request).status(), 304);
/// ```
#[derive(Debug)]
pub struct Document {
    media_type: &'static str,
    bytes: Bytes,
    etag: HeaderValue,
}

impl Document {
    /// A document of this media type.
    pub fn new(media_type: &'static str, bytes: Bytes) -> Self {
        let etag = format!("\"{:016x}\"", fingerprint(&bytes));
        let etag =
            HeaderValue::from_str(&etag).unwrap_or_else(|_| HeaderValue::from_static("\"\""));
        Self { media_type, bytes, etag }
    }

    /// The response: the document, or 304 if `If-None-Match` names its current tag.
    pub fn response(&self, asked: &HeaderMap) -> Response<Body> {
        let mut response = content(self.media_type, self.bytes.clone());
        if has_current(asked, self.etag.as_bytes()) {
            *response.status_mut() = HttpStatus::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
        let headers = response.headers_mut();
        headers.insert(ETAG, self.etag.clone());
        // Clients may keep it, but ask each time whether it has changed.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        response
    }
}

/// A hash that tells versions of a document apart. It is not cryptographic. It is FNV-1a and
/// not the hasher of the standard library, so that all replicas of one build have the same tag.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
