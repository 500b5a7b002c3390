//! Takes over the ports and tokens of a server that was killed.
//!
//! A runtime that was started by hand has the URLs of the server in its environment and tries to
//! reconnect to them for ever. A server that closes removes the file with its URLs. If the file
//! still exists but its process does not, the server was killed, and the next server uses the
//! same ports and tokens for reflection and telemetry. The API always gets a new token. A file
//! that was copied with the project is not used: it must contain the boot id of this machine.

use std::path::Path;

use super::ManagerFile;
use oxikit_http::Token;
use oxikit_local::untrusted_file::{MAX_SMALL, read_text};

/// The ports for runtimes and spans of a server that was killed.
#[derive(Debug, Default)]
pub(crate) struct Previous {
    pub(crate) reflection: Option<PreviousPort>,
    pub(crate) telemetry: Option<PreviousPort>,
}

/// A port that the next server should listen on again, with the token that its runtimes know.
#[derive(Debug)]
pub(crate) struct PreviousPort {
    pub(crate) port: u16,
    token: Token,
}

impl Previous {
    /// Reads the file of a killed server in this data folder; the default if there is none.
    pub(crate) fn find(data_dir: &Path) -> Self {
        let Some(file) = ManagerFile::read(data_dir) else { return Self::default() };
        // A living server keeps its ports. Without the boot id of this machine the file may have
        // been copied from another one.
        if file.is_alive() || file.boot.is_none() || file.boot != boot() {
            return Self::default();
        }
        Self {
            reflection: PreviousPort::read(&file.reflection_url, "/r/"),
            telemetry: PreviousPort::read(&file.telemetry_url, "/t/"),
        }
    }
}

impl PreviousPort {
    /// The port and the token of a URL; `None` if it does not have the form of such a URL.
    fn read(url: &str, before_token: &str) -> Option<Self> {
        let url = url::Url::parse(url).ok()?;
        let token = Token::known(url.path().strip_prefix(before_token)?)?;
        Some(Self { port: url.port()?, token })
    }

    /// The token of the port, or a new one if there is no previous port.
    pub(crate) fn token(port: Option<Self>) -> Token {
        port.map_or_else(Token::random, |port| port.token)
    }
}

/// The id of the current boot of this machine; `None` where the system has none.
pub(crate) fn boot() -> Option<String> {
    let path = Path::new("/proc/sys/kernel/random/boot_id");
    let id = read_text(path, MAX_SMALL).ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_file_of_a_server_that_was_killed_since_boot_is_used() {
        let dir = tempfile::tempdir().unwrap();
        oxikit_local::private_file::make_private_dir(dir.path(), |_| false).unwrap();
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
            oxikit_local::private_file::write_private(&path, file.to_string().as_bytes()).unwrap();
            Previous::find(dir.path()).reflection
        };
        let (gone, now) = (i32::MAX as u32, boot().unwrap());
        assert!(find(std::process::id(), Some(&now), token.reveal()).is_none());
        assert!(find(gone, None, token.reveal()).is_none());
        assert!(find(gone, Some("another"), token.reveal()).is_none());
        assert!(find(gone, Some(&now), "short").is_none());
        let previous = find(gone, Some(&now), token.reveal()).unwrap();
        assert!(previous.token.matches(token.reveal()) && previous.port == 3201);
    }
}
