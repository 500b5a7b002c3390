//! `oxikit start --watch`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::kit::{Started, TIMEOUT, is_alive, until};

#[test]
fn a_change_of_the_source_starts_the_application_again() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["src", "target", "node_modules/x", ".git"] {
        fs::create_dir_all(dir.path().join(folder)).unwrap();
    }
    let script = ["--watch", "--", "sh", "-c", "echo parent $$; sleep 600"];
    let mut started = Started::new(dir.path(), &script);
    let mut previous = started.number("| parent ");
    // Build results and data do not count. Changes are handled in order, so the restart by
    // the later source file shows that the earlier files caused none.
    for file in ["target/app", "node_modules/x/index.js", ".git/index", "app.log"] {
        fs::write(dir.path().join(file), "x").unwrap();
    }
    fs::write(dir.path().join("src/main.rs"), "x").unwrap();
    assert_eq!(started.line(" changed"), "oxikit | src/main.rs changed");
    let mut restarted = |started: &mut Started| {
        let now = started.number("| parent ");
        assert!(!is_alive(previous) && is_alive(now));
        previous = now;
    };
    restarted(&mut started);

    // A folder that was created after the start.
    fs::create_dir(dir.path().join("prompts")).unwrap();
    assert_eq!(started.line(" changed"), "oxikit | prompts changed");
    restarted(&mut started);
    fs::write(dir.path().join("prompts/joke.prompt"), "x").unwrap();
    assert_eq!(started.line(" changed"), "oxikit | prompts/joke.prompt changed");
    restarted(&mut started);

    // Reading a file, changing its permissions, and files that the application writes do not
    // count.
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
    assert!(until(TIMEOUT, || started.app()["restarts"] == 4));
}
