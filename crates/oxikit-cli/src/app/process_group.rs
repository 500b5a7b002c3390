//! A process group: the application and the processes that it has started.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::Instant;

use oxikit_local::untrusted_file::{MAX_SMALL, read_text};

/// Time between two checks whether the group is empty.
const POLL: Duration = Duration::from_millis(20);
/// Maximum time to wait for killed processes to disappear.
const KILL_TIME: Duration = Duration::from_millis(500);

/// A process group by its id. The operating system does not reuse the id while a process of
/// the group exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group of this leader; `None` if the id is not valid.
    pub(crate) fn led_by(pid: u32) -> Option<Self> {
        Pid::from_raw(i32::try_from(pid).ok()?).map(Self)
    }

    /// Sends `SIGTERM` to all processes.
    pub(crate) fn ask_to_end(self) {
        // An error means that the group is empty.
        _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Sends `SIGKILL` to all processes.
    pub(crate) fn kill(self) {
        _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Whether no process is left that still runs.
    pub(crate) fn is_empty(self) -> bool {
        test_kill_process_group(self.0).is_err() || has_only_zombies(self.0)
    }

    /// Waits until the group is empty; `false` if it is not after this time.
    pub(crate) async fn emptied(self, within: Duration) -> bool {
        let deadline = Instant::now() + within;
        while !self.is_empty() {
            if Instant::now() >= deadline {
                return false;
            }
            tokio::time::sleep(POLL).await;
        }
        true
    }

    /// Sends `SIGTERM`, and `SIGKILL` after the grace time if processes are left. Returns
    /// whether that was necessary.
    pub(crate) async fn end(self, grace: Duration) -> bool {
        self.ask_to_end();
        if self.emptied(grace).await {
            return false;
        }
        self.kill();
        self.emptied(KILL_TIME).await;
        true
    }
}

/// Whether all processes of the group have ended and only wait for their parent to read the
/// exit status. In a container without an init process that may never happen. `false` where
/// the system has no `/proc`.
fn has_only_zombies(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let mut seen = false;
    for entry in processes.flatten() {
        let Ok(stat) = read_text(&entry.path().join("stat"), MAX_SMALL) else { continue };
        // The format is `pid (name) state parent group …`. The name may contain any character,
        // also `)`, so the last one ends it.
        let Some((_, rest)) = stat.rsplit_once(')') else { continue };
        let mut fields = rest.split_whitespace();
        let (state, of) = (fields.next(), fields.nth(1));
        if of.and_then(|of| of.parse().ok()) == Some(group.as_raw_nonzero().get()) {
            seen = true;
            if !matches!(state, Some("Z" | "X")) {
                return false;
            }
        }
    }
    seen
}
