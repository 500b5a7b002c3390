//! The web page of the developer tools and of the prompt manager, as files inside of the program.
//!
//! Its sources are in `web/` of the repository; `cargo xtask web` builds them into this crate's
//! folder `page/dist`, which git ignores and packages contain. This crate knows the files and the
//! headers that browsers need. It has no routes: a server calls [`page`] where it wants to serve
//! the page, with the path below that place.
//!
//! ```
//! use axum::body::Body;
//! use axum::http::{HeaderMap, Response, Uri};
//! use oxikit_http::static_content::content;
//!
//! /// Answers `GET /prompts/…`.
//! fn answer(uri: &Uri, headers: &HeaderMap) -> Response<Body> {
//!     let path = uri.path().strip_prefix("/prompts").unwrap_or_default();
//!     match oxikit_web::page(path) {
//!         Some(asset) => asset.response(headers),
//!         None => content("text/plain", "not found"),
//!     }
//! }
//! # assert_eq!(answer(&Uri::from_static("/prompts/"), &HeaderMap::new()).status(), 200);
//! ```
//!
//! The page refers to its files by relative URLs and to its views by the fragment of the URL, so
//! it works below every path. The path should end with a slash: at `/prompts` a browser asks for
//! `/assets/…`, at `/prompts/` for `/prompts/assets/…`.

mod asset;

pub use asset::Asset;

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page of a program that was built without the page.
const MISSING: Asset = Asset {
    name: "index.html",
    bytes: include_bytes!("missing.html"),
    gzip: None,
    tag: "\"missing\"",
};

/// The name of the file that is the page itself.
const INDEX: &str = "index.html";

/// The file at this path, which is relative to the place of the page: `""` and `/` are the page
/// itself, `/assets/…` its scripts, styles and fonts. `None` if there is no such file.
///
/// ```
/// assert!(oxikit_web::page("/").is_some());
/// assert!(oxikit_web::page("/assets/none.js").is_none());
/// ```
pub fn page(path: &str) -> Option<Asset> {
    let name = match path.strip_prefix('/').unwrap_or(path) {
        "" => INDEX,
        name => name,
    };
    let file = FILES.iter().find(|file| file.name == name);
    file.copied().or_else(|| (name == INDEX).then_some(MISSING))
}

/// Whether this program contains the built page. Without it, the page is a text that says what to
/// run.
///
/// ```
/// if !oxikit_web::is_built() {
///     eprintln!("this program was built without its web page: run `cargo xtask web`");
/// }
/// ```
pub fn is_built() -> bool {
    FILES.iter().any(|file| file.name == INDEX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_at_the_root_and_nothing_outside_is_found() {
        for path in ["", "/", "/index.html", "index.html"] {
            assert_eq!(page(path).map(|asset| asset.name()), Some(INDEX), "{path}");
        }
        for path in ["/..", "/assets/../index.html", "//index.html", "/assets", "/index.html/"] {
            assert!(page(path).is_none(), "{path}");
        }
    }

    #[test]
    fn every_file_of_the_build_has_a_media_type() {
        for file in FILES {
            assert_ne!(file.media_type(), "application/octet-stream", "{}", file.name());
        }
    }

    #[test]
    fn the_page_without_a_build_says_what_to_run() {
        let text = std::str::from_utf8(MISSING.bytes()).unwrap();
        assert!(text.contains("cargo xtask web"), "{text}");
        // The policy of the page forbids both.
        assert!(!text.contains("<script") && !text.contains("style="), "{text}");
    }
}
