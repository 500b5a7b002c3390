//! Parsing of large JSON texts, without delaying the other tasks of the thread.

use tokio::runtime::{Handle, RuntimeFlavor};

/// Size in bytes above which work counts as blocking. Parsing this much takes about one
/// millisecond.
const LARGE: usize = 256 << 10;

/// Runs `work`, which processes `bytes` bytes. Above 256 KiB, a multi-threaded Tokio runtime
/// moves the other tasks of the thread to other threads meanwhile.
///
/// Smaller work, and work outside of a multi-threaded runtime, runs in place: moving tasks would
/// cost more than the work itself, or is not possible.
///
/// ```
/// use oxikit_manager::block_in_place_if_large;
///
/// let text = "[1, 2, 3]";
/// let numbers = block_in_place_if_large(text.len(), || serde_json::from_str::<Vec<u8>>(text));
/// assert_eq!(numbers.unwrap(), [1, 2, 3]);
/// ```
pub fn block_in_place_if_large<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    // `block_in_place` panics on a current-thread runtime.
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    if bytes > LARGE && has_threads() { tokio::task::block_in_place(work) } else { work() }
}
