//! The cookies of browsers that have signed in. Only their hashes are kept, in a file of the data
//! folder, so that a browser stays signed in when the server is restarted.
//!
//! A repository could contain such a file, prepared by an author who knows the cookie. So the file
//! names the data folder by its number in the file system, which nobody can know before the
//! repository is cloned; a file with another number is ignored.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_lc_rs::digest::{SHA256, digest};
use oxikit_http::Token;
use oxikit_local::private_file::{read_private, write_private};
use oxikit_local::untrusted_file::MAX_SMALL;
use serde::{Deserialize, Serialize};

/// Maximum number of cookies. The oldest is dropped for a new one.
const MAX_COOKIES: usize = 64;
/// The name of the file in the data folder.
const FILE: &str = "sign-ins.json";

/// The valid cookies.
#[derive(Debug)]
pub(super) struct Cookies {
    file: PathBuf,
    /// The number of the data folder; without one nothing is stored.
    folder: Option<String>,
    known: Mutex<Vec<Known>>,
}

/// A cookie.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    /// The SHA-256 hash, in hexadecimal digits.
    hash: String,
    /// When it expires, in seconds since 1970.
    until: u64,
}

/// The content of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    folder: String,
    cookies: Vec<Known>,
}

impl Cookies {
    /// The cookies of the data folder. A file that cannot be used counts as empty.
    pub(super) fn open(data_dir: &Path) -> Self {
        let (file, folder) = (data_dir.join(FILE), number_of(data_dir));
        let content = read_private(&file, MAX_SMALL).unwrap_or_else(|error| {
            tracing::warn!(%error, "the file of signed-in browsers is not used");
            None
        });
        let content = content.and_then(|text| serde_json::from_str::<Content>(&text).ok());
        let own = content.filter(|content| folder.as_ref() == Some(&content.folder));
        let known = Mutex::new(own.map(|content| content.cookies).unwrap_or_default());
        Self { file, folder, known }
    }

    /// A new cookie.
    pub(super) fn add(&self, time: Duration) -> String {
        let cookie = Token::random().reveal().to_owned();
        let until = now().saturating_add(time.as_secs());
        let mut known = self.valid();
        if known.len() >= MAX_COOKIES {
            known.remove(0);
        }
        known.push(Known { hash: hash(&cookie), until });
        self.write(&known);
        cookie
    }

    /// Whether a cookie was made here, has not expired and was not removed. What is compared are
    /// hashes, so that the time of the comparison reveals nothing about the cookies.
    pub(super) fn is_valid(&self, cookie: &str) -> bool {
        let hash = hash(cookie);
        self.valid().iter().any(|known| known.hash == hash)
    }

    /// Ends a cookie.
    pub(super) fn remove(&self, cookie: &str) {
        let hash = hash(cookie);
        let mut known = self.valid();
        known.retain(|it| it.hash != hash);
        self.write(&known);
    }

    /// The cookies that have not expired.
    fn valid(&self) -> MutexGuard<'_, Vec<Known>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now();
        known.retain(|known| now < known.until);
        known
    }

    /// Stores the cookies. If this fails they are valid until the server ends.
    fn write(&self, known: &[Known]) {
        let Some(folder) = self.folder.clone() else { return };
        let content = Content { folder, cookies: known.to_vec() };
        let text = serde_json::to_vec_pretty(&content).unwrap_or_default();
        if let Err(error) = write_private(&self.file, &text) {
            tracing::warn!(%error, "browsers have to sign in again after a restart");
        }
    }
}

/// The number of a folder in the file system; `None` where folders have none.
#[cfg(unix)]
fn number_of(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = std::fs::metadata(folder).ok()?;
    Some(format!("{}-{}", metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn number_of(_: &Path) -> Option<String> {
    None
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn hash(cookie: &str) -> String {
    digest(&SHA256, cookie.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    #[test]
    fn a_cookie_expires_and_the_oldest_of_too_many_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let cookies = Cookies::open(folder.path());
        assert!(!cookies.is_valid(&cookies.add(Duration::ZERO)));
        let first = cookies.add(DAY);
        let others: Vec<_> = (0..MAX_COOKIES).map(|_| cookies.add(DAY)).collect();
        assert!(!cookies.is_valid(&first));
        assert!(others.iter().all(|cookie| cookies.is_valid(cookie)));
    }

    #[test]
    fn a_file_of_another_folder_or_one_that_others_can_read_is_ignored() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let cookie = Cookies::open(folder.path()).add(DAY);
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(!text.contains(&cookie));
        assert!(Cookies::open(folder.path()).is_valid(&cookie));
        write_private(&other.path().join(FILE), text.as_bytes()).unwrap();
        assert!(!Cookies::open(other.path()).is_valid(&cookie));
        std::fs::write(other.path().join(FILE), "{").unwrap();
        assert!(!Cookies::open(other.path()).is_valid(&cookie));
    }
}
