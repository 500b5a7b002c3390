//! One file of the page, and the response with it.

use std::fmt;

use axum::body::Body;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use oxikit_http::static_content::{content, has_current};

/// Content Security Policy of the page: everything comes from the page's own server, nothing is
/// inline, and no other page may show it in a frame. Pictures, sound and films may also be `data:`
/// URLs, as those of conversations are; as media they cannot run scripts. Only Svelte's own templates
/// may become markup; a script that inserts other text as markup fails.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
    img-src 'self' data:; media-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; \
    trusted-types svelte-trusted-html";

/// The folder of files whose names contain a hash of their content.
const HASHED: &str = "assets/";

/// One file of the page: the page itself, a script, a style sheet or a font.
///
/// ```
/// let page = oxikit_web::page("/").unwrap();
/// assert_eq!(page.name(), "index.html");
/// assert_eq!(page.media_type(), "text/html; charset=utf-8");
/// ```
#[derive(Clone, Copy)]
pub struct Asset {
    pub(crate) name: &'static str,
    pub(crate) bytes: &'static [u8],
    /// The same, compressed by gzip.
    pub(crate) gzip: Option<&'static [u8]>,
    /// The entity tag, in quotes.
    pub(crate) tag: &'static str,
}

impl Asset {
    /// The path of the file below the place of the page, such as `assets/index-Bx1.js`.
    ///
    /// ```
    /// assert_eq!(oxikit_web::page("").unwrap().name(), "index.html");
    /// ```
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The content of the file, not compressed.
    ///
    /// ```
    /// assert!(oxikit_web::page("/").unwrap().bytes().starts_with(b"<!doctype html>"));
    /// ```
    pub fn bytes(&self) -> &'static [u8] {
        self.bytes
    }

    /// The media type, by the extension of the name.
    ///
    /// ```
    /// assert!(oxikit_web::page("/").unwrap().media_type().starts_with("text/html"));
    /// ```
    pub fn media_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map(|(_, extension)| extension) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("json") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("woff2") => "font/woff2",
            Some("md" | "txt") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }

    /// The response to a request with these headers: the file, compressed if the client accepts
    /// gzip, or 304 if `If-None-Match` has its tag. Files with a hash in their name may be cached
    /// for ever.
    ///
    /// ```
    /// use axum::http::HeaderMap;
    ///
    /// let page = oxikit_web::page("/").unwrap();
    /// let mut request = HeaderMap::new();
    /// let response = page.response(&request);
    /// assert!(response.headers()["content-security-policy"].to_str().unwrap().contains("'none'"));
    /// request.insert("if-none-match", response.headers()["etag"].clone());
    /// assert_eq!(page.response(&request).status(), 304);
    /// ```
    pub fn response(&self, asked: &HeaderMap) -> Response<Body> {
        let gzip = self.gzip.filter(|_| accepts_gzip(asked));
        let mut response = content(self.media_type(), Body::from(gzip.unwrap_or(self.bytes)));
        if has_current(asked, self.tag.as_bytes()) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
        }
        let headers = response.headers_mut();
        let mut set = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
        };
        set(ETAG, self.tag);
        let is_hashed = self.name.starts_with(HASHED);
        set(
            CACHE_CONTROL,
            if is_hashed { "public, max-age=31536000, immutable" } else { "no-cache" },
        );
        if self.gzip.is_some() {
            set(VARY, "accept-encoding");
        }
        if gzip.is_some() {
            set(CONTENT_ENCODING, "gzip");
        }
        if self.name.ends_with(".html") {
            set(CONTENT_SECURITY_POLICY, POLICY);
        }
        response
    }
}

impl fmt::Debug for Asset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, .. } = self;
        f.debug_struct("Asset").field("name", name).field("bytes", &bytes.len()).finish()
    }
}

/// Whether `Accept-Encoding` names gzip, and not with the weight 0.
fn accepts_gzip(asked: &HeaderMap) -> bool {
    let lists = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let is_refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            weight == Some(0.0)
        });
        is_gzip && !is_refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: Asset =
        Asset { name: "assets/a-1.js", bytes: b"1;", gzip: Some(b"gz"), tag: "\"01\"" };

    #[track_caller]
    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn a_file_is_compressed_for_clients_that_accept_gzip() {
        let check = |accepted: &'static str, expected: bool| {
            let response = SCRIPT.response(&headers(&[("accept-encoding", accepted)]));
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), expected, "{accepted}");
            assert_eq!(response.headers()[VARY], "accept-encoding");
        };
        check("gzip, deflate, br", true);
        check("br;q=1.0, GZIP;q=0.5", true);
        check("gzip;q=0", false);
        check("br", false);
        check("xgzip", false);
    }

    #[test]
    fn files_with_a_hash_are_cached_and_the_page_is_asked_for() {
        let response = SCRIPT.response(&HeaderMap::new());
        assert_eq!(response.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
        assert!(!response.headers().contains_key(CONTENT_SECURITY_POLICY));
        let page = Asset { name: "index.html", ..SCRIPT };
        let response = page.response(&HeaderMap::new());
        assert_eq!(response.headers()[CACHE_CONTROL], "no-cache");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert!(response.headers().contains_key(CONTENT_SECURITY_POLICY));
    }

    #[test]
    fn a_known_tag_is_answered_without_a_body() {
        let check = |tags: &'static str, expected: StatusCode| {
            let response = SCRIPT.response(&headers(&[("if-none-match", tags)]));
            assert_eq!(response.status(), expected, "{tags}");
            assert_eq!(response.headers()[ETAG], "\"01\"");
        };
        check("\"00\", W/\"01\"", StatusCode::NOT_MODIFIED);
        check("\"02\"", StatusCode::OK);
    }
}
