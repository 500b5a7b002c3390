//! How to see that a file has changed without reading it.

use std::fs::Metadata;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A change within this time after the last one may leave the times of a file as they are: the
/// clock of file systems has steps of a few milliseconds.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// Identity, size and times of a file. They differ after every change, and do not change when the
/// file is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Number of the file, and when it was put in its place or its permissions were changed.
    identity: (u64, i64, i64),
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let identity = (0, 0, 0);
        Self { length: metadata.len(), modified: metadata.modified().ok(), identity }
    }

    /// The stamp of a file that was written and then moved to its place, from what was known after
    /// each. If another program has overwritten the file since it was moved, the stamp is not that
    /// of the file: the change is found.
    pub(crate) fn of_moved(written: &Metadata, moved: &Metadata) -> Self {
        let Self { length, modified, .. } = Self::of(written);
        Self { length, modified, ..Self::of(moved) }
    }

    /// Whether it is the same file with the same text, wherever it is now.
    pub(crate) fn has_text_of(&self, other: &Self) -> bool {
        let text = |stamp: &Self| (stamp.length, stamp.modified, stamp.identity.0);
        text(self) == text(other)
    }

    /// Whether the file is so new that it may have changed since without another stamp.
    pub(crate) fn is_fresh(&self) -> bool {
        let age = self.modified.and_then(|modified| modified.elapsed().ok());
        age.is_none_or(|age| age < CLOCK_STEP)
    }

    /// When the text was changed last, in milliseconds since 1970.
    pub(crate) fn modified_at(&self) -> i64 {
        self.modified.map_or(0, millis)
    }
}

/// Milliseconds since 1970.
pub(super) fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
