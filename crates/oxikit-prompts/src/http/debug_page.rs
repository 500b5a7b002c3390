//! A page to try the WebSockets by hand. It contains no secret, and loads only its own script and
//! style; received text is inserted as text.

use axum::body::Body;
use axum::http::Response;
use oxikit_http::static_content::{content, not_cached, page};

/// `GET /debug/websocket`.
pub(crate) async fn html() -> Response<Body> {
    not_cached(page(include_str!("debug_page/page.html")))
}

/// `GET /debug/websocket.js`.
pub(crate) async fn script() -> Response<Body> {
    not_cached(content("text/javascript; charset=utf-8", include_str!("debug_page/page.js")))
}

/// `GET /debug/websocket.css`.
pub(crate) async fn style() -> Response<Body> {
    not_cached(content("text/css; charset=utf-8", include_str!("debug_page/page.css")))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_has_no_inline_script_and_never_inserts_markup() {
        let html = include_str!("debug_page/page.html");
        assert!(!html.contains("style=") && !html.contains("onclick"), "{html}");
        assert_eq!(html.matches("<script").count(), 1);
        let script = include_str!("debug_page/page.js");
        for forbidden in ["innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("] {
            assert!(!script.contains(forbidden), "{forbidden}");
        }
    }
}
