//! Other processes: this test program again, whose environment names the role to play.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError, Term};
use oxikit_wire::SessionSnapshot;

/// The environment variable with the role.
pub(crate) const ROLE: &str = "OXIKIT_SQL_TEST_ROLE";
/// The beginning of a line for the parent; the test harness prints other lines.
const MARK: &str = "child: ";

/// A process that plays a role. It is killed when dropped.
pub(crate) struct Player {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Player {
    /// Starts this test program with one test, which plays the role.
    pub(crate) fn start<V: AsRef<OsStr>>(test: &str, role: &str, variables: &[(&str, V)]) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(ROLE, role)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// The next line that the process prints for its parent; `None` when it has ended.
    pub(crate) fn hear(&mut self) -> Option<String> {
        let mut lines = self.lines.by_ref().map_while(Result::ok);
        lines.find_map(|line| Some(line.split_once(MARK)?.1.to_owned()))
    }

    /// Ends the process as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }
}

/// Prints a line for the parent.
#[expect(clippy::print_stdout, reason = "how a child speaks to its parent")]
pub(crate) fn say(text: &str) {
    println!("{MARK}{text}");
}

/// A role: takes a short lease, is stopped, and writes this snapshot when it goes on.
pub(crate) async fn freeze(store: &impl SessionStore, late: SessionSnapshot) {
    let owner = Owner::nobody();
    let term = Term::of(Duration::from_millis(300));
    let lease = store.lease(&owner, "session", term).await.unwrap();
    say("held");
    // The parent stops this process now, and takes the lease meanwhile.
    while store.get(&owner, "taken").await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let write = SnapshotWrite {
        lease: Some(&lease),
        ..SnapshotWrite::new(&owner, "helper", "session", "late")
    };
    match store.save(write, &|_| Ok(Some(late.clone()))).await {
        Err(StoreError::Fenced(_)) => say("fenced"),
        other => say(&format!("{other:?}")),
    }
}
