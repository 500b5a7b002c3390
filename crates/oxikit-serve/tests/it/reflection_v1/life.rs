//! The life of a runtime: its file, its id, its port, its end.

use std::fs;
use std::time::{Duration, Instant};

use oxikit::prelude::*;
use oxikit_serve::DevConfig;

use super::app::{runtime, runtime_with};
use crate::kit::{Client, PATIENCE};

#[tokio::test]
async fn the_file_tells_where_the_runtime_is_and_goes_with_it() {
    let runtime = runtime_with(|config| config.name = Some("my app".to_owned())).await;
    let files = runtime.files();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let content: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let (pid, port) = (std::process::id(), runtime.place().0.port());
    let timestamp = content["timestamp"].as_str().unwrap();
    assert!(timestamp.ends_with('Z') && timestamp.len() == 24, "{timestamp}");
    assert_eq!(
        content,
        json!({
            "id": format!("{pid}-{port}"),
            "pid": pid,
            "name": "my app",
            "reflectionServerUrl": runtime.tools.url(),
            "timestamp": timestamp,
            "genkitVersion": format!("rust/{}", env!("CARGO_PKG_VERSION")),
            "reflectionApiSpecVersion": 1,
        })
    );
    let name = file.file_name().unwrap().to_str().unwrap();
    let millis = name.strip_prefix(&format!("{pid}-{port}-")).unwrap().strip_suffix(".json");
    assert!(millis.unwrap().parse::<u64>().unwrap() > 1_700_000_000_000, "{name}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
        let folder = fs::metadata(file.parent().unwrap()).unwrap();
        assert_eq!(folder.permissions().mode() & 0o777, 0o700);
    }
    // Nothing is left of the writing, and Git does not see the file with the token.
    let genkit = runtime.project.path().join(".genkit");
    let entries = fs::read_dir(&genkit).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    assert_eq!(names, [".gitignore", "runtimes"]);
    let ignored = fs::read_to_string(genkit.join(".gitignore")).unwrap();
    assert!(ignored.lines().any(|line| line == "/runtimes/"), "{ignored}");

    let (address, file, began) = (runtime.place().0, file.clone(), Instant::now());
    let (_slow, _) = super::runs::start_slow(&runtime, "").await;
    runtime.tools.close().await;
    assert!(began.elapsed() < Duration::from_millis(900), "{:?}", began.elapsed());
    assert!(!file.exists());
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_dropped_handle_takes_its_file_along() {
    let runtime = runtime().await;
    let file = runtime.files().remove(0);
    drop(runtime.tools);
    assert!(!file.exists());
}

#[tokio::test]
async fn the_tools_can_end_it_and_the_application_goes_on() {
    for method in ["GET", "POST"] {
        let runtime = runtime().await;
        let file = runtime.files().remove(0);
        let answer = runtime.ask(method, "/api/__quitquitquit", "", "").await;
        assert_eq!((answer.status, answer.text()), (200, "OK"));
        let began = Instant::now();
        while file.exists() || tokio::net::TcpStream::connect(runtime.place().0).await.is_ok() {
            assert!(began.elapsed() < PATIENCE);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let call = oxikit_core::Call::new(oxikit_core::Payload::of(1));
        let output = runtime.ai.registry().run("/flow/countdown", call).await.unwrap();
        assert_eq!(output.to_value().unwrap(), json!("liftoff"));
        runtime.tools.close().await;
    }
}

#[tokio::test]
async fn the_same_id_is_in_the_file_and_in_the_health() {
    let first = runtime_with(|config| config.runtime_id = Some("mine".to_owned())).await;
    let second = runtime_with(|config| config.runtime_id = Some("mine".to_owned())).await;
    for (runtime, id, other) in [(&first, "mine", "mine-1"), (&second, "mine-1", "mine")] {
        assert_eq!(runtime.tools.id(), id);
        let content: Value =
            serde_json::from_slice(&fs::read(&runtime.files()[0]).unwrap()).unwrap();
        assert_eq!(content["id"], id);
        assert_eq!(runtime.get(&format!("/api/__health?id={id}")).await.status, 200);
        let wrong = runtime.get(&format!("/api/__health?id={other}")).await;
        assert_eq!((wrong.status, wrong.text()), (503, "Invalid runtime ID"));
    }
}

#[tokio::test]
async fn the_first_free_port_is_taken_and_a_fixed_one_must_be_free() {
    let first = runtime_with(|config| config.port = None).await;
    let second = runtime_with(|config| config.port = None).await;
    let (first_port, second_port) = (first.place().0.port(), second.place().0.port());
    assert!((3100..=3200).contains(&first_port) && (3100..=3200).contains(&second_port));
    assert!(first_port < second_port);
    let project = tempfile::tempdir().unwrap();
    let mut config = DevConfig::default();
    config.port = Some(first_port);
    config.project_root = Some(project.path().to_owned());
    let error = config.start(&first.ai).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    assert!(!project.path().join(".genkit").exists());
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_an_error_and_nothing_listens() {
    let project = tempfile::tempdir().unwrap();
    fs::write(project.path().join(".genkit"), "a file").unwrap();
    let probe = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = probe.local_addr().unwrap();
    drop(probe);
    let mut config = DevConfig::default();
    config.port = Some(address.port());
    config.project_root = Some(project.path().to_owned());
    config.start(&Oxikit::builder().build().unwrap()).await.unwrap_err();
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn connections_before_the_end_are_answered() {
    let runtime = runtime().await;
    let mut idle = Client::connect(runtime.place().0).await;
    idle.send(runtime.request("GET", "/api/envs", "", "")).await;
    assert_eq!(idle.answer().await.unwrap().text(), r#"["dev"]"#);
    let began = Instant::now();
    runtime.tools.close().await;
    // A connection that is only kept open does not hold the end up.
    assert!(began.elapsed() < Duration::from_millis(200), "{:?}", began.elapsed());
}
