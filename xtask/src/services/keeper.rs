//! Clears up after a server, whatever happens to us.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Waits until its standard input ends, which it also does when we are killed; ends
/// the server that has not been ended by then, and removes its folder. Frozen
/// processes hear nothing before they are woken.
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

/// A process that outlives us for a moment.
#[derive(Debug)]
pub(super) struct Keeper(Child);

impl Keeper {
    /// Looks after the server whose data is in `data` below this folder.
    pub(super) fn of(folder: &Path) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "keeper"]).arg(folder);
        // A group of its own: what interrupts us does not interrupt it.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null());
        Ok(Self(command.spawn().context("cannot start `sh`")?))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // It cannot fail in a way that we could mend.
        _ = self.0.wait();
    }
}
