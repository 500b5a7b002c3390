//! Files are read and written inside of the directory only.

use std::fs;

use super::*;

const MAX: usize = 100;

fn root() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, Root::new(path.into()))
}

fn write(root: &Root, path: &str, text: &str) -> Stamp {
    let expected = root.stamp(path).unwrap();
    match root.prepare(path, text).unwrap().put(expected, 0).unwrap() {
        Put::Done(stamp) => stamp,
        Put::Changed => panic!("nobody else writes"),
    }
}

#[test]
fn a_text_is_written_and_read_with_its_folders_and_leaves_nothing_else() {
    let (folder, root) = root();
    let stamp = write(&root, "a/b/c.md", "text");
    let read = root.read("a/b/c.md", MAX).unwrap().unwrap();
    assert_eq!(read, FileText { text: "text".to_owned(), stamp });
    assert_ne!(write(&root, "a/b/c.md", "more"), stamp);
    drop(root.prepare("a/b/d.md", "given up").unwrap());
    let names: Vec<_> = fs::read_dir(folder.path().join("a/b")).unwrap().collect();
    assert_eq!(names.len(), 1);
    assert_eq!(root.read("a/missing.md", MAX).unwrap(), None);
    assert_eq!(root.read("missing/c.md", MAX).unwrap(), None);
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
#[test]
fn a_file_that_changes_after_it_was_looked_at_is_not_replaced() {
    let (folder, root) = root();
    let looked_at = write(&root, "a.md", "ours");
    let path = folder.path().join("a.md");
    fs::write(&path, "theirs, longer").unwrap();
    let prepared = root.prepare("a.md", "ours again").unwrap();
    assert!(!prepared.replace(&looked_at).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs, longer");
    let looked_at = root.stamp("a.md").unwrap().unwrap();
    assert!(prepared.replace(&looked_at).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), "ours again");
    drop(prepared);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_overwritten_while_it_is_put_in_its_place_has_another_stamp() {
    let (folder, root) = root();
    let path = folder.path().join("a.md");
    fs::write(&path, "ours").unwrap();
    let written = fs::metadata(&path).unwrap();
    assert_eq!(Stamp::of_moved(&written, &written), Stamp::of(&written));
    fs::write(&path, "theirs").unwrap();
    let moved = fs::metadata(&path).unwrap();
    assert_ne!(Some(Stamp::of_moved(&written, &moved)), root.stamp("a.md").unwrap());
}

#[test]
fn a_file_that_another_program_has_changed_is_not_replaced() {
    let (folder, root) = root();
    let stamp = write(&root, "a.md", "ours");
    fs::write(folder.path().join("a.md"), "theirs, longer").unwrap();
    let put = root.prepare("a.md", "ours again").unwrap().put(Some(stamp), 0).unwrap();
    assert!(matches!(put, Put::Changed));
    let put = root.prepare("a.md", "new").unwrap().put(None, 0).unwrap();
    assert!(matches!(put, Put::Changed));
    assert_eq!(fs::read_to_string(folder.path().join("a.md")).unwrap(), "theirs, longer");
}

#[test]
fn a_rename_replaces_nothing() {
    let (_folder, root) = root();
    write(&root, "a.md", "a");
    write(&root, "b.md", "b");
    let error = root.rename("a.md", "b.md").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    root.rename("a.md", "x/y.md").unwrap();
    assert_eq!(root.read("x/y.md", MAX).unwrap().unwrap().text, "a");
    assert!(root.remove("x/y.md").unwrap());
    assert!(!root.remove("x/y.md").unwrap());
    assert!(!root.remove("z/y.md").unwrap());
}

#[test]
fn files_that_are_no_text_are_named() {
    let (folder, root) = root();
    fs::write(folder.path().join("torn.md"), [0xe2, 0x82]).unwrap();
    fs::write(folder.path().join("zero.md"), "a\0\0\0").unwrap();
    fs::write(folder.path().join("large.md"), "x".repeat(MAX + 1)).unwrap();
    fs::create_dir(folder.path().join("folder.md")).unwrap();
    for (path, reason) in [
        ("torn.md", "not UTF-8"),
        ("zero.md", "NUL"),
        ("large.md", "more than 100 bytes"),
        ("folder.md", "not a regular file"),
    ] {
        let error = root.read(path, MAX).unwrap_err().to_string();
        assert!(error.contains(reason), "{path}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn the_mode_of_a_file_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, root) = root();
    write(&root, "a.md", "one");
    let path = folder.path().join("a.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&root, "a.md", "two");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_neither_read_nor_written_nor_listed() {
    use std::os::unix::fs::symlink;
    let (folder, root) = root();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "secret").unwrap();
    symlink(outside.path().join("secret.md"), folder.path().join("link.md")).unwrap();
    symlink(outside.path(), folder.path().join("linked")).unwrap();
    symlink(outside.path().join("none.md"), folder.path().join("dangling.md")).unwrap();
    for path in ["link.md", "linked/secret.md", "linked/new.md", "dangling.md"] {
        assert!(root.read(path, MAX).is_err(), "{path}");
        let put = root.prepare(path, "text").and_then(|prepared| prepared.put(None, 0));
        assert!(!matches!(put, Ok(Put::Done(_))), "{path}");
    }
    assert!(root.rename("linked/secret.md", "got.md").is_err());
    assert!(root.remove("linked/secret.md").is_err());
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    let walk = root.walk();
    assert!(walk.files.is_empty());
    let problems: Vec<_> = walk.problems.keys().map(String::as_str).collect();
    assert_eq!(problems, ["dangling.md", "link.md", "linked"]);
}

#[test]
fn paths_that_leave_the_directory_are_refused() {
    let (_folder, root) = root();
    let long = "x".repeat(256);
    for path in [
        "",
        "/",
        "/etc/passwd",
        "..",
        "../a.md",
        "a/../../b.md",
        "a//b.md",
        "./a.md",
        "a/.",
        "a/..",
        "a\\..\\b.md",
        "a\0.md",
        "a/",
        &long,
    ] {
        assert!(root.read(path, MAX).is_err(), "{path:?}");
        assert!(root.prepare(path, "text").is_err(), "{path:?}");
        assert!(root.remove(path).is_err(), "{path:?}");
    }
}
