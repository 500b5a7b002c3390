//! Browsers that sign in with a one-time code, and what their cookie is good for.

use oxikit_testing::manager::soon;
use oxikit_testing::tools::{Kit, kit, kit_with, read};
use reqwest::{Method, RequestBuilder};
use serde_json::json;

/// The code of the URL that is printed at the start.
fn printed_code(kit: &Kit) -> String {
    kit.server.urls().page.split_once("/#code=").unwrap().1.to_owned()
}

/// A request as the server's own page sends it.
fn own_page(request: RequestBuilder) -> RequestBuilder {
    request.header("sec-fetch-site", "same-origin")
}

/// Signs in. Returns the status and the cookie, `name=value`.
async fn sign_in(kit: &Kit, code: &str) -> (u16, Option<String>) {
    let request = kit.call_without_token(Method::POST, "/api/v1/sign-in");
    let response = soon(own_page(request).json(&json!({"code": code})).send()).await.unwrap();
    let cookie = response.headers().get("set-cookie").map(|it| it.to_str().unwrap().to_owned());
    let cookie = cookie.map(|cookie| {
        let (pair, attributes) = cookie.split_once("; ").unwrap();
        assert!(attributes.contains("HttpOnly; SameSite=Strict"), "{attributes}");
        pair.to_owned()
    });
    (response.status().as_u16(), cookie)
}

/// The status of `GET /api/v1/info` with a cookie and further headers.
async fn info(kit: &Kit, cookie: &str, headers: &[(&str, &str)]) -> u16 {
    let request = kit.call_without_token(Method::GET, "/api/v1/info").header("cookie", cookie);
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    read(soon(request.send()).await.unwrap()).await.0
}

#[tokio::test]
async fn the_printed_code_signs_one_browser_in() {
    let kit = kit().await;
    let code = printed_code(&kit);
    let (status, cookie) = sign_in(&kit, &code).await;
    let cookie = cookie.unwrap();
    assert_eq!(status, 200);
    let port = kit.server.urls().base().rsplit(':').next().unwrap().to_owned();
    assert!(cookie.starts_with(&format!("oxikit-{port}=")), "{cookie}");
    assert_eq!(info(&kit, &cookie, &[("sec-fetch-site", "same-origin")]).await, 200);
    assert_eq!(sign_in(&kit, &code).await, (401, None), "a code works once");
}

#[tokio::test]
async fn a_cookie_counts_only_in_requests_of_the_own_page() {
    let kit = kit().await;
    let (_, cookie) = sign_in(&kit, &printed_code(&kit)).await;
    let cookie = cookie.unwrap();
    let own = kit.server.urls().base().to_owned();
    let site = |site| ("sec-fetch-site", site);
    for (headers, expected) in [
        (vec![site("same-origin")], 200),
        (vec![site("same-origin"), ("origin", &*own)], 200),
        (vec![("origin", &*own)], 200),
        // A program, or a page whose browser says nothing.
        (vec![], 401),
        // A page of another port of this host, and one of another site.
        (vec![site("same-site")], 403),
        (vec![site("cross-site")], 403),
        (vec![site("same-site"), ("origin", "http://127.0.0.1:1")], 403),
        (vec![("origin", "http://127.0.0.1:1")], 403),
        (vec![("origin", "null")], 403),
        // A person has opened the URL.
        (vec![site("none")], 403),
    ] {
        assert_eq!(info(&kit, &cookie, &headers).await, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn a_cookie_survives_a_restart_and_ends_with_signing_out() {
    let first = kit().await;
    let (_, cookie) = sign_in(&first, &printed_code(&first)).await;
    let cookie = cookie.unwrap();
    let data_dir = first.root().join(".oxikit");
    // The name of the cookie contains the port.
    let port: u16 = first.server.urls().base().rsplit(':').next().unwrap().parse().unwrap();
    first.server.close().await;
    let kit = kit_with(|mut options| {
        options.data_dir = Some(data_dir);
        options.api_port = oxikit_devtools::PortChoice::Fixed(port);
        options
    })
    .await;
    let own = [("sec-fetch-site", "same-origin")];
    assert_eq!(info(&kit, &cookie, &own).await, 200);
    let request = kit.call_without_token(Method::POST, "/api/v1/sign-out");
    let request = own_page(request).header("cookie", &cookie).json(&json!({}));
    let response = soon(request.send()).await.unwrap();
    assert!(response.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(info(&kit, &cookie, &own).await, 401);
}

#[tokio::test]
async fn a_command_gets_a_fresh_code_with_the_token_only() {
    let kit = kit().await;
    let path = "/api/v1/sign-in/codes";
    let (status, answer) = kit.post(path, json!({})).await;
    assert_eq!((status, &answer["expiresIn"]), (200, &json!(600)));
    let url = answer["url"].as_str().unwrap();
    let (base, code) = url.split_once("/#code=").unwrap();
    assert_eq!(base, kit.server.urls().base());
    assert_eq!(sign_in(&kit, code).await.0, 200);
    let request = kit.call_without_token(Method::POST, path).json(&json!({}));
    assert_eq!(read(soon(request.send()).await.unwrap()).await.0, 401);
}

#[tokio::test]
async fn wrong_codes_are_counted() {
    let kit = kit().await;
    let mut statuses = Vec::new();
    for _ in 0..12 {
        statuses.push(sign_in(&kit, "guess").await.0);
    }
    assert_eq!(statuses, [[401; 10].as_slice(), &[429; 2]].concat());
    assert_eq!(sign_in(&kit, &printed_code(&kit)).await.0, 200);
}

#[tokio::test]
async fn a_socket_of_the_own_page_opens_with_the_cookie() {
    let kit = kit().await;
    let (_, cookie) = sign_in(&kit, &printed_code(&kit)).await;
    let cookie = cookie.unwrap();
    let own = kit.server.urls().base().to_owned();
    let upgrade = |headers: &[(&str, &str)]| {
        let request = kit.call_without_token(Method::GET, "/api/ws/test").header("cookie", &cookie);
        let request = request
            .header("connection", "upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        async { soon(request.send()).await.unwrap().status().as_u16() }
    };
    assert_eq!(upgrade(&[("origin", &own), ("sec-fetch-site", "same-origin")]).await, 101);
    assert_eq!(upgrade(&[("origin", &own)]).await, 101);
    assert_eq!(upgrade(&[("origin", "http://localhost:1")]).await, 403);
    assert_eq!(upgrade(&[]).await, 401);
}

#[tokio::test]
async fn the_page_is_at_the_root_and_old_links_lead_to_it() {
    let kit = kit().await;
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let base = kit.server.urls().base();
    let page = soon(client.get(format!("{base}/")).send()).await.unwrap();
    let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert!(policy.contains("connect-src 'self'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers()["x-content-type-options"], "nosniff");
    assert_eq!(page.headers()["referrer-policy"], "no-referrer");
    for path in ["/prompts", "/prompts/"] {
        let moved = soon(client.get(format!("{base}{path}")).send()).await.unwrap();
        assert_eq!(
            (moved.status().as_u16(), &moved.headers()["location"]),
            (307, &"/?prompts".parse().unwrap())
        );
    }
}
