//! What a server that was killed has left: the doors that its runtimes still know.
//!
//! A runtime that was started by hand has its URLs in its environment and dials them for
//! ever. A server that ends removes the file with its doors; where it is still there and
//! the process is not, the server was killed, and its successor opens the same doors to
//! runtimes. The door of the API is always a new one. A file that came along with the
//! project does not count: it cannot know when this machine was started.

use std::path::Path;

use super::ManagerFile;
use crate::manager::Token;
use crate::project;
use crate::untrusted_file::{MAX_SMALL, read_text};

/// The doors for runtimes and spans of a server that was killed.
#[derive(Debug, Default)]
pub(crate) struct Former {
    pub(crate) reflection: Option<FormerDoor>,
    pub(crate) telemetry: Option<FormerDoor>,
}

#[derive(Debug)]
pub(crate) struct FormerDoor {
    pub(crate) port: u16,
    token: Token,
}

impl Former {
    /// What is left in this data folder; mostly nothing.
    pub(crate) fn find(data_dir: &Path) -> Self {
        let Some(file) = ManagerFile::read(data_dir) else { return Self::default() };
        if project::is_alive(&file) || file.boot.is_none() || file.boot != boot() {
            return Self::default();
        }
        Self {
            reflection: FormerDoor::read(&file.reflection_url, "/r/"),
            telemetry: FormerDoor::read(&file.telemetry_url, "/t/"),
        }
    }
}

impl FormerDoor {
    fn read(url: &str, before_token: &str) -> Option<Self> {
        let url = reqwest::Url::parse(url).ok()?;
        let token = Token::known(url.path().strip_prefix(before_token)?)?;
        Some(Self { port: url.port()?, token })
    }

    /// Its token, or a new one.
    pub(crate) fn token(door: Option<Self>) -> Token {
        door.map_or_else(Token::random, |door| door.token)
    }
}

/// The start of this machine, where the system has a name for it.
pub(crate) fn boot() -> Option<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let id = read_text(path, MAX_SMALL).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_killed_server_of_this_start_has_left_counts() {
        let dir = tempfile::tempdir().unwrap();
        crate::private_file::make_private_dir(dir.path(), |_| false).unwrap();
        let (token, other) = (Token::random(), Token::random());
        let find = |pid: u32, boot: Option<&str>, token: &str| {
            let file = serde_json::json!({
                "pid": pid, "version": "1", "startedAt": "", "apiUrl": "http://127.0.0.1:4000",
                "token": other.reveal(),
                "reflectionUrl": format!("ws://127.0.0.1:3201/r/{token}"),
                "telemetryUrl": format!("http://127.0.0.1:4033/t/{}", other.reveal()),
                "boot": boot,
            });
            let path = dir.path().join("manager.json");
            crate::private_file::write_private(&path, file.to_string().as_bytes()).unwrap();
            Former::find(dir.path()).reflection
        };
        let (gone, now) = (i32::MAX as u32, boot().unwrap());
        assert!(find(std::process::id(), Some(&now), token.reveal()).is_none());
        assert!(find(gone, None, token.reveal()).is_none());
        assert!(find(gone, Some("another"), token.reveal()).is_none());
        assert!(find(gone, Some(&now), "short").is_none());
        let door = find(gone, Some(&now), token.reveal()).unwrap();
        assert!(door.token.matches(token.reveal()) && door.port == 3201);
    }
}
