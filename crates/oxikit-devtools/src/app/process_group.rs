//! A process with all that it has started.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::time::Instant;

use crate::untrusted_file::{MAX_SMALL, read_text};

/// How often is looked whether it has ended.
const POLL: Duration = Duration::from_millis(20);
/// What was killed is gone within this, if it can be.
const KILL_TIME: Duration = Duration::from_millis(500);

/// The processes of a group. Its number is not given to others while one is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessGroup(Pid);

impl ProcessGroup {
    /// The group that this process leads.
    pub(crate) fn led_by(pid: u32) -> Option<Self> {
        Pid::from_raw(i32::try_from(pid).ok()?).map(Self)
    }

    /// Asks all to end.
    pub(crate) fn ask_to_end(self) {
        // Whoever is gone needs no signal.
        _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Kills all.
    pub(crate) fn kill(self) {
        _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Whether nobody is left.
    pub(crate) fn is_empty(self) -> bool {
        test_kill_process_group(self.0).is_err() || has_only_zombies(self.0)
    }

    /// Waits until nobody is left; whether that is so.
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

    /// Asks all to end, and kills those who have not after the grace time. Whether
    /// that was necessary.
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

/// Whether all that is left has ended and only waits to be noticed by its parent:
/// in a container nobody may ever do that. Where the system does not tell, no.
fn has_only_zombies(group: Pid) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return false };
    let mut seen = false;
    for entry in processes.flatten() {
        let Ok(stat) = read_text(&entry.path().join("stat"), MAX_SMALL) else { continue };
        // `pid (name) state parent group …`, where the name may hold anything.
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
