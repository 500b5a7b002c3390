//! Information of the operating system about the processes of runtimes. On systems other than
//! Linux most of it is not available, and a process counts as busy.

use std::path::Path;

use oxikit_local::untrusted_file::{MAX_SMALL, read_text};

/// Maximum number of ancestors that are examined.
const MAX_GENERATIONS: usize = 32;

/// Whether `pid` is `ancestor` or one of its descendants, with any launchers in between. Where
/// the system does not tell the parent, only the process itself counts.
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

/// The parent of a process, from `pid (name) state parent …` in `/proc`. The name may contain
/// any character, so the last parenthesis ends it.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = read_text(Path::new(&format!("/proc/{pid}/stat")), MAX_SMALL).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// The process that a runtime registered with.
#[derive(Debug)]
pub(crate) struct Process {
    pid: u32,
    /// Whether it existed when the runtime registered. The id of a process in a container is
    /// not valid here.
    is_known: bool,
    /// The processor time at the last call of `record_cpu_time`, in kernel ticks.
    used: Option<u64>,
}

/// Processor time, in kernel ticks of 10 ms, from which a process counts as busy.
const BUSY_TICKS: u64 = 5;

impl Process {
    /// The process with this id, which need not exist.
    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, is_known: is_alive(pid), used: None }
    }

    /// Whether the process existed at registration and has ended since.
    pub(crate) fn has_ended(&self) -> bool {
        let is_zombie = || usage(self.pid).is_some_and(|usage| usage.state == 'Z');
        self.is_known && (!is_alive(self.pid) || is_zombie())
    }

    /// Records the processor time that the process has used so far.
    pub(crate) fn record_cpu_time(&mut self) {
        self.used = usage(self.pid).map(|usage| usage.ticks);
    }

    /// Whether the process runs or waits for a disk, or has used the processor since
    /// `record_cpu_time`. Always `true` on systems other than Linux.
    pub(crate) fn is_busy(&self) -> bool {
        if !cfg!(target_os = "linux") {
            return true;
        }
        let Some(usage) = usage(self.pid) else { return false };
        let worked = self.used.is_some_and(|before| usage.ticks >= before + BUSY_TICKS);
        worked || matches!(usage.state, 'R' | 'D')
    }
}

/// The state of a process, from `/proc`.
struct Usage {
    state: char,
    /// User and system time of all its threads, in kernel ticks.
    ticks: u64,
}

/// Reads `/proc/<pid>/stat`; `None` if the process does not exist or on other systems.
fn usage(pid: u32) -> Option<Usage> {
    let stat = read_text(Path::new(&format!("/proc/{pid}/stat")), MAX_SMALL).ok()?;
    // The name may contain any character, so the last parenthesis ends it.
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    let ticks = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some(Usage { state: fields.first()?.chars().next()?, ticks: ticks(11)? + ticks(12)? })
}

/// Whether a process exists and this user may signal it. Processes of other users count as
/// not alive.
///
/// The system may give the id of an ended process to a new one, so `true` does not prove that it is
/// still the same process.
///
/// ```
/// assert!(oxikit_manager::is_alive(std::process::id()));
/// assert!(!oxikit_manager::is_alive(0));
/// ```
#[cfg(unix)]
pub fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Always `true`: this system does not tell, so only the health check of the runtime decides.
#[cfg(not(unix))]
pub fn is_alive(_: u32) -> bool {
    true
}
