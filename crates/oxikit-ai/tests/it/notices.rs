//! Mistakes in how an application is put together: a developer who has set up no log
//! reads them on the standard error.
//!
//! The log is one for the whole process, so each test runs itself again as a process of
//! its own: there the application is made.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxikit::prelude::*;

/// Names the folder in which the process of its own works.
const FOLDER: &str = "OXIKIT_TEST_FOLDER";
/// Set if that process has a log.
const WITH_LOG: &str = "OXIKIT_TEST_LOG";

/// The standard error of a process that makes this application, without and
/// with a log. `None` in that process itself.
fn written(test: &str, folder: &Path, application: fn()) -> Option<[String; 2]> {
    if std::env::var_os(FOLDER).is_some() {
        if std::env::var_os(WITH_LOG).is_some() {
            tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
        }
        application();
        return None;
    }
    let run = |has_log: bool| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &format!("notices::{test}"), "--nocapture"]);
        command.current_dir(folder).env(FOLDER, folder).env_remove("RUST_LOG");
        if has_log {
            command.env(WITH_LOG, "1");
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    Some([run(false), run(true)])
}

/// Both texts have a line with this level and all these words.
#[track_caller]
fn check([plain, log]: &[String; 2], level: &str, words: &[&str]) {
    let has = |text: &str, begin: &str| {
        text.lines()
            .any(|line| line.contains(begin) && words.iter().all(|word| line.contains(word)))
    };
    assert!(has(plain, &format!("oxikit: {level}: ")), "{words:?} in {plain}");
    let level = if level == "warning" { " WARN " } else { "ERROR " };
    assert!(has(log, level), "{words:?} in {log}");
    assert!(!log.contains("oxikit: "), "reported twice: {log}");
}

#[test]
fn broken_prompts_and_unread_keys_are_reported_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let prompts = folder.path().join("prompts");
    fs::create_dir(&prompts).unwrap();
    let files = [
        ("bad", "---\nmodel: x\n---\nHi {{#if a}}there"),
        ("yaml", "---\nmodel: [x\n---\nHi"),
        ("keys", "---\nmodle: x\ninput:\n  schema:\n    a: string\n  defualt: {}\n---\nHi"),
        ("own", "---\nmodel: x\nowner: a\nmy.owner: a\nmetadata: {owner: a}\ntags: [a]\n---\nHi"),
        ("later", "{{shout name}}"),
    ];
    for (name, text) in files {
        fs::write(prompts.join(format!("{name}.prompt")), text).unwrap();
    }
    let application = || {
        let ai = Oxikit::builder().build().unwrap();
        ai.load_prompts("prompts").unwrap();
        ai.define_helper("shout", |args, _| Ok(args[0].clone()));
    };
    let test = "broken_prompts_and_unread_keys_are_reported_at_the_start";
    let Some(written) = written(test, folder.path(), application) else { return };
    check(&written, "error", &["prompts/bad.prompt is broken", "add `{{/if}}` (line 4, column 4)"]);
    check(&written, "error", &["prompts/yaml.prompt is broken", "line 2"]);
    check(&written, "warning", &["keys.prompt", "key `modle` (line 2)", "did you mean `model`?"]);
    let words = ["keys.prompt", "`defualt` of `input` (line 6)", "did you mean `default`?"];
    check(&written, "warning", &words);
    check(&written, "warning", &["own.prompt", "key `owner` (line 3)", "`metadata`", "`my.owner`"]);
    assert_eq!(written[0].matches("oxikit: ").count(), 5, "{}", written[0]);
    assert!(!written[0].contains("later.prompt"), "its helper is defined later: {}", written[0]);
}

#[test]
fn two_definitions_of_one_name_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("prompts")).unwrap();
    fs::write(folder.path().join("prompts/joke.prompt"), "Hi").unwrap();
    let application = || {
        let ai = Oxikit::builder().build().unwrap();
        for answer in [1, 2] {
            ai.define_flow("twice", move |(): ()| async move { Ok(answer) });
        }
        let tool = ai.define_tool(Tool::new("add", "Adds.", |n: u8| async move { Ok(n) }));
        ai.define_tool(tool);
        ai.define_prompt(Prompt::builder("greet").prompt("one")).unwrap();
        ai.define_prompt(Prompt::builder("greet").prompt("two")).unwrap();
        ai.define_prompt(Prompt::builder("joke").prompt("in code")).unwrap();
        let prompts = ai.load_prompts("prompts").unwrap();
        assert_eq!(prompts.warnings.len(), 1, "{prompts:?}");
        ai.define_helper("shout", |args, _| Ok(args[0].clone()));
    };
    let test = "two_definitions_of_one_name_are_reported";
    let Some(written) = written(test, folder.path(), application) else { return };
    check(&written, "warning", &["two definitions of the flow `twice`", "another name"]);
    check(&written, "warning", &["two definitions of the prompt `greet`"]);
    check(&written, "warning", &["two definitions of the prompt `joke`", "joke.prompt replaces"]);
    assert_eq!(written[0].matches("oxikit: ").count(), 3, "{}", written[0]);
}

#[test]
fn an_agent_with_a_store_outside_of_a_runtime_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let application = || {
        let ai = Oxikit::builder().build().unwrap();
        let store = oxikit::MemorySessions::default();
        ai.define_agent(Agent::builder("guide").system("You know the town.").store(store)).unwrap();
    };
    let test = "an_agent_with_a_store_outside_of_a_runtime_is_reported";
    let Some(written) = written(test, folder.path(), application) else { return };
    check(&written, "warning", &["the agent `guide`", "outside of a Tokio runtime"]);
}
