//! Ids that cannot be guessed.

use std::cell::RefCell;

use uuid::Builder;

/// Number of bytes of an id.
const ID: usize = 16;
/// Number of bytes that are read from the operating system at once: a system call for each id
/// would be a noticeable part of a short request.
const BATCH: usize = 64 * ID;

/// Random bytes, of which the first ones are not used yet.
struct Pool {
    bytes: [u8; BATCH],
    unused: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; BATCH], unused: 0 }) };
}

/// A new UUID with 122 random bits from the operating system, for ids that must be hard to guess.
///
/// ```
/// let id = oxikit_core::random_id();
/// assert_eq!(id.len(), 36);
/// assert_ne!(id, oxikit_core::random_id());
/// ```
///
/// # Panics
///
/// If the operating system has no random numbers. Linux, macOS and Windows always have.
pub fn random_id() -> String {
    let bytes = POOL.with_borrow_mut(Pool::take);
    Builder::from_random_bytes(bytes).into_uuid().to_string()
}

impl Pool {
    fn take(&mut self) -> [u8; ID] {
        if self.unused == 0 {
            getrandom::fill(&mut self.bytes).expect("the operating system has random numbers");
            self.unused = BATCH;
        }
        self.unused -= ID;
        let mut id = [0; ID];
        id.copy_from_slice(&self.bytes[self.unused..self.unused + ID]);
        id
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_random_uuids_and_never_the_same() {
        let threads = (0..4)
            .map(|_| std::thread::spawn(|| (0..1_000).map(|_| random_id()).collect::<Vec<_>>()));
        let ids: Vec<String> = threads.flat_map(|thread| thread.join().unwrap()).collect();
        assert!(ids.iter().all(|id| id.as_bytes()[14] == b'4' && id.len() == 36));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 4_000);
    }
}
