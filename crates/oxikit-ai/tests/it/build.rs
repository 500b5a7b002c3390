//! Mistakes in how an application is put together fail its start.

use std::fs;
use std::time::Duration;

use oxikit::prelude::*;
use oxikit::wire::GenerateResponse;
use oxikit::{Call, Model, OxikitBuilder, Plugin};

/// Maximum time until a changed prompt file is loaded again. The files are looked at every two
/// seconds at the latest; a machine that needs longer than this has lost the watching thread.
const MAX_RELOAD: Duration = Duration::from_secs(60);

/// A plugin whose installation is this function.
struct Defines(fn(&Oxikit) -> Result<()>);

impl Plugin for Defines {
    fn name(&self) -> &str {
        "defines"
    }

    fn install(&self, ai: &Oxikit) -> Result<()> {
        (self.0)(ai)
    }
}

#[track_caller]
fn check(builder: OxikitBuilder, code: StatusCode, parts: &[&str]) {
    let status = builder.build().unwrap_err();
    assert_eq!(status.code(), code, "{status:?}");
    let report = status.report();
    assert!(parts.iter().all(|part| report.contains(part)), "{parts:?} in {report}");
}

fn prompt_folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(format!("{name}.prompt")), text).unwrap();
    }
    folder
}

#[test]
fn a_missing_prompt_directory_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prompts");
    let parts = ["the prompt directory cannot be read", "No such file", path.to_str().unwrap()];
    check(Oxikit::builder().prompt_dir(&path), StatusCode::InvalidArgument, &parts);
}

#[test]
fn a_directory_with_broken_prompts_is_an_error_that_names_all_of_them() {
    let folder = prompt_folder(&[
        ("bad", "---\nmodel: x\n---\nHi {{#if a}}there"),
        ("good", "Hi"),
        ("yaml", "---\nmodel: [x\n---\nHi"),
    ]);
    let parts =
        ["bad.prompt is broken", "add `{{/if}}` (line 4, column 4)", "yaml.prompt", "line 2"];
    check(Oxikit::builder().prompt_dir(folder.path()), StatusCode::InvalidArgument, &parts);
}

#[test]
fn a_prompt_may_name_a_helper_that_is_defined_after_the_start() {
    let folder = prompt_folder(&[("later", "{{shout name}}")]);
    let ai = Oxikit::builder().prompt_dir(folder.path()).build().unwrap();
    ai.define_helper("shout", |args, _| Ok(args[0].clone()));
    assert!(ai.registry().get("/prompt/later").is_some());
}

#[tokio::test]
async fn a_file_that_breaks_while_the_application_runs_only_fails_its_own_prompt() {
    let folder = prompt_folder(&[("one", "first"), ("two", "second")]);
    let ai = Oxikit::builder()
        .plugin(Offline)
        .default_model("offline/demo")
        .prompt_dir(folder.path())
        .build()
        .unwrap();
    ai.prompt("one", ()).await.unwrap();
    fs::write(folder.path().join("one.prompt"), "{{#if a}}there").unwrap();
    // The watching thread notifies nobody when it has loaded the files, so the test has to ask.
    let reload = async {
        while ai.prompt("one", ()).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let reloaded = tokio::time::timeout(MAX_RELOAD, reload).await;
    reloaded.expect("the prompt directory was not loaded again: `one` still has its first text");
    ai.prompt("two", ()).await.unwrap();
}

#[test]
fn a_plugin_that_fails_is_an_error_that_names_it() {
    let plugin = Defines(|_| Err(Status::failed_precondition("there is no key")));
    let parts = ["the plugin `defines` cannot be installed", "there is no key"];
    check(Oxikit::builder().plugin(plugin), StatusCode::FailedPrecondition, &parts);
}

#[test]
fn one_name_that_two_plugins_define_is_an_error() {
    let model = |ai: &Oxikit| {
        let model = Model::builder("acme/one");
        ai.define_model(model.handler(|_, _, _| async { Ok(GenerateResponse::default()) }));
        Ok(())
    };
    let builder = Oxikit::builder().plugin(Defines(model)).plugin(Defines(model));
    check(builder, StatusCode::AlreadyExists, &["two definitions of the model `acme/one`"]);
}

#[test]
fn a_prompt_file_with_the_name_of_a_plugins_prompt_is_an_error() {
    let folder = prompt_folder(&[("joke", "Hi")]);
    let plugin =
        Defines(|ai| ai.define_prompt(Prompt::builder("joke").prompt("in code")).map(drop));
    let parts = ["two definitions of the prompt `joke`", "joke.prompt"];
    let builder = Oxikit::builder().plugin(plugin).prompt_dir(folder.path());
    check(builder, StatusCode::AlreadyExists, &parts);
}

#[tokio::test]
async fn a_name_that_is_defined_again_after_the_start_replaces_the_first() {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("greet", |_: ()| async { Ok(1) });
    ai.define_flow("greet", |_: ()| async { Ok(2) });
    let output = ai.registry().run("/flow/greet", Call::new(())).await.unwrap();
    assert_eq!(output.parse::<u8>().unwrap(), 2);
}
