//! Options of an open file. They belong to a process, and not to the file: each process may have
//! others.

use std::time::Duration;

/// Options with which a SQLite file is opened.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_sqlite::FileOptions;
///
/// let options = FileOptions { timeout: Duration::from_secs(1), ..FileOptions::default() };
/// assert_eq!(options.readers, 4);
/// ```
#[derive(Debug, Clone)]
pub struct FileOptions {
    /// Time that a call waits for a file that another process has locked. The call then fails as
    /// unavailable. The default is five seconds.
    pub timeout: Duration,
    /// Maximum number of reads at the same time. Further ones wait. The default is 4.
    pub readers: usize,
    /// Maximum number of pages of the file, for tests of a full disk.
    pub max_pages: Option<u32>,
}

impl Default for FileOptions {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(5), readers: 4, max_pages: None }
    }
}
