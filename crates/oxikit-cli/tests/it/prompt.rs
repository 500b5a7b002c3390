//! `oxikit prompt`, on folders and with a running prompt manager, and an application that loads its
//! prompts from the manager.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use oxikit::prelude::*;
use oxikit_client::PromptManager;

use super::kit::{Ended, TIMEOUT, lines_of, oxikit, run, until};

const JOKE: &str = "---\nmodel: offline/demo\n---\n[[tone]] A joke about {{topic}}, please.";

fn write(dir: &Path, name: &str, text: &str) {
    let path = dir.join("prompts").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn prompts() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "joke.prompt", JOKE);
    write(dir.path(), "fragments/tone.md", "---\ntags: [style]\n---\nBe kind.");
    dir
}

/// A running `oxikit prompts`, killed when dropped.
struct Manager {
    child: Child,
    url: String,
}

impl Manager {
    fn start(dir: &Path, port: &str) -> Self {
        let mut command = oxikit(dir);
        command.args(["prompts", "--port", port]).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = lines_of(child.stdout.take().unwrap());
        let url = loop {
            let line = lines.recv_timeout(TIMEOUT).expect("the manager has ended");
            if let Some(start) = line.find("http://") {
                break line[start..].trim_end_matches('/').to_owned();
            }
        };
        Self { child, url }
    }

    fn run(&self, dir: &Path, arguments: &[&str]) -> Ended {
        let url = format!("--url={}", self.url);
        run(dir, &[&["prompt"], arguments, &[&*url]].concat())
    }

    fn port(&self) -> String {
        self.url.rsplit(':').next().unwrap().to_owned()
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn a_folder_is_checked_and_rendered_without_a_server() {
    let dir = prompts();
    let good = run(dir.path(), &["prompt", "lint", "prompts"]);
    assert_eq!((good.code, good.stdout.as_str()), (0, ""), "{good:?}");
    assert!(good.stderr.contains("2 prompts checked: 0 errors, 0 warnings"), "{good:?}");
    let arguments = ["prompt", "render", "joke", r#"{"topic":"tea"}"#, "--dir", "prompts"];
    let rendered = run(dir.path(), &arguments);
    let expected = "user: Be kind. A joke about tea, please.\n";
    assert_eq!((rendered.code, rendered.stdout.as_str()), (0, expected), "{rendered:?}");
    let preview = run(dir.path(), &[&arguments[..], &["--json"]].concat()).json();
    assert_eq!((&preview["model"], &preview["revs"]["tone"]), (&json!("offline/demo"), &json!(1)));

    write(dir.path(), "joke.prompt", "---\nmodle: x\n---\nHi\n[[nobody]] {{#if topic}}");
    let bad = run(dir.path(), &["prompt", "lint", "prompts"]);
    assert_eq!(bad.code, 1, "{bad:?}");
    let lines: Vec<_> = bad.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{bad:?}");
    assert!(lines[0].starts_with("prompts/fragments/tone.md: warning: no document"), "{bad:?}");
    assert!(lines[1].starts_with("prompts/joke.prompt:2: warning: nothing reads"), "{bad:?}");
    let missing = "prompts/joke.prompt:5: error: there is no document `nobody`";
    assert!(lines.iter().any(|line| line.starts_with(missing)), "{bad:?}");
    assert!(lines.iter().any(|line| line.ends_with("(template)")), "{bad:?}");
    let report = run(dir.path(), &["prompt", "lint", "prompts", "--json"]);
    assert_eq!((report.code, &report.json()["documents"]), (1, &json!(2)));
    assert_eq!(run(dir.path(), &["prompt", "lint", "nowhere"]).code, 2);
    assert!(!dir.path().join(".oxikit").exists(), "nothing is written");
}

#[test]
fn the_prompts_of_a_manager_are_listed_shown_compared_and_labelled() {
    let dir = prompts();
    let manager = Manager::start(dir.path(), "0");
    let here = |arguments: &[&str]| manager.run(dir.path(), arguments);
    let list = here(&["list", "--json"]).json();
    assert_eq!((&list[0]["id"], &list[1]["id"]), (&json!("joke"), &json!("tone")));
    let tagged = here(&["list", "--tag", "style"]);
    assert_eq!(tagged.stdout.lines().count(), 2, "{tagged:?}");
    let shown = here(&["show", "tone"]);
    assert_eq!((shown.code, shown.stdout.as_str()), (0, "Be kind.\n"), "{shown:?}");
    assert_eq!(here(&["show", "nobody"]).code, 1);
    assert_eq!(here(&["lint"]).code, 0);

    let labelled = here(&["label", "tone", "production"]);
    assert_eq!(labelled.stdout, "production of tone is revision 1\n", "{labelled:?}");
    write(dir.path(), "fragments/tone.md", "---\ntags: [style]\n---\nBe very kind.");
    let revisions = || here(&["history", "tone", "--json"]).json()["revisions"].clone();
    assert!(until(TIMEOUT, || revisions().as_array().is_some_and(|it| it.len() == 2)));
    let history = here(&["history", "tone"]);
    assert!(history.stdout.lines().nth(1).unwrap().contains("external"), "{history:?}");
    assert!(history.stdout.lines().nth(2).unwrap().ends_with("production"), "{history:?}");
    for arguments in [&["diff", "tone"][..], &["diff", "tone", "production", "2"]] {
        let diff = here(arguments);
        assert!(diff.stdout.contains("- Be kind.\n+ Be very kind.\n"), "{diff:?}");
    }

    let render = |more: &[&str]| here(&[&["render", "joke", r#"{"topic":"tea"}"#], more].concat());
    assert!(render(&[]).stdout.starts_with("user: Be very kind. A joke"), "the newest");
    let unlabelled = render(&["--label", "production"]);
    assert!(unlabelled.stderr.contains("no prompt `joke` has the label"), "{unlabelled:?}");
    here(&["label", "joke", "production"]);
    let released = render(&["--label", "production"]);
    assert!(released.stdout.starts_with("user: Be kind. A joke"), "{released:?}");
    assert_eq!(here(&["label", "joke", "--json"]).json()["labels"], json!({"production": 1}));
    assert_eq!(here(&["label", "joke", "production", "--remove"]).code, 0);
    assert_eq!(here(&["label", "joke", "--json"]).json()["labels"], json!({}));
}

#[test]
fn a_manager_that_is_not_there_is_an_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], code: i32, text: &str| {
        let ended = run(dir.path(), arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(text), "{arguments:?}: {ended:?}");
    };
    check(&["prompt", "list", "--url", "http://127.0.0.1:9"], 3, "oxikit prompts");
    check(&["prompt", "list"], 3, "--url");
    check(&["prompt", "list", "--url", "ftp://x"], 2, "http://");
    check(&["prompt", "render", "x", "[]", "--url", "http://127.0.0.1:9"], 2, "JSON object");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_uses_the_revisions_of_its_label() {
    let dir = prompts();
    let manager = Manager::start(dir.path(), "0");
    for id in ["joke", "tone"] {
        assert_eq!(manager.run(dir.path(), &["label", id, "production"]).code, 0);
    }
    let source = PromptManager::new(&manager.url).unwrap().label("production");
    let ai = Oxikit::builder().plugin(Offline).build().unwrap();
    let loaded = ai.load_prompts_from(source).await.unwrap();
    assert_eq!(loaded.loaded, ["joke"]);
    let text = async || {
        let options = ai.prompt("joke", json!({"topic": "tea"})).render().await.unwrap();
        options.messages[0].text()
    };
    let becomes = async |expected: &str| {
        let waiting = async {
            while text().await != expected {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let done = tokio::time::timeout(TIMEOUT, waiting).await;
        assert!(done.is_ok(), "{expected:?} and not {:?}", text().await);
    };
    assert_eq!(text().await, "Be kind. A joke about tea, please.");

    // An edit changes nothing before it is released.
    write(dir.path(), "fragments/tone.md", "Be brief.");
    let newest = || manager.run(dir.path(), &["show", "tone"]).stdout;
    assert!(until(TIMEOUT, || newest() == "Be brief.\n"));
    assert_eq!(text().await, "Be kind. A joke about tea, please.");
    assert_eq!(manager.run(dir.path(), &["label", "tone", "production"]).code, 0);
    becomes("Be brief. A joke about tea, please.").await;

    // Without the manager the last prompts stay in use.
    let port = manager.port();
    drop(manager);
    assert_eq!(text().await, "Be brief. A joke about tea, please.");
    let manager = Manager::start(dir.path(), &port);
    assert_eq!(manager.run(dir.path(), &["label", "tone", "production", "1"]).code, 0);
    becomes("Be kind. A joke about tea, please.").await;
}
