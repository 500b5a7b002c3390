//! `oxikit start --watch`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::kit::{PATIENCE, Started, lives, until};

#[test]
fn a_change_of_the_source_starts_the_application_again() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["src", "target", "node_modules/x", ".git"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let script = ["--watch", "--", "sh", "-c", "echo parent $$; sleep 600"];
    let mut started = Started::new(dir.path(), &script);
    let mut former = started.number("| parent ");
    // What is built and recorded does not count; neither do these changes by coming
    // first: all are noticed in their order.
    for file in ["target/app", "node_modules/x/index.js", ".git/index", "app.log"] {
        fs::write(dir.path().join(file), "x").unwrap();
    }
    fs::write(dir.path().join("src/main.rs"), "x").unwrap();
    assert_eq!(started.line(" changed"), "oxikit | src/main.rs changed");
    let mut restarted = |started: &mut Started| {
        let now = started.number("| parent ");
        assert!(!lives(former) && lives(now));
        former = now;
    };
    restarted(&mut started);

    // A folder that was not there at the start.
    fs::create_dir(dir.path().join("prompts")).unwrap();
    assert_eq!(started.line(" changed"), "oxikit | prompts changed");
    restarted(&mut started);
    fs::write(dir.path().join("prompts/joke.prompt"), "x").unwrap();
    assert_eq!(started.line(" changed"), "oxikit | prompts/joke.prompt changed");
    restarted(&mut started);

    // Reading, permissions, and what an application writes beside its source.
    let main = dir.path().join("src/main.rs");
    fs::read(&main).unwrap();
    fs::set_permissions(&main, fs::Permissions::from_mode(0o640)).unwrap();
    for file in ["app.db", "app.db-wal", "app.db-shm", "app.db-alive-4242-1"] {
        fs::write(dir.path().join(file), "x").unwrap();
    }
    fs::write(dir.path().join("sessions"), b"SQLite format 3\0 and pages").unwrap();
    fs::write(dir.path().join("src/lib.rs"), "x").unwrap();
    assert_eq!(started.line(" changed"), "oxikit | src/lib.rs changed");
    restarted(&mut started);
    assert!(until(PATIENCE, || started.app()["restarts"] == 4));
}
