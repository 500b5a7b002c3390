//! Which folders may be registered, and what is kept about them.

use std::fs;

use super::*;

fn options(directories: &[&Path], registry_file: Option<PathBuf>) -> PromptsOptions {
    let mut options = PromptsOptions::new(directories);
    options.registry_file = registry_file;
    options
}

#[test]
fn a_directory_is_found_by_path_name_and_key_and_keeps_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a/prompts"), folder.path().join("b/prompts"));
    fs::create_dir_all(&a).unwrap();
    fs::create_dir_all(&b).unwrap();
    let file = folder.path().join("registry.json");
    let mut registry = Registry::open(&options(&[&a, &b], Some(file.clone()))).unwrap();
    let keys: Vec<_> = registry.all().iter().map(|known| known.key.to_string()).collect();
    assert_eq!(keys, ["prompts", "prompts-2"]);
    let update = DirectoryUpdate { name: Some("Team".to_owned()), ..DirectoryUpdate::default() };
    registry.update("prompts-2", &update).unwrap();
    registry.save().unwrap();
    let registry = Registry::open(&options(&[], Some(file))).unwrap();
    assert_eq!(&*registry.find("Team").unwrap().key, "prompts-2");
    assert_eq!(registry.split_key("prompts-2/x/y.md").unwrap().1, "x/y.md");
    assert!(registry.split_key("other/x.md").is_none());
}

#[test]
fn only_folders_below_an_allowed_root_and_beside_the_others_are_registered() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["allowed/one/deep", "allowed/two", "elsewhere"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    fs::write(path("allowed/file"), "").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(path("elsewhere"), path("allowed/link")).unwrap();
    let roots = [path("allowed")];
    let mut registry = Registry::default();
    let mut add = |name: &str| registry.add(&DirectorySpec::new(path(name)), &roots);
    add("allowed/one").unwrap();
    assert!(matches!(add("allowed/one"), Err(PromptsError::Exists(_))));
    let refused = [
        "allowed/one/deep",
        "allowed",
        "elsewhere",
        "allowed/../elsewhere",
        "allowed/link",
        "allowed/file",
        "allowed/missing",
    ];
    for name in refused {
        assert!(matches!(add(name), Err(PromptsError::Invalid(_))), "{name}");
    }
    add("allowed/two").unwrap();
    assert!(registry.add(&DirectorySpec::new(path("elsewhere")), &[]).is_err());
}

#[test]
fn paths_are_completed_inside_of_the_roots_only() {
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().canonicalize().unwrap();
    for name in ["root/prompts", "root/projects/x", "root/.hidden", "other/secret"] {
        fs::create_dir_all(base.join(name)).unwrap();
    }
    let roots = [base.join("root")];
    let text = |name: &str| base.join(name).to_str().unwrap().to_owned();
    let completion = complete(&text("root/p"), &roots);
    assert_eq!(completion.suggestions, [text("root/projects"), text("root/prompts")]);
    assert_eq!(completion.completed_path, text("root/pro"));
    assert!(!completion.is_directory);
    let completion = complete(&text("root/prom"), &roots);
    assert!(completion.is_directory);
    assert_eq!(complete(&text("ro"), &roots).suggestions, [text("root")]);
    for partial in [text("other/s"), text("root/../other/s"), "/".to_owned(), String::new()] {
        let found = complete(&partial, &roots).suggestions;
        assert!(found.iter().all(|path| *path == text("root")), "{partial}: {found:?}");
    }
}
