//! What the operating system knows of processes.

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
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process lives and is ours. One of another user is not.
#[cfg(unix)]
pub(crate) fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}

/// Whether a file is ours.
#[cfg(unix)]
pub(crate) fn is_ours(file: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(file) == rustix::process::geteuid().as_raw()
}

/// The system does not tell: the health of the runtime decides.
#[cfg(not(unix))]
pub(crate) fn is_alive(_: u32) -> bool {
    true
}

/// The system does not tell: folders of a user are theirs alone.
#[cfg(not(unix))]
pub(crate) fn is_ours(_: &std::fs::Metadata) -> bool {
    true
}
