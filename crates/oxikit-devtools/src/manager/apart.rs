//! Work that takes long must not hold up whatever else its thread has to do.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Text that is longer than this is read apart from other work. It takes about a
/// millisecond.
const LONG: usize = 256 << 10;

/// Does something with so many bytes. If they are many, other tasks of this thread go on
/// elsewhere meanwhile, where there is more than one thread.
pub(crate) fn apart<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > LONG && has_threads() { tokio::task::block_in_place(work) } else { work() }
}
