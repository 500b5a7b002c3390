//! No request reads or writes a byte outside of the registered directories.

use std::collections::BTreeMap;
use std::path::Path;

use oxikit_prompts::{Kind, NewDocument, Prompts, Rename, Submission};

use crate::kit::{Kit, open, options, sqlite};

const SECRET: &str = "the secret outside";

/// At least 300 forms of paths that leave a directory, or try to.
fn forms() -> Vec<String> {
    let ups = [
        "..",
        "%2e%2e",
        "..%2f",
        "%2e%2e%2f",
        "..\\",
        "..%5c",
        "%252e%252e",
        "....",
        ". .",
        ".. ",
        "\u{2024}\u{2024}",
        "..\0",
    ];
    let targets =
        ["secret", "secret.md", "outside/secret", "outside/secret.md", "etc/passwd", "victim.md"];
    let separators = ["/", "\\", "%2f", "//"];
    let mut forms: Vec<String> = Vec::new();
    for up in ups {
        for target in targets {
            for separator in separators {
                forms.push(format!("{up}{separator}{target}"));
                forms.push(format!("x{separator}{up}{separator}{up}{separator}{target}"));
            }
        }
    }
    let more = [
        "/etc/passwd",
        "//etc/passwd",
        "file:///etc/passwd",
        "C:\\secret",
        "\\\\host\\share",
        "~/secret",
        "~root/secret",
        ".",
        "..",
        "/",
        "",
        " ",
        "\0",
        "a\0b",
        "link/secret",
        "link/new",
        "linked",
        "linked.md",
        "./secret",
        "x/./../../secret",
        "x/..",
        ".hidden",
        ".git/config",
        "x/.env",
        "$HOME/secret",
        "`id`",
        "con",
        "nul",
        "a:b",
        "secret.md/",
        "secret.md/.",
        "link",
        "link/../secret",
    ];
    forms.extend(more.map(str::to_owned));
    forms
}

/// All files below a folder with their texts. Links are not followed.
fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_dir() {
            for (path, text) in snapshot(&entry.path()) {
                files.insert(format!("{name}/{path}"), text);
            }
        } else if entry.file_type().unwrap().is_file() {
            files.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    files
}

async fn attacked() -> (Kit, tempfile::TempDir) {
    let kit = open(&[("a.md", "inside [[b]]"), ("b.md", "b")]).await;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.md"), SECRET).unwrap();
    std::fs::write(kit.folder.path().join("secret.md"), SECRET).unwrap();
    std::fs::write(kit.folder.path().join("victim.md"), SECRET).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(outside.path(), kit.path("link")).unwrap();
        symlink(outside.path().join("secret.md"), kit.path("linked.md")).unwrap();
    }
    kit.prompts.reload().await.unwrap();
    (kit, outside)
}

#[tokio::test]
async fn three_hundred_forms_of_paths_stay_inside() {
    let (kit, outside) = attacked().await;
    let forms = forms();
    assert!(forms.len() >= 300, "{}", forms.len());
    let around = || {
        let mut all = snapshot(kit.folder.path());
        all.retain(|path, _| !path.starts_with("prompts/"));
        (all, snapshot(outside.path()))
    };
    let before = around();
    for form in &forms {
        for kind in [None, Some(Kind::Prompt), Some(Kind::Fragment)] {
            if let Ok(document) = kit.prompts.find(form, kind) {
                assert!(!document.text().contains(SECRET), "{form:?} is {}", document.key);
            }
        }
        for kind in [Kind::Prompt, Kind::Fragment] {
            let mut new = NewDocument::new(form.clone(), "attack");
            new.kind = kind;
            // Some forms are names like others: then the file is inside.
            _ = kit.prompts.create(new).await;
        }
        _ = kit.prompts.rename(Rename::new("b", form.clone())).await;
        if let Err(error) = kit.prompts.find("b", None) {
            panic!("{form:?}: {error}");
        }
        kit.prompts.submit(form, None, Submission::content("attack")).await.ok();
        kit.prompts.delete(form, None, None).await.ok();
        kit.prompts.history(form, None, None, 10).await.ok();
        kit.prompts.undelete(form, None, None).await.ok();
        let expansion = kit.prompts.expand(None, &format!("[[{form}]]")).await;
        assert!(!expansion.text.contains(SECRET), "{form:?}");
    }
    assert_eq!(around(), before, "nothing outside has changed");
    for document in kit.prompts.list(None) {
        assert!(!document.text().contains(SECRET), "{}", document.key);
    }
    for text in snapshot(&kit.folder.path().join("prompts")).values() {
        assert!(!String::from_utf8_lossy(text).contains(SECRET));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_named_and_never_followed() {
    let (kit, outside) = attacked().await;
    let problems: Vec<_> = kit.prompts.problems().into_iter().map(|problem| problem.key).collect();
    assert_eq!(problems, ["prompts/link", "prompts/linked.md"]);
    assert_eq!(kit.prompts.list(None).len(), 2);
    // A document whose file or folder is replaced by a link.
    kit.prompts.create(NewDocument::new("x/doc", "inside")).await.unwrap();
    std::fs::remove_file(kit.path("x/doc.md")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.md"), kit.path("x/doc.md")).unwrap();
    kit.prompts.submit("doc", None, Submission::content("attack")).await.unwrap_err();
    std::fs::remove_dir_all(kit.path("x")).unwrap();
    std::os::unix::fs::symlink(outside.path(), kit.path("x")).unwrap();
    kit.prompts.submit("doc", None, Submission::content("attack")).await.unwrap_err();
    kit.prompts.create(NewDocument::new("x/new", "attack")).await.unwrap_err();
    assert_eq!(snapshot(outside.path()).len(), 1);
    assert_eq!(std::fs::read_to_string(outside.path().join("secret.md")).unwrap(), SECRET);
    assert!(!kit.prompts.find("doc", None).unwrap().text().contains(SECRET));
}

#[tokio::test]
async fn directories_are_registered_only_below_allowed_roots() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("prompts")).unwrap();
    std::fs::create_dir_all(folder.path().join("allowed/team")).unwrap();
    std::fs::create_dir_all(folder.path().join("other")).unwrap();
    std::fs::write(folder.path().join("allowed/team/t.md"), "team").unwrap();
    let mut options = options(folder.path());
    options.allowed_roots.push(folder.path().join("allowed"));
    options.registry_file = Some(folder.path().join("registry.json"));
    let store = sqlite(folder.path());
    let prompts = Prompts::open(options.clone(), store.clone()).await.unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for refused in ["other", "allowed/../other", "allowed/none", "prompts", "."] {
        prompts.add_directory(&path(refused), None, None).await.unwrap_err();
    }
    let team = prompts.add_directory(&path("allowed/team"), None, None).await.unwrap();
    assert_eq!(prompts.find("t", None).unwrap().content(), "team");
    prompts.close().await;

    // It is registered after a restart, and its documents leave with it.
    let prompts = Prompts::open(options, store).await.unwrap();
    let mut client = crate::kit::Client::join(&prompts, "t").await;
    let update = oxikit_prompts::DirectoryUpdate { enabled: Some(false), ..Default::default() };
    prompts.update_directory(&team.key, update).await.unwrap();
    assert_eq!(client.closed().await, (4004, "Prompt 't' not found".to_owned()));
    assert!(prompts.find("t", None).is_err());
    let update = oxikit_prompts::DirectoryUpdate {
        name: Some("The team".to_owned()),
        enabled: Some(true),
        ..Default::default()
    };
    prompts.update_directory(&team.key, update).await.unwrap();
    let document = prompts.find("t", None).unwrap();
    assert_eq!((&*document.directory_name, document.key.as_str()), ("The team", "team/t.md"));
    prompts.remove_directory("The team").await.unwrap();
    assert!(prompts.list(None).is_empty());
    assert!(folder.path().join("allowed/team/t.md").exists());
    assert!(prompts.remove_directory("The team").await.is_err());
}
