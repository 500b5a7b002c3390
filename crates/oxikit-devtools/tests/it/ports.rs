//! The ports, the files with their URLs, and the tokens.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oxikit_core::Status;
use oxikit_devtools::{
    AppControl, AppState, AppStatus, DevServer, DevServerOptions, ManagerFile, PortChoice,
};
use reqwest::Method;
use serde_json::{Value, json};

use oxikit_testing::manager::{soon, until};
use oxikit_testing::tools::{kit, kit_with, read};

#[tokio::test]
async fn the_urls_are_in_private_files_while_the_server_runs() {
    let kit = kit().await;
    let (data, urls) = (kit.root().join(".oxikit"), kit.server.urls().clone());
    let file = ManagerFile::read(&data).unwrap();
    assert_eq!((file.pid, file.api_url.as_str()), (std::process::id(), urls.base()));
    assert_eq!((&file.reflection_url, &file.telemetry_url), (&urls.reflection, &urls.telemetry));
    let token = file.token.clone();
    assert!(!format!("{file:?}").contains(&token));
    let tools = kit.root().join(format!(".genkit/servers/tools-{}.json", std::process::id()));
    let official: Value = serde_json::from_slice(&fs::read(&tools).unwrap()).unwrap();
    assert_eq!(official["url"], urls.api);
    #[cfg(unix)]
    for (path, mode) in [
        (data.clone(), 0o700),
        (data.join("manager.json"), 0o600),
        (data.join("devtools.db"), 0o600),
        (data.join("project.db"), 0o600),
        (tools.clone(), 0o600),
    ] {
        use std::os::unix::fs::PermissionsExt;
        let is = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(is, mode, "{}", path.display());
    }
    kit.server.close().await;
    assert!(!data.join("manager.json").exists() && !tools.exists());
    assert!(data.join("devtools.db").exists());
}

#[tokio::test]
async fn git_sees_nothing_of_what_the_tools_write() {
    let git = |dir: &Path, args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(dir).args(args).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let kit = kit().await;
    let _runtime = kit.runtime("one").await;
    until(|| kit.root().join(".genkit/runtimes").exists()).await;
    assert!(kit.root().join(".genkit/servers").exists());
    git(kit.root(), &["init", "--quiet"]);
    let datasets = kit.root().join(".genkit/datasets");
    fs::create_dir(&datasets).unwrap();
    fs::write(datasets.join("mine.json"), "[]").unwrap();
    let seen = git(kit.root(), &["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(seen, "?? .genkit/datasets/mine.json\n");

    // An existing file is not changed.
    let ignore = kit.root().join(".genkit/.gitignore");
    fs::write(&ignore, "*\n").unwrap();
    let second = kit.runtime("two").await;
    until(|| fs::read_dir(kit.root().join(".genkit/runtimes")).unwrap().count() == 2).await;
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    drop(second);
}

#[tokio::test]
async fn a_server_that_ends_leaves_the_file_of_its_successor() {
    let kit = kit().await;
    let options = DevServerOptions::new(kit.root()).on_any_ports();
    let second = DevServer::start(options).await.unwrap();
    let base = second.urls().base().to_owned();
    let data = kit.root().join(".oxikit");
    kit.server.close().await;
    assert_eq!(ManagerFile::read(&data).unwrap().api_url, base);
    second.close().await;
    assert!(ManagerFile::read(&data).is_none());
}

#[tokio::test]
async fn a_port_that_is_in_use_is_skipped_or_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let kit = kit_with(|mut options| {
        options.api_port = PortChoice::FirstFree(port..=port.saturating_add(50));
        options
    })
    .await;
    assert!(!kit.server.urls().base().ends_with(&format!(":{port}")));
    let mut options = DevServerOptions::new(kit.root()).on_any_ports();
    options.telemetry_port = PortChoice::Fixed(port);
    let error = DevServer::start(options).await.unwrap_err();
    assert!(error.to_string().contains(&format!("telemetry port {port}")), "{error}");
}

#[tokio::test]
async fn runtimes_connect_by_the_variables_and_are_listed() {
    let kit = kit().await;
    let env = kit.server.env();
    let value = |name: &str| env.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    assert_eq!(value("GENKIT_ENV"), "dev");
    assert_eq!(value("GENKIT_REFLECTION_V2_SERVER"), kit.server.urls().reflection);
    assert_eq!(value("GENKIT_TELEMETRY_SERVER"), kit.server.urls().telemetry);
    let _one = kit.runtime("one").await;
    let _two = kit.runtime("two").await;
    let (status, list) = kit.get("/api/v1/runtimes").await;
    assert_eq!(status, 200);
    assert_eq!(list["current"], "two");
    let ids: Vec<_> = list["runtimes"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, ["one", "two"]);
    assert!(!list.to_string().contains("/r/"), "{list}");
}

#[tokio::test]
async fn the_list_of_runtimes_is_sent_whenever_it_changes() {
    let kit = kit().await;
    let request = kit.call(Method::GET, "/api/v1/runtimes/events");
    let mut events = soon(request.send()).await.unwrap();
    assert_eq!(events.headers()["content-type"], "text/event-stream");
    let first = soon(events.chunk()).await.unwrap().unwrap();
    assert_eq!(first, "id: 0\nevent: runtimes\ndata: {\"runtimes\":[],\"current\":null}\n\n");
    let _runtime = kit.runtime("one").await;
    let second = soon(events.chunk()).await.unwrap().unwrap();
    let second = str::from_utf8(&second).unwrap();
    assert!(second.starts_with("id: 1\n") && second.contains(r#""current":"one""#), "{second}");
    kit.server.close().await;
    assert_eq!(soon(events.chunk()).await.unwrap(), None);
}

#[tokio::test]
async fn the_token_may_stand_in_the_path() {
    let kit = kit().await;
    let url = format!("{}/api/v1/info", kit.server.urls().api);
    let (status, info) = read(soon(kit.client.get(url).send()).await.unwrap()).await;
    assert_eq!((status, &info["version"]), (200, &json!(env!("CARGO_PKG_VERSION"))));
    let (status, _) =
        read(soon(kit.call_without_token(Method::GET, "/api/v1/info").send()).await.unwrap()).await;
    assert_eq!(status, 401);
    let (status, page) =
        read(soon(kit.call_without_token(Method::GET, "/").send()).await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(!page.to_string().contains(kit.token()));
}

#[derive(Debug, Default)]
struct Child {
    restarts: AtomicU32,
    stops: AtomicU32,
}

#[async_trait::async_trait]
impl AppControl for Child {
    fn status(&self) -> AppStatus {
        AppStatus {
            state: AppState::Running,
            pid: Some(7),
            command: vec!["app".to_owned(), "--token=sk-ant-REDACTED".to_owned()],
            exit: None,
            last_lines: vec!["calling with sk-ant-REDACTED".to_owned(), "ready".to_owned()],
            restarts: self.restarts.load(Ordering::Relaxed),
        }
    }

    async fn restart(&self) -> Result<(), Status> {
        self.restarts.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn stop(&self) -> Result<(), Status> {
        self.stops.fetch_add(1, Ordering::Relaxed);
        Err(Status::failed_precondition("it does not want to"))
    }
}

#[tokio::test]
async fn the_application_is_shown_restarted_and_stopped() {
    let kit = kit().await;
    let (status, refused) = kit.get("/api/v1/app").await;
    assert_eq!((status, &refused["status"]), (400, &json!("FAILED_PRECONDITION")));
    let child = Arc::new(Child::default());
    kit.server.set_app(child.clone());
    let (status, app) = kit.post("/api/v1/app/restart", json!({})).await;
    assert_eq!((status, &app["state"], &app["restarts"]), (200, &json!("running"), &json!(1)));
    assert!(!app.to_string().contains("abcdefgh"), "{app}");
    assert_eq!(app["lastLines"][1], "ready");
    let (status, refused) = kit.post("/api/v1/app/stop", json!({})).await;
    assert_eq!((status, &refused["message"]), (400, &json!("it does not want to")));
    assert_eq!(child.stops.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_stream_ends_after_the_time_that_its_reader_says() {
    let kit = kit().await;
    for path in ["runtimes/events", "traces/events", "traces/t1/events"] {
        let path = format!("/api/v1/{path}?seconds=0");
        let answer = soon(kit.call(Method::GET, &path).send()).await.unwrap();
        assert_eq!(answer.headers()["content-type"], "text/event-stream", "{path}");
        soon(answer.text()).await.unwrap();
        let (status, refused) = kit.get(&path.replace("=0", "=-1")).await;
        let message = "`seconds` cannot be read: it is a number from 0 to 86400";
        assert_eq!((status, &refused["message"]), (400, &json!(message)), "{path}");
    }
}

#[tokio::test]
async fn what_is_refused_by_a_route_is_json() {
    let kit = kit().await;
    for path in ["/api/v1/traces/%ff", "/api/v1/actions/%ff", "/api/agents/%ff"] {
        let (status, refused) = kit.get(path).await;
        assert_eq!((status, &refused["status"]), (400, &json!("INVALID_ARGUMENT")), "{path}");
    }
    let wrong = kit.post("/api/v1/traces", json!({})).await;
    assert_eq!((wrong.0, &wrong.1["status"]), (405, &json!("INVALID_ARGUMENT")));
    assert_eq!(kit.get("/api/v1/nothing").await.0, 404);
}
