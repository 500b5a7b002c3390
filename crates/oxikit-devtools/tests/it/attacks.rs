//! Attacks on every route of the table: none may be admitted.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::{FutureExt, StreamExt};
use oxikit_core::Status;
use oxikit_devtools::{AppControl, AppState, AppStatus, route_table};
use oxikit_prompts::is_page_path;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use oxikit_testing::manager::{ScriptedRuntime, TRACE, soon};
use oxikit_testing::tools::{Kit, kit, kit_with};

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Pages from elsewhere; `{port}` is ours.
const ORIGINS: [&str; 30] = [
    "http://evil.example",
    "https://evil.example",
    "http://evil.example:{port}",
    "null",
    "",
    "http://localhost",
    "http://127.0.0.1",
    "https://localhost:{port}",
    "https://127.0.0.1:{port}",
    "http://localhost:1",
    "http://localhost:80",
    "http://127.0.0.1:8080",
    "http://[::1]:9",
    "http://localhost.:{port}",
    "http://localhost.evil.example:{port}",
    "http://127.0.0.1.evil.example:{port}",
    "http://evil.localhost:9",
    "file://",
    "data:",
    "chrome-extension://abcdefghijklmnop",
    "moz-extension://abc",
    "app://oxikit",
    "*",
    "http://user@localhost:{port}",
    "http://localhost:{port}/",
    "http://localhost:{port}#x",
    "http://localhost:{port} http://evil.example",
    "localhost:{port}",
    "ws://localhost:{port}",
    "http://0.0.0.0:{port}",
];

/// The first two are ours.
const HOSTS: [&str; 12] = [
    "127.0.0.1:{port}",
    "localhost:{port}",
    "evil.example",
    "evil.example:{port}",
    "localhost.",
    "localhost.:{port}",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "0.0.0.0:{port}",
    "[::]:{port}",
    "10.0.0.1:{port}",
    "evillocalhost:{port}",
];

/// An application that counts what is done to it.
#[derive(Debug, Default)]
struct Victim(AtomicU32);

#[async_trait::async_trait]
impl AppControl for Victim {
    fn status(&self) -> AppStatus {
        AppStatus {
            state: AppState::Running,
            pid: None,
            command: Vec::new(),
            exit: None,
            last_lines: Vec::new(),
            restarts: 0,
        }
    }

    async fn restart(&self) -> Result<(), Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn stop(&self) -> Result<(), Status> {
        self.restart().await
    }
}

/// A server, its application and its runtime.
struct Target {
    kit: Kit,
    victim: Arc<Victim>,
    runtime: ScriptedRuntime,
    wire: Wire,
}

/// A connection that sends whatever it likes.
struct Wire {
    stream: TcpStream,
    buffer: Vec<u8>,
    port: String,
}

impl Target {
    async fn new() -> Self {
        let victim = Arc::new(Victim::default());
        let app = victim.clone();
        let kit = kit_with(|options| options.with_app(app)).await;
        let runtime = kit.runtime("one").await;
        let wire = Wire::connect(&kit).await;
        Self { kit, victim, runtime, wire }
    }

    /// The runtime hears pings, which it answers by reading them, and nothing else.
    fn expect_no_request(&mut self) {
        while let Some(received) = self.runtime.socket.next().now_or_never() {
            assert!(matches!(received, Some(Ok(Message::Ping(_)))), "{received:?}");
        }
    }

    /// Nothing has happened to anybody.
    async fn must_be_untouched(mut self) {
        assert_eq!(self.victim.0.load(Ordering::Relaxed), 0, "the application was steered");
        let quit =
            tokio::time::timeout(std::time::Duration::ZERO, self.kit.server.quit_requested());
        assert!(quit.await.is_err(), "the tools were ended");
        assert_eq!(self.kit.server.traces().list(&Default::default()).await.unwrap().traces, []);
        // The next request of the runtime is this one, so no earlier one has reached it.
        let list = self.kit.get("/api/v1/values/mark");
        let (list, ()) = tokio::join!(list, async {
            let asked = self.runtime.expect_request("listValues").await;
            assert_eq!(asked.params, json!({"type": "mark"}));
            self.runtime.answer(&asked, json!({"values": {}})).await;
        });
        assert_eq!(list, (200, json!({})));
    }
}

impl Wire {
    async fn connect(kit: &Kit) -> Self {
        let address = kit.server.urls().base().trim_start_matches("http://").to_owned();
        let stream = TcpStream::connect(&address).await.unwrap();
        let port = address.rsplit(':').next().unwrap().to_owned();
        Self { stream, buffer: Vec::new(), port }
    }

    fn request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            write!(text, "{name}: {}\r\n", value.replace("{port}", &self.port)).unwrap();
        }
        text + "content-length: 2\r\n\r\n{}"
    }

    /// Sends them all and reads the head and the body of every answer.
    async fn exchange(&mut self, requests: &[(&str, String)]) -> Vec<(u16, String, String)> {
        let all: String = requests.iter().map(|(_, text)| text.as_str()).collect();
        let mut answers = Vec::new();
        let (mut reader, mut writer) = self.stream.split();
        let buffer = &mut self.buffer;
        let read = async {
            for (method, _) in requests {
                answers.push(answer(&mut reader, buffer, *method == "HEAD").await);
            }
        };
        let write = async { writer.write_all(all.as_bytes()).await.unwrap() };
        soon(async { tokio::join!(read, write) }).await;
        answers
    }
}

async fn answer(
    reader: &mut (impl AsyncReadExt + Unpin),
    buffer: &mut Vec<u8>,
    is_head: bool,
) -> (u16, String, String) {
    let end = loop {
        if let Some(at) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break at + 4;
        }
        assert!(reader.read_buf(buffer).await.unwrap() > 0, "the server has closed");
    };
    let head = String::from_utf8(buffer.drain(..end).collect()).unwrap().to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length = if is_head { 0 } else { length.unwrap_or("0").parse().unwrap() };
    while buffer.len() < length {
        assert!(reader.read_buf(buffer).await.unwrap() > 0, "the server has closed");
    }
    let body = String::from_utf8(buffer.drain(..length).collect()).unwrap();
    (status, head, body)
}

/// Every route, with something for its parameters.
fn paths() -> Vec<(&'static str, String)> {
    let fill = |path: String| {
        let parameters = [
            ("{*key}", "flow/greet"),
            ("{type}", "defaultModel"),
            ("{traceId}", TRACE),
            ("{agent}", "helper"),
            ("{session}", "s1"),
            ("{dataset}", "greetings"),
            ("{evaluation}", "e1"),
            ("{id}", TRACE),
            ("{runtime}", "one"),
            ("{rev}", "1"),
            ("{label}", "x"),
            ("{path}", "x"),
            ("{*path}", "x"),
        ];
        parameters.iter().fold(path, |path, (name, value)| path.replace(name, value))
    };
    let table = route_table();
    assert!(table.len() > 30, "{table:?}");
    let filled: Vec<_> = table.into_iter().map(|(method, path)| (method, fill(path))).collect();
    assert!(filled.iter().all(|(_, path)| !path.contains('{')), "{filled:?}");
    filled
}

/// Paths that can only be acted on; at others a `GET` reads.
fn is_only_acted_on(path: &str) -> bool {
    !paths().iter().any(|(method, known)| *method == "GET" && known == path)
}

#[tokio::test]
async fn no_foreign_page_and_no_foreign_host_reaches_any_route() {
    let mut target = Target::new().await;
    let bearer = format!("Bearer {}", target.kit.token());
    let mut tried = 0;
    // Every method is tried at each, so each is tried once.
    let paths: BTreeSet<String> = paths().into_iter().map(|(_, path)| path).collect();
    for path in paths {
        let mut requests = Vec::new();
        for method in METHODS {
            for host in HOSTS {
                let common = [
                    ("authorization", &*bearer),
                    ("content-type", "application/json"),
                    ("host", host),
                ];
                let foreign = ORIGINS.iter().map(|origin| ("origin", *origin));
                // Own pages and programs, but another name: rebinding.
                let rebound = [("origin", "http://{port}"), ("sec-fetch-site", "same-origin")];
                let rebound = rebound.into_iter().filter(|_| !HOSTS[..2].contains(&host));
                // Without an origin, as images, forms and links.
                let sites = ["cross-site", "same-site"].map(|site| ("sec-fetch-site", site));
                for last in foreign.chain(rebound).chain(sites) {
                    let headers = [&common[..], &[last]].concat();
                    requests.push((method, target.wire.request(method, &path, &headers)));
                }
            }
        }
        for some in requests.chunks(256) {
            for ((_, request), (status, head, body)) in
                some.iter().zip(target.wire.exchange(some).await)
            {
                assert_eq!(status, 403, "{request}");
                assert!(!head.contains("access-control-"), "{request}\n{head}");
                let body: Value = serde_json::from_str(&body).unwrap_or_default();
                assert!(body.is_null() || body["status"] == "PERMISSION_DENIED", "{request}");
                tried += 1;
            }
        }
        target.expect_no_request();
    }
    eprintln!("{tried} tries, 0 accepted");
    target.must_be_untouched().await;
}

#[tokio::test]
async fn a_host_that_is_unclear_is_refused() {
    let mut target = Target::new().await;
    let bearer = format!("Bearer {}", target.kit.token());
    let auth = ("authorization", &*bearer);
    let own = ("host", "localhost:{port}");
    for (path, headers, expected) in [
        ("/api/v1/info", vec![auth, own], 200),
        ("/api/v1/info", vec![auth, ("host", "LOCALHOST:{port}")], 200),
        ("/api/v1/info", vec![auth, ("host", "[::1]:{port}")], 200),
        ("http://localhost/api/v1/info", vec![auth, ("host", "localhost")], 200),
        ("/api/v1/info", vec![auth, own, ("host", "evil.example")], 400),
        ("/api/v1/info", vec![auth, own, own], 400),
        ("http://evil.example/api/v1/info", vec![auth, own], 400),
        ("http://localhost/api/v1/info", vec![auth, ("host", "evil.example")], 400),
        ("/api/v1/info", vec![auth, ("host", "localhost:{port}@evil.example")], 403),
        ("/api/v1/info", vec![auth, own, ("sec-fetch-site", "none")], 403),
        ("/", vec![own, ("sec-fetch-site", "none")], 200),
        ("/", vec![own, ("sec-fetch-site", "cross-site")], 403),
        (
            "/api/v1/info",
            vec![
                auth,
                own,
                ("origin", "http://localhost:{port}"),
                ("sec-fetch-site", "same-origin"),
            ],
            200,
        ),
    ] {
        let request = target.wire.request("GET", path, &headers);
        let answers = target.wire.exchange(&[("GET", request.clone())]).await;
        assert_eq!(answers[0].0, expected, "{request}");
    }
    target.must_be_untouched().await;
}

#[tokio::test]
async fn no_route_opens_without_its_own_token() {
    let mut target = Target::new().await;
    let earlier = kit().await;
    let token = target.kit.token().to_owned();
    let urls = target.kit.server.urls().clone();
    let other_scope = |url: &str| url.rsplit('/').next().unwrap().to_owned();
    let wrong = [
        String::new(),
        "x".to_owned(),
        token[..token.len() - 1].to_owned(),
        format!("{token}x"),
        token.to_ascii_uppercase() + "Z",
        other_scope(&urls.reflection),
        other_scope(&urls.telemetry),
        earlier.token().to_owned(),
    ];
    // Pages and their files contain no secret; signing in needs a code.
    let is_open = |path: &str| is_page_path(path) || path == "/api/v1/sign-in";
    for (method, path) in paths().into_iter().filter(|(_, path)| !is_open(path)) {
        let common = [("host", "localhost:{port}"), ("content-type", "application/json")];
        let mut requests = vec![target.wire.request(method, &path, &common)];
        for token in &wrong {
            for scheme in ["Bearer ", "bearer ", "Basic ", ""] {
                let value = format!("{scheme}{token}");
                let headers = [&common[..], &[("authorization", &*value)]].concat();
                requests.push(target.wire.request(method, &path, &headers));
            }
            requests.push(target.wire.request(method, &format!("/k/{token}{path}"), &common));
            requests.push(target.wire.request(method, &format!("{path}?token={token}"), &common));
        }
        // The right token twice: it would be unclear which of them was checked.
        let right = format!("Bearer {token}");
        let twice =
            [&common[..], &[("authorization", &*right), ("authorization", "Bearer x")]].concat();
        requests.push(target.wire.request(method, &path, &twice));
        let requests: Vec<_> = requests.into_iter().map(|text| (method, text)).collect();
        for ((_, request), (status, _, body)) in
            requests.iter().zip(target.wire.exchange(&requests).await)
        {
            assert!(matches!(status, 401 | 429), "{status}: {request}");
            assert!(!body.contains(&token), "{request}");
        }
    }
    // Many wrong tokens are answered with 429, and do not lock out the right one.
    let request = target.wire.request(
        "GET",
        "/api/v1/info",
        &[("host", "localhost"), ("authorization", "Bearer x")],
    );
    let answers = target.wire.exchange(&[("GET", request)]).await;
    assert_eq!(answers[0].0, 429);
    assert!(answers[0].1.contains("retry-after: 60"), "{}", answers[0].1);
    assert_eq!(target.kit.get("/api/v1/info").await.0, 200);
    target.must_be_untouched().await;
}

#[tokio::test]
async fn effects_need_a_method_that_has_them_and_json() {
    let mut target = Target::new().await;
    let bearer = format!("Bearer {}", target.kit.token());
    let types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "text/json-like",
        "application/json, text/plain",
    ];
    for (method, path) in paths().into_iter().filter(|(method, _)| *method != "GET") {
        let common = [("host", "localhost:{port}"), ("authorization", &*bearer)];
        let mut requests = vec![(method, target.wire.request(method, &path, &common))];
        for kind in types {
            let headers = [&common[..], &[("content-type", kind)]].concat();
            requests.push((method, target.wire.request(method, &path, &headers)));
        }
        let zipped = [("content-type", "application/json"), ("content-encoding", "gzip")];
        let headers = [&common[..], &zipped].concat();
        requests.push((method, target.wire.request(method, &path, &headers)));
        for ((_, request), (status, ..)) in
            requests.iter().zip(target.wire.exchange(&requests).await)
        {
            assert_eq!(status, 415, "{request}");
        }
    }
    target.must_be_untouched().await;
}

/// Whether the path is that of a procedure, not of a route of the table.
fn is_procedure(path: &str) -> bool {
    let raw = ["agents", "runAction", "streamAction", "sendBidiInput", "endBidiInput"];
    let name = path.strip_prefix("/api/").unwrap_or("/");
    !name.contains(['/', '_']) && name != "streamTrace" && !raw.contains(&name)
}

/// The methods of a path, as the table lists them.
fn methods_of(path: &str) -> BTreeSet<&'static str> {
    let own = paths().into_iter().filter(|(_, known)| known == path).map(|(method, _)| method);
    own.flat_map(|method| if method == "GET" { vec!["GET", "HEAD"] } else { vec![method] })
        .collect()
}

#[tokio::test]
async fn a_wrong_method_is_answered_with_the_methods_of_the_path() {
    let mut target = Target::new().await;
    let bearer = format!("Bearer {}", target.kit.token());
    let paths: BTreeSet<_> = paths().into_iter().map(|(_, path)| path).collect();
    for path in paths {
        let allowed = methods_of(&path);
        let common = [("host", "localhost:{port}"), ("authorization", &*bearer)];
        let json = [&common[..], &[("content-type", "application/json")]].concat();
        let text = [&common[..], &[("content-type", "text/plain")]].concat();
        let others = METHODS.into_iter().chain(["TRACE"]).filter(|it| !allowed.contains(it));
        let requests: Vec<_> = others
            .flat_map(|method| [&common[..], &json, &text].map(|headers| (method, headers)))
            .map(|(method, headers)| (method, target.wire.request(method, &path, headers)))
            .collect();
        for ((method, request), (status, head, _)) in
            requests.iter().zip(target.wire.exchange(&requests).await)
        {
            // To official clients a query and a mutation are two procedures, and one of
            // them is not there.
            if is_procedure(&path) && matches!((*method, status), ("GET" | "HEAD" | "POST", 404)) {
                continue;
            }
            // A post is refused by its type before its name is looked at.
            if is_procedure(&path) && matches!((*method, status), ("POST", 415)) {
                continue;
            }
            assert_eq!(status, 405, "{request}");
            let listed = head.lines().find_map(|line| line.strip_prefix("allow: "));
            let listed = listed.unwrap_or_else(|| panic!("{request}\n{head}")).to_uppercase();
            let listed: BTreeSet<_> = listed.split(',').map(str::trim).collect();
            assert_eq!(listed, allowed, "{request}");
        }
    }
    let nowhere = ["/api/v1/nothing", "/nothing", "/api/agents/a/nothing", "/api/nothing/x"];
    for path in nowhere {
        let headers = [("host", "localhost:{port}"), ("authorization", &*bearer)];
        let ask = |method| (method, target.wire.request(method, path, &headers));
        let requests: Vec<_> = METHODS.into_iter().chain(["TRACE"]).map(ask).collect();
        for ((_, request), (status, ..)) in
            requests.iter().zip(target.wire.exchange(&requests).await)
        {
            assert_eq!(status, 404, "{request}");
        }
    }
    target.must_be_untouched().await;
}

#[tokio::test]
async fn a_deletion_without_a_body_needs_no_type() {
    let target = Target::new().await;
    for path in ["/api/v1/traces/t1", "/api/v1/datasets/d1", "/api/v1/evaluations/e1"] {
        let bare = target.kit.call(reqwest::Method::DELETE, path);
        assert_eq!(soon(bare.send()).await.unwrap().status(), 404, "{path}");
        let typed = target.kit.call(reqwest::Method::DELETE, path);
        let typed = typed.header("content-type", "text/plain").body("{}");
        assert_eq!(soon(typed.send()).await.unwrap().status(), 415, "{path}");
    }
    target.must_be_untouched().await;
}

#[tokio::test]
async fn every_get_twice_changes_nothing() {
    let target = Target::new().await;
    let kit = &target.kit;
    let urls = kit.server.urls();
    let before = (kit.server.runtimes().list(), kit.server.runtimes().counts());
    // Routes that call the runtime or never end are tested elsewhere.
    let asks = |path: &str| {
        let parts =
            ["/actions", "/values", "/agents", "listActions", "listValues", "events", "/changes"];
        parts.iter().any(|part| path.contains(part))
    };
    for (_, path) in paths().into_iter().filter(|(method, path)| *method == "GET" && !asks(path)) {
        let (first, second) = (kit.get(&path).await, kit.get(&path).await);
        assert_eq!(first, second, "{path}");
        for url in [&urls.api, &urls.reflection, &urls.telemetry] {
            let token = url.rsplit('/').next().unwrap();
            assert!(!first.1.to_string().contains(token), "{path} tells a token");
        }
    }
    let acts = paths().into_iter().filter(|(method, _)| *method == "POST");
    for (_, path) in acts.filter(|(_, path)| is_only_acted_on(path)) {
        assert!(matches!(kit.get(&path).await.0, 404 | 405), "{path}");
    }
    assert_eq!((kit.server.runtimes().list(), kit.server.runtimes().counts()), before);
    target.must_be_untouched().await;
}

#[tokio::test]
async fn a_page_that_was_named_may_call_and_read() {
    let kit = kit_with(|mut options| {
        options.allow_origins = vec!["https://tools.example".to_owned()];
        options.allow_hosts = vec!["devbox".to_owned()];
        options
    })
    .await;
    let mut wire = Wire::connect(&kit).await;
    let bearer = format!("Bearer {}", kit.token());
    let origin = ("origin", "https://tools.example");
    let method = ("access-control-request-method", "POST");
    let asked = [("host", "devbox:{port}"), origin, method];
    let asked = wire.request("OPTIONS", "/api/v1/run", &asked);
    let read =
        [("host", "devbox"), origin, ("sec-fetch-site", "cross-site"), ("authorization", &*bearer)];
    let read = wire.request("GET", "/api/v1/info", &read);
    let without = wire.request("GET", "/api/v1/info", &[("host", "devbox"), origin]);
    let requests = [("OPTIONS", asked), ("GET", read), ("GET", without)];
    let answers = wire.exchange(&requests).await;
    let statuses: Vec<u16> = answers.iter().map(|(status, ..)| *status).collect();
    assert_eq!(statuses, [204, 200, 401]);
    for (_, head, _) in &answers[..2] {
        assert!(head.contains("access-control-allow-origin: https://tools.example\r\n"), "{head}");
    }
}
