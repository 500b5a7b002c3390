//! One table of attacks, run against every route of every server: Action HTTP with the agents'
//! API, the operations pages and the metrics, reflection V1, the three ports of the developer
//! tools, and the prompt manager. A new route of any of them is attacked with all others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use oxikit::MemorySessions;
use oxikit::prelude::*;
use oxikit_core::ports::memory::MemoryRevisions;
use oxikit_http::Token;
use oxikit_prompts::{
    PromptServer, PromptServerOptions, Prompts, PromptsOptions, prompt_server_route_table,
};
use oxikit_serve::a2a::A2aAgent;
use oxikit_serve::{DevConfig, DevTools, Server};
use oxikit_testing::manager::soon;
use oxikit_testing::tools::{Kit, kit};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// Name, header lines and response status of requests that must be rejected before their route
/// does anything. `{port}` is the port of the server. The status is the same at all servers.
const ATTACKS: &[(&str, &str, u16)] = &[
    ("foreign host", "host: evil.example\r\n", 403),
    ("foreign host with our port", "host: evil.example:{port}\r\n", 403),
    ("host with a trailing dot", "host: localhost.:{port}\r\n", 403),
    ("host of another domain", "host: localhost.evil.example\r\n", 403),
    ("host 0.0.0.0", "host: 0.0.0.0:{port}\r\n", 403),
    ("doubled host", "host: localhost:{port}\r\nhost: evil.example\r\n", 400),
    ("foreign origin", "host: localhost:{port}\r\norigin: http://evil.example\r\n", 403),
    ("null origin", "host: localhost:{port}\r\norigin: null\r\n", 403),
    ("origin of another port", "host: localhost:{port}\r\norigin: http://localhost:1\r\n", 403),
    (
        "doubled origin",
        "host: localhost:{port}\r\norigin: http://localhost:{port}\r\norigin: null\r\n",
        400,
    ),
    (
        "cross-site without an origin",
        "host: localhost:{port}\r\nsec-fetch-site: cross-site\r\n",
        403,
    ),
    ("same-site without an origin", "host: localhost:{port}\r\nsec-fetch-site: same-site\r\n", 403),
    ("two body lengths", "host: localhost:{port}\r\ntransfer-encoding: chunked\r\n", 400),
    ("obsolete line folding", "host: localhost:{port}\r\nx-a: b\r\n c\r\n", 400),
];

/// Name, header lines and response status of requests with a valid cookie of the developer tools that
/// must be rejected. `{cookie}` is `name=value`.
const COOKIE_ATTACKS: &[(&str, &str, u16)] = &[
    ("cross-site", "cookie: {cookie}\r\nsec-fetch-site: cross-site\r\n", 403),
    ("page of another port", "cookie: {cookie}\r\nsec-fetch-site: same-site\r\n", 403),
    ("origin of another port", "cookie: {cookie}\r\norigin: http://localhost:1\r\n", 403),
    ("null origin", "cookie: {cookie}\r\norigin: null\r\n", 403),
    ("URL that a person has opened", "cookie: {cookie}\r\nsec-fetch-site: none\r\n", 403),
    ("browser that does not say where from", "cookie: {cookie}\r\n", 401),
    ("forged", "cookie: {cookie}0\r\nsec-fetch-site: same-origin\r\n", 401),
    ("under another name", "cookie: x{cookie}\r\nsec-fetch-site: same-origin\r\n", 401),
    ("empty", "cookie: {name}=\r\nsec-fetch-site: same-origin\r\n", 401),
];

const HOST: &str = "host: localhost:{port}\r\n";

/// A server and all of its routes, with the credentials that it accepts.
struct Target {
    name: &'static str,
    address: SocketAddr,
    routes: Vec<(&'static str, String)>,
    credentials: String,
}

/// Keeps the servers running until the test ends.
struct Servers {
    targets: Vec<Target>,
    _tools: Kit,
    _prompts: [PromptServer; 2],
    _runtime: DevTools,
    _application: JoinHandle<()>,
}

/// A path with ids in place of its placeholders.
fn concrete(path: &str) -> String {
    let fill = |segment| if str::starts_with(segment, '{') { "x" } else { segment };
    path.split('/').map(fill).collect::<Vec<_>>().join("/")
}

/// The address and the path of a URL.
fn split(url: &str) -> (SocketAddr, String) {
    let rest = url.split_once("://").unwrap().1;
    let (address, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    (address.parse().unwrap(), path.to_owned())
}

fn application() -> Oxikit {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap();
    ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
    let agent = Agent::builder("helper").system("Help.").store(MemorySessions::default());
    ai.define_agent(agent).unwrap();
    ai
}

async fn servers() -> Servers {
    let ai = application();
    let agent = ai.as_ref().get("/agent/helper").unwrap();
    let server = Server::new(&ai).agents_api().a2a(A2aAgent::new(agent)).port(0);
    let paths: Vec<String> = server.paths().iter().map(|path| concrete(path)).collect();
    let by_both = |path: &String| [("GET", path.clone()), ("POST", path.clone())];
    let bound = server.bind().await.unwrap();
    let mut targets = vec![Target {
        name: "Action HTTP, agents' API, A2A, pages and metrics",
        address: bound.local_addr().unwrap(),
        routes: paths.iter().flat_map(by_both).collect(),
        credentials: String::new(),
    }];
    let application = tokio::spawn(bound.run(std::future::pending()));

    let tools = kit().await;
    let mut config = DevConfig::default();
    (config.project_root, config.port) = (Some(tools.root().to_owned()), Some(0));
    let runtime = config.with_agents_api(oxikit_serve::dev_agents()).start(&ai).await.unwrap();
    let (address, prefix) = split(runtime.url().unwrap());
    let own = oxikit_reflection::v1_route_table().into_iter();
    let own = own.map(|(method, path)| (method, path.to_owned()));
    let agents = paths.iter().filter(|path| path.starts_with("/api/agents")).flat_map(by_both);
    let below = |(method, path)| (method, format!("{prefix}{path}"));
    let routes = own.chain(agents).map(below).collect();
    targets.push(Target { name: "reflection V1", address, routes, credentials: String::new() });

    let urls = tools.server.urls().clone();
    let routes = oxikit_devtools::route_table().into_iter();
    targets.push(Target {
        name: "API of the developer tools",
        address: split(urls.base()).0,
        routes: routes.map(|(method, path)| (method, concrete(&path))).collect(),
        credentials: format!("authorization: Bearer {}\r\n", tools.token()),
    });
    let (address, prefix) = split(&urls.telemetry);
    // The port also accepts posts without the token.
    let both = |(method, path)| {
        let path = concrete(path);
        [(method, format!("{prefix}{path}")), (method, path)]
    };
    let routes = oxikit_traces::telemetry_route_table().into_iter().flat_map(both).collect();
    targets.push(Target { name: "port for spans", address, routes, credentials: String::new() });
    let (address, path) = split(&urls.reflection);
    let routes = vec![("GET", path)];
    targets.push(Target { name: "port for runtimes", address, routes, credentials: String::new() });
    let token = Token::random();
    let credentials = format!("authorization: Bearer {}\r\n", token.reveal());
    let guarded = prompt_server(tools.root(), Some(token)).await;
    let open = prompt_server(tools.root(), None).await;
    let routes = || {
        let routes = prompt_server_route_table().into_iter();
        routes.map(|(method, path)| (method, concrete(path))).collect()
    };
    targets.push(Target {
        name: "prompt manager with a token",
        address: split(guarded.url()).0,
        routes: routes(),
        credentials,
    });
    targets.push(Target {
        name: "prompt manager",
        address: split(open.url()).0,
        routes: routes(),
        credentials: String::new(),
    });
    let prompts = [guarded, open];
    Servers {
        targets,
        _tools: tools,
        _prompts: prompts,
        _runtime: runtime,
        _application: application,
    }
}

async fn prompt_server(folder: &std::path::Path, token: Option<Token>) -> PromptServer {
    let store = Arc::new(MemoryRevisions::default());
    let prompts = Prompts::open(PromptsOptions::new([folder]), store).await.unwrap();
    let mut options = PromptServerOptions::default().on_any_port();
    options.token = token;
    PromptServer::start(prompts, options).await.unwrap()
}

impl Target {
    /// Sends one request on a connection of its own. Returns the status and the head.
    async fn send(&self, method: &str, path: &str, headers: &str) -> (u16, String) {
        let headers = headers.replace("{port}", &self.address.port().to_string());
        let credentials = &self.credentials;
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{headers}{credentials}content-type: application/json\r\n\
             connection: close\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            if soon(stream.read_buf(&mut head)).await.unwrap() == 0 {
                break;
            }
        }
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.unwrap_or_default(), head)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attack_is_rejected_by_every_route_of_every_server() {
    let servers = servers().await;
    let mut attacks = BTreeMap::new();
    for target in &servers.targets {
        for (method, path) in &target.routes {
            for (attack, headers, expected) in ATTACKS {
                let (status, head) = target.send(method, path, headers).await;
                let what = format!("{}: {method} {path}: {attack}\n{head}", target.name);
                assert_eq!(status, *expected, "{what}");
                assert!(!head.contains("access-control-allow-origin"), "{what}");
                *attacks.entry(target.name).or_insert(0) += 1;
            }
        }
    }
    assert_eq!(attacks.len(), 7, "{attacks:?}");
    println!("{attacks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_tokens_are_counted_everywhere_and_do_not_lock_out_the_right_one() {
    let servers = servers().await;
    let zeros = "0".repeat(96);
    // The first server has keys of its own, and the last one has no token.
    let last = servers.targets.len() - 1;
    for target in &servers.targets[1..last] {
        let (method, path) = &target.routes[0];
        let token = path.split('/').nth(2).filter(|token| token.len() == zeros.len());
        let (method, path, wrong_path) = match token {
            Some(token) => (*method, path.clone(), path.replace(token, &zeros)),
            None => {
                let reads = ["/api/v1/info", "/api/prompts/all"];
                let known = |path: &str| target.routes.iter().any(|(_, known)| known == path);
                let path = reads.into_iter().find(|path| known(path)).unwrap().to_owned();
                ("GET", path.clone(), path)
            }
        };
        let credentials = match token {
            Some(_) => String::new(),
            None => format!("authorization: Bearer {zeros}\r\n"),
        };
        let wrong = Target { credentials, routes: Vec::new(), ..*target };
        let mut statuses = Vec::new();
        for _ in 0..12 {
            statuses.push(wrong.send(method, &wrong_path, HOST).await.0);
        }
        let expected = [[401; 10].as_slice(), &[429; 2]].concat();
        assert_eq!(statuses, expected, "{}", target.name);
        let (status, head) = target.send(method, &path, HOST).await;
        assert!(!matches!(status, 0 | 401 | 403 | 429), "{}\n{head}", target.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_or_forged_cookie_opens_no_route_of_the_developer_tools() {
    let servers = servers().await;
    let name = "API of the developer tools";
    let tools = servers.targets.iter().find(|target| target.name == name).unwrap();
    let urls = servers._tools.server.urls();
    let code = urls.page.split_once("/#code=").unwrap().1;
    let request = servers._tools.call_without_token(reqwest::Method::POST, "/api/v1/sign-in");
    let response = request.json(&serde_json::json!({"code": code})).send().await.unwrap();
    let cookie = response.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let without_token = Target { credentials: String::new(), routes: Vec::new(), ..*tools };
    let own = format!("{HOST}cookie: {cookie}\r\nsec-fetch-site: same-origin\r\n");
    assert_eq!(without_token.send("GET", "/api/v1/info", &own).await.0, 200);
    let is_open = |path: &str| oxikit_prompts::is_page_path(path) || path == "/api/v1/sign-in";
    for (method, path) in tools.routes.iter().filter(|(_, path)| !is_open(path)) {
        for (attack, headers, expected) in COOKIE_ATTACKS {
            let headers = headers.replace("{cookie}", &cookie);
            let headers = headers.replace("{name}", cookie.split('=').next().unwrap());
            let (status, head) =
                without_token.send(method, path, &format!("{HOST}{headers}")).await;
            assert_eq!(status, *expected, "{method} {path}: {attack}\n{head}");
        }
    }
}
