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

/// A process that a runtime says it is, watched from outside.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    /// Whether it was seen alive: one in a container has another number here.
    is_known: bool,
    /// The processor time it had used when it was looked at.
    used: Option<u64>,
}

/// A process that has used so many ticks of the kernel, of a hundredth of a second,
/// between two looks was at work.
const WORKED: u64 = 5;

impl Process {
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, is_known: is_alive(pid), used: None }
    }

    /// Whether it was there and is not any more.
    pub(crate) fn has_ended(&self) -> bool {
        let is_zombie = || usage(self.pid).is_some_and(|usage| usage.state == 'Z');
        self.is_known && (!is_alive(self.pid) || is_zombie())
    }

    /// Looks how much it has done so far.
    pub(crate) fn look(&mut self) {
        self.used = usage(self.pid).map(|usage| usage.ticks);
    }

    /// Whether it computes, or has since the last look, or waits for a disk or for a
    /// processor. Where the system does not tell, it counts as at work.
    pub(crate) fn is_at_work(&self) -> bool {
        if !cfg!(target_os = "linux") {
            return true;
        }
        let Some(usage) = usage(self.pid) else { return false };
        let worked = self.used.is_some_and(|before| usage.ticks >= before + WORKED);
        worked || matches!(usage.state, 'R' | 'D')
    }
}

/// What Linux tells of a process.
struct Usage {
    state: char,
    /// User and system time of all its threads.
    ticks: u64,
}

fn usage(pid: u32) -> Option<Usage> {
    let stat = read_text(Path::new(&format!("/proc/{pid}/stat")), MAX_SMALL).ok()?;
    // The name may hold anything.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some(Usage { state: fields.first()?.chars().next()?, ticks: ticks(11)? + ticks(12)? })
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
