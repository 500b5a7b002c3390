//! Foreign pages and foreign names: no effect, no readable answer.

use crate::kit::{Answer, App, app, app_with};

const ALLOWED: &str = "https://app.example";

const FOREIGN_ORIGINS: [&str; 30] = [
    "null",
    "http://evil.example",
    "https://evil.example",
    "http://localhost",
    "https://localhost",
    "http://localhost:1",
    "http://127.0.0.1",
    "http://127.0.0.1:1",
    "http://[::1]:1",
    "http://app.example",
    "https://app.example:444",
    "https://app.example.evil.example",
    "https://evil-app.example",
    "https://sub.app.example",
    "https://APP.example",
    "https://app.example/",
    "https://app.example.",
    "https://user@app.example",
    "https://app.example@evil.example",
    "https://app.example, https://evil.example",
    "app.example",
    "//app.example",
    "*",
    "file://",
    "chrome-extension://abcdefghijklmnop",
    "moz-extension://0",
    "data:",
    "about:blank",
    "http://",
    "undefined",
];

/// `{port}` is the server's own.
const FOREIGN_HOSTS: [&str; 24] = [
    "evil.example",
    "evil.example:{port}",
    "localhost.evil.example",
    "evil-localhost",
    "localhost.",
    "localhost.:{port}",
    "127.0.0.1.",
    "127.0.0.1.evil.example",
    "127.1",
    "2130706433",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "0.0.0.0",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::1].evil.example",
    "[::1]evil",
    "user@localhost",
    "localhost@evil.example",
    "localhost:{port}@evil.example",
    "localhost:x",
    "localhost/evil.example",
    "evil.example#localhost",
    "128.0.0.1",
];

const OWN_HOSTS: [&str; 10] = [
    "localhost",
    "localhost:{port}",
    "LocalHost:{port}",
    "app.localhost:{port}",
    "127.0.0.1",
    "127.0.0.1:{port}",
    "127.0.0.2:1",
    "127.255.255.254",
    "[::1]",
    "[::1]:{port}",
];

const METHODS: [&str; 8] = ["POST", "GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];

/// The media types that a page can send without a CORS preflight, and JSON.
const MEDIA_TYPES: [&str; 5] = [
    "",
    "content-type: text/plain\r\n",
    "content-type: application/x-www-form-urlencoded\r\n",
    "content-type: multipart/form-data; boundary=x\r\n",
    "content-type: application/json\r\n",
];

async fn ask(app: &App, method: &str, target: &str, headers: &str) -> Answer {
    let mut client = app.connect().await;
    send(app, &mut client, method, target, headers).await;
    client.answer().await.unwrap()
}

async fn send(
    app: &App,
    client: &mut crate::kit::Client,
    method: &str,
    target: &str,
    headers: &str,
) {
    let port = app.address.port().to_string();
    let headers = headers.replace("{port}", &port);
    let target = target.replace("{port}", &port);
    let body = r#"{"data":null}"#;
    client
        .send(format!(
            "{method} {target} HTTP/1.1\r\n{headers}content-length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
}

#[track_caller]
fn assert_unreadable(answer: &Answer, what: &str) {
    assert!(
        answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")),
        "{what}: {answer:?}"
    );
}

/// Refused with 4xx, not readable by a page.
#[track_caller]
fn assert_shut(answer: &Answer, method: &str, what: &str) {
    assert!(matches!(answer.status, 400 | 403), "{what}: {answer:?}");
    assert_unreadable(answer, what);
    if method != "HEAD" {
        answer.assert_error_form();
    }
}

#[tokio::test]
async fn foreign_pages_have_no_effect_and_read_nothing() {
    let app = app_with(|server| server.allow_origin(ALLOWED)).await;
    let paths: Vec<_> = app.paths.iter().map(String::as_str).chain(["/", "/nowhere"]).collect();
    for method in METHODS {
        let mut client = app.connect().await;
        let media_types = if method == "POST" { &MEDIA_TYPES[..] } else { &MEDIA_TYPES[4..] };
        for origin in FOREIGN_ORIGINS {
            for path in &paths {
                for media_type in media_types {
                    let headers =
                        format!("host: localhost:{{port}}\r\norigin: {origin}\r\n{media_type}");
                    send(&app, &mut client, method, path, &headers).await;
                    let answer = client.answer_to(method).await.unwrap();
                    assert_shut(&answer, method, &format!("{method} {path} {origin} {media_type}"));
                }
            }
        }
    }
    assert_eq!(app.effects(), 0);
}

#[tokio::test]
async fn foreign_pages_are_refused_under_every_host_name() {
    let app = app().await;
    for host in OWN_HOSTS.into_iter().chain(FOREIGN_HOSTS) {
        let mut client = app.connect().await;
        for origin in FOREIGN_ORIGINS {
            // The same name is the same page: that is the next test.
            if origin.split_once("//").is_some_and(|(_, name)| name == host) {
                continue;
            }
            let what = format!("{host} {origin}");
            let headers = format!("host: {host}\r\norigin: {origin}\r\n");
            send(&app, &mut client, "POST", "/slow", &headers).await;
            assert_shut(&client.answer().await.unwrap(), "POST", &what);
        }
    }
    assert_eq!(app.effects(), 0);
}

#[tokio::test]
async fn only_names_of_this_machine_are_hosts() {
    let app = app().await;
    for host in FOREIGN_HOSTS {
        for method in METHODS {
            for path in ["/echo", "/docs", "/metrics", "/nowhere"] {
                let what = format!("{method} {path} {host}");
                let mut client = app.connect().await;
                send(&app, &mut client, method, path, &format!("host: {host}\r\n")).await;
                let answer = client.answer_to(method).await.unwrap();
                assert_shut(&answer, method, &what);
                // A rebound page is of the same origin as its host.
                let headers = format!("host: {host}\r\norigin: http://{host}\r\n");
                let mut client = app.connect().await;
                send(&app, &mut client, method, path, &headers).await;
                let answer = client.answer_to(method).await.unwrap();
                assert_shut(&answer, method, &what);
            }
        }
    }
    assert_eq!(app.effects(), 0);
    for host in OWN_HOSTS {
        let answer = ask(&app, "POST", "/echo", &format!("host: {host}\r\n")).await;
        assert_eq!(answer.status, 200, "{host}");
    }
}

#[tokio::test]
async fn an_absolute_target_is_held_against_the_same_names() {
    let app = app().await;
    for target in
        ["http://evil.example/echo", "http://localhost.:{port}/echo", "https://user@localhost/echo"]
    {
        let answer = ask(&app, "POST", target, "host: localhost:{port}\r\n").await;
        assert_shut(&answer, "POST", target);
    }
    // The name of the target is the one that counts; the other must not differ.
    let answer = ask(&app, "POST", "http://localhost:{port}/echo", "host: evil.example\r\n").await;
    assert_shut(&answer, "POST", "host differs");
    assert_eq!(app.effects(), 0);
    let answer =
        ask(&app, "POST", "http://localhost:{port}/echo", "host: localhost:{port}\r\n").await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_named_host_is_let_in_and_no_other() {
    let app = app_with(|server| server.allow_host("dev.example")).await;
    for (host, status) in [
        ("dev.example", 200),
        ("DEV.example:{port}", 200),
        ("dev.example.", 403),
        ("sub.dev.example", 403),
        ("evil.example", 403),
    ] {
        assert_eq!(
            ask(&app, "POST", "/echo", &format!("host: {host}\r\n")).await.status,
            status,
            "{host}"
        );
    }
}

#[tokio::test]
async fn pages_of_this_server_may_call() {
    let app = app().await;
    for host in ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}"] {
        let headers =
            format!("host: {host}\r\norigin: http://{host}\r\nsec-fetch-site: same-origin\r\n");
        let answer = ask(&app, "POST", "/echo", &headers).await;
        assert_eq!(answer.status, 200, "{host}");
        assert_unreadable(&answer, host);
    }
}

#[tokio::test]
async fn a_browser_that_says_the_page_is_foreign_is_believed() {
    let app = app().await;
    for site in ["cross-site", "same-site", "Cross-Site", "unheard-of"] {
        for method in METHODS {
            let headers =
                format!("host: localhost\r\nsec-fetch-site: {site}\r\nsec-fetch-mode: no-cors\r\n");
            let mut client = app.connect().await;
            send(&app, &mut client, method, "/docs", &headers).await;
            assert_shut(&client.answer_to(method).await.unwrap(), method, site);
            send(&app, &mut client, method, "/echo", &headers).await;
            let answer = client.answer_to(method).await.unwrap();
            assert_shut(&answer, method, site);
        }
    }
    assert_eq!(app.effects(), 0);
    for site in ["same-origin", "none"] {
        let headers =
            format!("host: localhost\r\nsec-fetch-site: {site}\r\nsec-fetch-mode: cors\r\n");
        assert_eq!(ask(&app, "POST", "/echo", &headers).await.status, 200, "{site}");
    }
    // Node's `fetch` sends the mode alone.
    let headers = "host: localhost\r\nsec-fetch-mode: cors\r\n";
    assert_eq!(ask(&app, "POST", "/echo", headers).await.status, 200);
}

#[tokio::test]
async fn pages_of_a_named_origin_may_call_and_read() {
    let app = app_with(|server| server.allow_origin(ALLOWED)).await;
    let from = format!("host: localhost\r\norigin: {ALLOWED}\r\nsec-fetch-site: cross-site\r\n");
    for path in ["/echo", "/failing", "/nowhere"] {
        let answer = ask(&app, "POST", path, &from).await;
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some(ALLOWED),
            "{path} {answer:?}"
        );
        assert_eq!(answer.header("vary"), Some("Origin"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        let exposed = answer.header("access-control-expose-headers").unwrap();
        assert!(exposed.contains("x-genkit-stream-id") && exposed.contains("x-genkit-trace-id"));
    }
    let asking = format!(
        "{from}access-control-request-method: POST\r\naccess-control-request-headers: content-type, authorization\r\n"
    );
    let effects = app.effects();
    let answer = ask(&app, "OPTIONS", "/echo", &asking).await;
    assert_eq!((answer.status, answer.text()), (204, ""));
    assert_eq!(answer.header("access-control-allow-origin"), Some(ALLOWED));
    assert!(answer.header("access-control-allow-methods").unwrap().contains("POST"));
    assert_eq!(answer.header("access-control-allow-headers"), Some("content-type, authorization"));
    assert_eq!(app.effects(), effects);

    for origin in FOREIGN_ORIGINS {
        let asking = format!(
            "host: localhost:{{port}}\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n"
        );
        assert_shut(&ask(&app, "OPTIONS", "/echo", &asking).await, "OPTIONS", origin);
    }
}

#[tokio::test]
async fn nobody_is_let_in_by_an_address_that_others_can_reach() {
    let ai = oxikit::Oxikit::builder().build().unwrap();
    let server = || oxikit_serve::Server::new(&ai).host([0, 0, 0, 0]).port(0);
    let error = server().bind().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(server().allow_anonymous().bind().await.is_ok());
    assert!(server().auth(oxikit_serve::ApiKey::new("k")).bind().await.is_ok());
}
