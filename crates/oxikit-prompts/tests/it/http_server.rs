//! The stand-alone server: its checks, its pages, its description, and hostile requests to every
//! route.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use oxikit_core::ports::memory::MemoryRevisions;
use oxikit_http::Token;
use oxikit_prompts::{
    PromptServer, PromptServerOptions, Prompts, PromptsOptions, is_page_path, openapi,
    prompt_server_route_table,
};
use reqwest::Method;
use serde_json::{Value, json};

use crate::http_kit::{Kit, kit, kit_with, read, refused, soon};

/// A server with a token.
async fn guarded_kit() -> (Kit, String) {
    let token = Token::random();
    let text = token.reveal().to_owned();
    let change = |mut options: PromptServerOptions| {
        options.token = Some(token);
        options
    };
    (kit_with(&[("joke.md", "x")], |prompts| prompts, change).await, text)
}

/// Every route, with something for its parameters.
fn routes() -> Vec<(Method, String)> {
    let fill = |segment: &str| match segment {
        "{id}" => "joke".to_owned(),
        "{rev}" => "1".to_owned(),
        segment if segment.starts_with('{') => "x".to_owned(),
        segment => segment.to_owned(),
    };
    let filled = |path: &str| path.split('/').map(fill).collect::<Vec<_>>().join("/");
    let table = prompt_server_route_table();
    assert!(table.len() > 60, "{table:?}");
    table.iter().map(|(method, path)| (method.parse().unwrap(), filled(path))).collect()
}

#[tokio::test]
async fn a_server_for_other_machines_needs_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let options = PromptsOptions::new([folder.path()]);
    let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await.unwrap();
    let mut options = PromptServerOptions::default().on_any_port();
    options.host = "0.0.0.0".parse().unwrap();
    let error = PromptServer::start(prompts, options).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("token"), "{error}");
}

#[tokio::test]
async fn with_a_token_every_route_but_the_page_needs_it() {
    let (kit, token) = guarded_kit().await;
    for (method, path) in routes() {
        let status = read(kit.call(method.clone(), &path).json(&json!({}))).await.0;
        match is_page_path(&path) {
            true => assert!(matches!(status, 200 | 307 | 404), "{method} {path}: {status}"),
            false => assert_eq!(status, 401, "{method} {path}"),
        }
    }
    let path = "/api/prompts/joke";
    assert_eq!(read(kit.call(Method::GET, path).bearer_auth(&token)).await.0, 200);
    assert_eq!(read(kit.call(Method::GET, &format!("/k/{token}{path}"))).await.0, 200);
    assert_eq!(read(kit.call(Method::GET, path).bearer_auth("wrong")).await.0, 401);
    assert!(kit.server.page_url().ends_with(&format!("/#token={token}")));
    // Sockets: the token is in the path, a header or a subprotocol.
    let path = "/api/prompts/ws/joke";
    assert_eq!(refused(kit.try_socket(path, &[]).await), 401);
    kit.socket(&format!("/k/{token}{path}")).await.expect("initial").await;
    let bearer = format!("Bearer {token}");
    let mut socket = kit.try_socket(path, &[("authorization", &bearer)]).await.unwrap();
    socket.expect("initial").await;
    let protocols = format!("oxikit.prompts, oxikit.token.{token}");
    let mut socket = kit.try_socket(path, &[("sec-websocket-protocol", &protocols)]).await.unwrap();
    socket.expect("initial").await;
    // A client with the token may end the server.
    let quit = kit.call(Method::POST, "/api/shutdown").bearer_auth(&token).json(&json!({}));
    assert_eq!(read(quit).await.0, 200);
    soon(kit.server.quit_requested()).await;
    let wrong = (0..12).map(|_| read(kit.call(Method::GET, path).bearer_auth("wrong")));
    let mut statuses = Vec::new();
    for request in wrong {
        statuses.push(request.await.0);
    }
    assert_eq!(statuses.last(), Some(&429));
}

#[tokio::test]
async fn without_a_token_nobody_can_end_the_server() {
    let kit = kit(&[]).await;
    for (method, path) in
        [("POST", "/api/shutdown"), ("GET", "/api/stop"), ("GET", "/api/shutdown")]
    {
        let request = kit.call(method.parse().unwrap(), path).json(&json!({}));
        assert_eq!(read(request).await, (404, json!({"detail": "there is nothing at this path"})));
    }
}

#[tokio::test]
async fn no_foreign_page_and_no_foreign_host_reaches_any_route() {
    let kit = kit(&[("joke.md", "x")]).await;
    let port = kit.server.url().rsplit(':').next().unwrap().to_owned();
    let own = format!("http://127.0.0.1:{port}");
    let foreign = [
        ("host", "evil.example".to_owned()),
        ("host", format!("localhost.:{port}")),
        ("host", format!("evil.example:{port}")),
        ("origin", "http://evil.example".to_owned()),
        ("origin", "null".to_owned()),
        ("origin", "http://127.0.0.1:1".to_owned()),
        ("origin", format!("https://127.0.0.1:{port}")),
        ("sec-fetch-site", "cross-site".to_owned()),
        ("sec-fetch-site", "same-site".to_owned()),
    ];
    for (method, path) in routes() {
        for (name, value) in &foreign {
            let request = kit.call(method.clone(), &path).header(*name, value).json(&json!({}));
            let response = soon(request.send()).await.unwrap();
            assert_eq!(response.status(), 403, "{method} {path} {name}: {value}");
            assert!(!response.headers().contains_key("access-control-allow-origin"));
            let body: Value = response.json().await.unwrap();
            assert!(body["detail"].is_string(), "{body}");
        }
    }
    let path = "/api/prompts/ws/joke";
    for (name, value) in &foreign[3..] {
        assert_eq!(refused(kit.try_socket(path, &[(*name, value)]).await), 403, "{name}: {value}");
    }
    // The server's own page, and programs without an origin.
    kit.try_socket(path, &[("origin", &own)]).await.unwrap().expect("initial").await;
    assert_eq!(read(kit.call(Method::GET, "/api/prompts/all").header("origin", &own)).await.0, 200);
    assert_eq!(kit.text("joke.md"), "x");
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_call() {
    let change = |mut options: PromptServerOptions| {
        options.allow_origins.push("http://localhost:5173".to_owned());
        options.allow_hosts.push("prompts.example".to_owned());
        options
    };
    let kit = kit_with(&[("joke.md", "x")], |prompts| prompts, change).await;
    let request =
        kit.call(Method::GET, "/api/prompts/joke").header("origin", "http://localhost:5173");
    let response = soon(request.send()).await.unwrap();
    assert_eq!(response.headers()["access-control-allow-origin"], "http://localhost:5173");
    assert_eq!(response.headers()["access-control-expose-headers"], "etag");
    let request = kit
        .call(Method::OPTIONS, "/api/prompts/joke")
        .header("origin", "http://localhost:5173")
        .header("access-control-request-method", "PUT");
    let response = soon(request.send()).await.unwrap();
    assert_eq!(response.status(), 204);
    assert!(
        response.headers()["access-control-allow-headers"].to_str().unwrap().contains("if-match")
    );
    let request = kit.call(Method::GET, "/api/prompts/joke").header("host", "prompts.example");
    assert_eq!(read(request).await.0, 200);
}

#[tokio::test]
async fn effects_need_json() {
    let kit = kit(&[("joke.md", "x")]).await;
    let types = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""];
    let is_effect = |method: &Method| *method != Method::GET;
    for (method, path) in routes().into_iter().filter(|(method, _)| is_effect(method)) {
        if path == "/api/shutdown" {
            continue;
        }
        for kind in types {
            let request = kit.call(method.clone(), &path).header("content-type", kind).body("{}");
            assert_eq!(read(request).await.0, 415, "{method} {path} {kind}");
        }
        let zipped = kit.call(method.clone(), &path).header("content-encoding", "gzip");
        assert_eq!(read(zipped.json(&json!({}))).await.0, 415, "{method} {path}");
    }
    assert_eq!(kit.text("joke.md"), "x");
    assert_eq!(kit.get("/all").await.1.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn hostile_bodies_are_answered_in_the_form_of_the_api() {
    let kit = kit(&[("joke.md", "x")]).await;
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: [&[u8]; 9] = [
        b"",
        b"null",
        b"[]",
        b"\"x\"",
        b"{",
        b"{\"id\":\xff}",
        b"{\"a\":1}{\"a\":2}",
        b"{\"content\":1e999,\"id\":{},\"path\":[],\"rev\":-1,\"partial_path\":0,\"old_id\":1,\"enabled\":5,\"author\":7,\"name\":[]}",
        deep.as_bytes(),
    ];
    // These take an empty body, and read none.
    let takes_nothing =
        |path: &str| ["/undelete", "/toggle", "/reload"].iter().any(|end| path.ends_with(end));
    let has_body = |(method, path): &(Method, String)| {
        matches!(*method, Method::POST | Method::PUT) && path != "/api/shutdown"
    };
    for (method, path) in routes().into_iter().filter(has_body) {
        for body in bodies {
            let request =
                kit.call(method.clone(), &path).header("content-type", "application/json");
            let response = soon(request.body(body.to_vec()).send()).await.unwrap();
            let status = response.status().as_u16();
            let text = soon(response.text()).await.unwrap();
            let what = format!(
                "{method} {path} {}: {text}",
                String::from_utf8_lossy(&body[..body.len().min(60)])
            );
            let answer: Value = serde_json::from_str(&text).expect(&what);
            if takes_nothing(&path) && status < 300 {
                continue;
            }
            assert!((400..500).contains(&status), "{status} {what}");
            assert!(!answer["detail"].is_null(), "{what}");
            assert!(text.len() < 2000 && !text.contains(".rs:"), "{what}");
        }
    }
    let large = vec![b' '; 5 << 20];
    let request =
        kit.call(Method::PUT, "/api/prompts/joke").header("content-type", "application/json");
    assert_eq!(read(request.body(large)).await.0, 413);
    assert_eq!(kit.text("joke.md"), "x");
}

#[tokio::test]
async fn no_path_leaves_the_directory() {
    let kit = kit(&[("joke.md", "x"), ("sub/inner.md", "y")]).await;
    let secret = kit.folder.path().join("secret.md");
    std::fs::write(&secret, "secret").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&secret, kit.file("link.md")).unwrap();
        std::os::unix::fs::symlink(kit.folder.path(), kit.file("out")).unwrap();
        std::os::unix::fs::symlink("/etc", kit.file("etc")).unwrap();
    }
    kit.post("/reload", json!({})).await;
    let forms = [
        "..",
        ".",
        "../secret",
        "../../etc/passwd",
        "..%2Fsecret",
        "sub/../../secret",
        "/etc/passwd",
        "//etc/passwd",
        "\\..\\secret",
        "..\\secret",
        "%2e%2e%2fsecret",
        "....//secret",
        "out/secret",
        "link",
        "etc/passwd",
        "sub/..",
        "secret\u{0}",
        "joke/../../secret",
        "C:\\secret",
        "~/secret",
        "sub//inner",
        "./joke",
        ".hidden",
        "a/./b",
        "a\nb",
        "..\u{2215}secret",
        "\u{202e}terces",
    ];
    for form in forms {
        let id: String = form_urlencoded::byte_serialize(form.as_bytes()).collect();
        let id = id.replace('+', "%20");
        for path in [format!("/{id}"), format!("/document?id={id}"), format!("/history?id={id}")] {
            let response = soon(kit.call(Method::GET, &format!("/api/prompts{path}")).send()).await;
            let text = soon(response.unwrap().text()).await.unwrap();
            assert!(!text.contains("\"secret\"") && !text.contains("root:"), "{form}: {text}");
        }
        for (method, path, body) in [
            (Method::POST, "", json!({"id": form, "content": "planted"})),
            (Method::POST, "/fragments/", json!({"id": form, "content": "planted"})),
            (Method::POST, "/rename", json!({"old_id": "joke", "new_id": form})),
            (Method::POST, "/directories", json!({"path": form})),
            (Method::POST, "/filesystem/complete_path", json!({"partial_path": form})),
        ] {
            let (status, _) = kit.send(method, path, body).await;
            assert!(status < 500, "{path} {form}: {status}");
        }
        // The prompt has its name again.
        if !kit.file("joke.md").exists() {
            let (_, all) = kit.get("/all").await;
            let now = all.as_array().unwrap().iter().find(|it| it["content"] == "x").unwrap();
            let back = json!({"old_id": now["id"], "new_id": "joke"});
            kit.post("/rename", back).await;
        }
    }
    let outside: BTreeSet<_> = std::fs::read_dir(kit.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(outside, BTreeSet::from(["prompts".to_owned(), "secret.md".to_owned()]));
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "secret");
}

#[tokio::test]
async fn the_pages_load_only_their_own_files() {
    let kit = kit(&[]).await;
    for path in ["/", "/prompts", "/prompts/", "/debug/websocket"] {
        let response = soon(kit.call(Method::GET, path).send()).await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let policy = response.headers()["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(response.headers()["x-content-type-options"], "nosniff");
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    }
    for (path, kind) in
        [("/debug/websocket.js", "text/javascript"), ("/debug/websocket.css", "text/css")]
    {
        let response = soon(kit.call(Method::GET, path).send()).await.unwrap();
        assert!(response.headers()["content-type"].to_str().unwrap().starts_with(kind));
    }
    for path in [
        "/assets/none.js",
        "/prompts/none",
        "/assets/../index.html",
        "/prompts/..%2f..%2fCargo.toml",
    ] {
        assert_eq!(read(kit.call(Method::GET, path)).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn a_socket_route_without_a_handshake_is_explained() {
    let kit = kit(&[("joke.md", "x")]).await;
    let (status, body) = kit.get("/ws/joke").await;
    assert_eq!(status, 400);
    assert!(body["detail"].as_str().unwrap().contains("WebSocket"), "{body}");
    let (status, body) = kit.post("/all", json!({})).await;
    assert_eq!(status, 405, "{body}");
    assert!(body["detail"].is_string());
}

#[tokio::test]
async fn every_route_of_the_api_is_described() {
    let kit = kit(&[]).await;
    let (status, document) = kit.get("/openapi.json").await;
    assert_eq!((status, &document), (200, &openapi()));
    let mut described = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            described.insert((method.to_uppercase(), path.clone()));
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
            assert!(operation["summary"].is_string() && operation["tags"][0].is_string(), "{id}");
        }
    }
    // Sockets and pages are not part of it, nor the forms with a slash at the end.
    let is_api = |path: &str| {
        path.starts_with("/api/prompts")
            && !path.starts_with("/api/prompts/ws")
            && !path.ends_with('/')
    };
    let served: BTreeSet<_> = prompt_server_route_table()
        .into_iter()
        .filter(|(_, path)| is_api(path) && *path != "/api/prompts/templates")
        .map(|(method, path)| (method.to_owned(), path.to_owned()))
        .collect();
    assert_eq!(described, served);
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for name in ["ServerMessage", "ClientMessage", "PromptDocument", "PromptError", "ChangeEvent"] {
        assert!(schemas.contains_key(name), "{name}");
    }
    let mut references = Vec::new();
    collect_references(&document, &mut references);
    assert!(references.len() > 100);
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect_references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}
