//! What the operating system knows of processes.

use std::path::Path;

use crate::untrusted_file::{MAX_SMALL, read_text};

/// A chain of parents is not longer than this.
const MAX_GENERATIONS: usize = 32;

/// Whether a process is this one or was started by it, by whatever launcher in
/// between. Where the system does not tell, only the process itself counts.
pub(crate) fn descends_from(pid: u32, ancestor: u32) -> bool {
    let mut current = Some(pid);
    for _ in 0..MAX_GENERATIONS {
        match current {
            Some(pid) if pid == ancestor => return true,
            Some(pid) if pid > 1 => current = parent_of(pid),
            _ => return false,
        }
    }
    false
}

/// The parent, as Linux tells it: `pid (name) state parent …`, where the name may
/// hold anything.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = read_text(Path::new(&format!("/proc/{pid}/stat")), MAX_SMALL).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process lives and is ours. One of another user is not.
#[cfg(unix)]
pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// The system does not tell: the health of the runtime decides.
#[cfg(not(unix))]
pub(crate) fn is_alive(_: u32) -> bool {
    true
}
