//! Keys of single actions, and too many wrong keys.

use std::net::SocketAddr;

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_core::{Action, Registry};
use oxikit_serve::{ApiKey, ContextProvider, Expose, Limits, RequestInfo, Server};
use tokio::net::TcpSocket;

use crate::kit::{Answer, Client, post};

const STREAM: &str = "accept: text/event-stream\r\n";

/// `open` has the key of the server; `report` and the agent `guide` have their own.
async fn app(server_key: Option<&str>) -> SocketAddr {
    app_within(server_key, Limits::default()).await
}

async fn app_within(server_key: Option<&str>, limits: Limits) -> SocketAddr {
    let ai = Oxikit::builder().build().unwrap();
    let open = ai.define_flow("open", |_: Value| async { Ok(1) });
    let report = ai.define_flow("report", |_: Value| async { Ok(2) });
    for name in ["guide", "other"] {
        let agent = Agent::builder(name).store(MemorySessions::default());
        ai.define_agent(agent.turn(|turn: Turn| async move { Ok(turn.answer("yes")) })).unwrap();
    }
    let registry: &Registry = ai.as_ref();
    let agent = |name: &str| -> Action { registry.get(&format!("/agent/{name}")).unwrap() };
    let mut server = Server::new(&ai)
        .expose(&open)
        .expose(Expose::new(&report).auth(ApiKey::new("report-key")))
        .expose(Expose::new(agent("guide")).auth(ApiKey::new("guide-key")))
        .expose(agent("other"))
        .agents_api()
        .limits(limits);
    if let Some(key) = server_key {
        server = server.auth(ApiKey::new(key));
    }
    serve(server).await
}

async fn serve(server: Server) -> SocketAddr {
    let server = server.port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    address
}

/// Asks with this key; none if it is empty.
async fn ask(address: SocketAddr, method: &str, path: &str, key: &str) -> Answer {
    let header = if key.is_empty() { "" } else { &format!("authorization: Bearer {key}\r\n") };
    send(Client::connect(address).await, method, path, header).await
}

async fn send(mut client: Client, method: &str, path: &str, headers: &str) -> Answer {
    let body = match path.ends_with("execute") {
        true => r#"{"input":"hello"}"#,
        false => r#"{"data":null}"#,
    };
    let request = String::from_utf8(post(path, headers, body)).unwrap();
    client.send(request.replacen("POST", method, 1)).await;
    client.answer_to(method).await.unwrap()
}

#[tokio::test]
async fn an_action_with_a_key_of_its_own_takes_no_other() {
    let mut limits = Limits::default();
    limits.wrong_keys = 100;
    let address = app_within(Some("server-key"), limits).await;
    for (path, own) in [
        ("/open", "server-key"),
        ("/report", "report-key"),
        ("/guide/getSnapshot", "guide-key"),
        ("/guide/abort", "guide-key"),
        ("/other/getSnapshot", "server-key"),
        ("/api/agents/guide/execute", "guide-key"),
        ("/api/agents/other/execute", "server-key"),
    ] {
        assert_eq!(ask(address, "POST", path, "").await.status, 401, "{path}");
        for key in ["server-key", "report-key", "guide-key"] {
            let status = ask(address, "POST", path, key).await.status;
            // Snapshots are not there: whoever gets so far was let in.
            let is_in = !matches!(status, 401 | 403 | 429);
            assert_eq!(is_in, key == own, "{path} {key}: {status}");
        }
    }
    for path in ["/metrics", "/openapi.json", "/api/agents"] {
        assert_eq!(ask(address, "GET", path, "server-key").await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn the_api_of_agents_asks_for_the_key_of_the_agent() {
    let address = app(Some("server-key")).await;
    let execute = |agent: &str| format!("/api/agents/{agent}/execute");
    for (agent, key, status) in [
        ("guide", "guide-key", 200),
        ("guide", "server-key", 403),
        ("other", "server-key", 200),
        ("other", "guide-key", 403),
        ("guide", "", 401),
    ] {
        let answer = ask(address, "POST", &execute(agent), key).await;
        assert_eq!(answer.status, status, "{agent} {key}");
    }
    let listed = ask(address, "GET", "/api/agents", "server-key").await.json();
    let agents: Vec<_> = listed["agents"].as_object().unwrap().keys().collect();
    assert_eq!(agents, ["other"], "that of another key is not shown");
    // Listing agents with another key does not count as a wrong key: six attempts are left.
    for _ in 0..6 {
        assert_eq!(ask(address, "GET", "/api/agents", "server-key").await.status, 200);
        assert_eq!(ask(address, "POST", "/report", "wrong").await.status, 403);
    }
}

#[tokio::test]
async fn the_document_names_the_key_of_every_operation() {
    for server_key in [Some("server-key"), None] {
        let address = app(server_key).await;
        let api = ask(address, "GET", "/openapi.json", server_key.unwrap_or("")).await.json();
        let schemes = api["components"]["securitySchemes"].as_object().unwrap();
        let security = |path: &str| api["paths"][path]["post"]["security"].clone();
        assert_eq!(security("/report"), json!([{ "caller.report": [] }]));
        assert_eq!(security("/guide"), json!([{ "caller.guide": [] }]));
        assert_eq!(security("/open"), Value::Null, "as the whole document");
        let all = server_key.map_or(json!({}), |_| json!({ "caller": [] }));
        assert_eq!(security("/api/agents/{agent}/execute"), json!([all, { "caller.guide": [] }]),);
        assert_eq!(security("/api/agents"), Value::Null);
        assert_eq!(api["security"].is_array(), server_key.is_some());
        assert_eq!(schemes.contains_key("caller"), server_key.is_some());
        let operations = api["paths"].as_object().unwrap().values();
        let operations = operations.flat_map(|item| item.as_object().unwrap().values());
        let used = operations.filter_map(|operation| operation.get("security")?.as_array());
        for name in used.flatten().flat_map(|scheme| scheme.as_object().unwrap().keys()) {
            assert!(schemes.contains_key(name), "{name} is not described");
        }
    }
}

#[tokio::test]
async fn wrong_keys_are_limited_by_address_and_the_right_one_is_let_in() {
    let address = app(Some("server-key")).await;
    let routes =
        [("POST", "/open"), ("POST", "/report"), ("GET", "/metrics"), ("GET", "/api/agents")];
    for number in 0..10 {
        let (method, path) = routes[number % routes.len()];
        assert_eq!(ask(address, method, path, &format!("wrong-{number}")).await.status, 403);
    }
    for (method, path) in routes {
        let answer = ask(address, method, path, "wrong").await;
        answer.assert_error(429, "RESOURCE_EXHAUSTED");
        assert_eq!(answer.header("retry-after"), Some("60"), "{path}");
        let key = if path == "/report" { "report-key" } else { "server-key" };
        assert_eq!(ask(address, method, path, key).await.status, 200, "{path}: the right key");
        assert_eq!(ask(address, method, path, "").await.status, 401, "{path}: no key at all");
    }
    let wrong = format!("{STREAM}authorization: wrong\r\n");
    let stream = send(Client::connect(address).await, "POST", "/open", &wrong).await;
    stream.assert_error(429, "RESOURCE_EXHAUSTED");
    let other = TcpSocket::new_v4().unwrap();
    other.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let other = Client::of(other.connect(address).await.unwrap());
    assert_eq!(send(other, "POST", "/open", &wrong).await.status, 403, "another address");
}

#[tokio::test]
async fn the_limit_is_for_the_application_to_choose() {
    /// Takes its key from another header.
    struct HeaderKey;

    #[async_trait::async_trait]
    impl ContextProvider for HeaderKey {
        async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
            match request.header("x-key") {
                Some("right") => Ok(ActionContext::default()),
                _ => Err(Status::unauthenticated("no such key")),
            }
        }

        fn is_guess(&self, request: &RequestInfo<'_>) -> bool {
            request.headers.contains_key("x-key")
        }
    }
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("open", |_: Value| async { Ok(1) });
    let mut limits = Limits::default();
    limits.wrong_keys = 2;
    let address = serve(Server::new(&ai).auth(HeaderKey).limits(limits)).await;
    let mut statuses = Vec::new();
    for headers in ["", "", "", "x-key: 1\r\n", "x-key: 2\r\n", "x-key: 3\r\n", "x-key: right\r\n"]
    {
        let client = Client::connect(address).await;
        statuses.push(send(client, "POST", "/open", headers).await.status);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 200]);
}
