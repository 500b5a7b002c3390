//! Safe access to local files and URLs that an attacker may have prepared.
//!
//! A cloned repository can contain any file under `.genkit` and `.oxikit`: a symbolic link, a
//! pipe, a huge file, a URL of another machine. The developer tools read and write such files
//! only through this crate:
//!
//! - [`untrusted_file`] reads regular files up to a maximum size, and never blocks.
//! - [`private_file`] reads and writes files that contain tokens, for this user only.
//! - [`local_url`] accepts only URLs that lead to this machine.
//!
//! ```
//! use oxikit_local::{local_url, private_file};
//!
//! let folder = tempfile::tempdir()?;
//! let file = folder.path().join("token");
//! private_file::write_private(&file, b"http://127.0.0.1:3100")?;
//! let url = private_file::read_private(&file, 1024)?.unwrap();
//! assert!(local_url::is_runtime_url(&url));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod local_url;
pub mod private_file;
pub mod untrusted_file;
