//! The web tools against servers on this machine: redirects, sizes, media types, forbidden addresses.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::Redirect;
use axum::routing::get;
use oxikit::outgoing::Url;
use research_studio::tools::Web;
use tokio::net::TcpListener;

async fn serve(router: Router) -> Url {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, router).into_future());
    Url::parse(&url).unwrap()
}

fn site() -> Router {
    let html = || async {
        (
            [(header::CONTENT_TYPE, "text/html")],
            "<title>Tea</title><nav>Menu</nav><p>Green tea.</p>",
        )
    };
    Router::new()
        .route("/page", get(html))
        .route("/moved", get(|| async { Redirect::permanent("/page") }))
        .route("/circle", get(|| async { Redirect::temporary("/circle") }))
        .route("/inside", get(|| async { Redirect::temporary("http://169.254.169.254/latest") }))
        .route("/plain", get(|| async { ([(header::CONTENT_TYPE, "text/plain")], "# Notes\nOne") }))
        .route("/image", get(|| async { ([(header::CONTENT_TYPE, "image/png")], "no") }))
        .route("/large", get(|| async { "x".repeat(3 * 1024 * 1024) }))
        .route("/gone", get(|| async { StatusCode::GONE }))
}

async fn failure(web: &Web, url: &str) -> String {
    web.page(url).await.map_err(|status| status.message().to_owned()).unwrap_err()
}

#[tokio::test]
async fn pages_of_configured_services_are_read() {
    let site = serve(site()).await;
    let web = Web::new(std::slice::from_ref(&site)).unwrap();
    let page = web.page(&format!("{site}moved")).await.unwrap();
    assert_eq!((page.title.as_str(), page.text.as_str()), ("Tea", "Green tea."));
    assert_eq!(page.url, format!("{site}page"));
    let plain = web.page(&format!("{site}plain")).await.unwrap();
    assert_eq!((plain.title.as_str(), plain.text.as_str()), ("Notes", "# Notes\nOne"));
    for (path, reason) in [
        ("circle", "redirects more than 3 times"),
        ("image", "it is `image/png`, not a text"),
        ("gone", "the server answered 410"),
        ("missing", "the server answered 404"),
    ] {
        let text = failure(&web, &format!("{site}{path}")).await;
        assert!(text.contains(reason), "{path}: {text}");
    }
    assert!(web.page(&format!("{site}large")).await.is_err());
    assert!(web.feed(&format!("{site}page")).await.is_err());
}

#[tokio::test]
async fn other_addresses_of_this_machine_and_network_are_refused() {
    let configured = serve(site()).await;
    let secret = serve(site()).await;
    let web = Web::new(std::slice::from_ref(&configured)).unwrap();
    let inside = format!("{configured}inside");
    for url in [
        format!("{secret}page"),
        "http://localhost:1/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "http://[::1]/".to_owned(),
        "http://2130706433/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "not a url".to_owned(),
        inside,
    ] {
        let text = failure(&web, &url).await;
        assert!(text.contains("cannot be read"), "{url}: {text}");
        assert!(!text.contains("Green tea"), "{url}");
    }
}
