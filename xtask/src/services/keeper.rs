//! Stops a server and removes its folder, even if this process is killed.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Waits until its standard input ends, which also happens when this process is killed. Then it
/// stops the server, if it still runs, and removes its folder. Frozen processes are resumed first,
/// because they do not react to other signals.
const SCRIPT: &str = r#"
cat >/dev/null
file="$1/data/postmaster.pid"
if pid=$(head -n 1 "$file" 2>/dev/null); then
    kill -QUIT "$pid"
    kill -CONT "$pid" $(cat "/proc/$pid/task/$pid/children")
    for _ in $(seq 100); do
        [ -e "$file" ] || break
        sleep 0.1
    done
fi 2>/dev/null
rm -rf "$1"
"#;

/// A process that runs until the server and its folder are removed.
#[derive(Debug)]
pub(super) struct Keeper(Child);

impl Keeper {
    /// Starts the process for the server whose data is in `data` below this folder.
    pub(super) fn of(folder: &Path) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "keeper"]).arg(folder);
        // A separate process group, so that Ctrl-C does not end it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self(command.spawn().context("cannot start `sh`")?))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // There is nothing to do if this fails.
        _ = self.0.wait();
    }
}
