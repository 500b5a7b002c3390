//! Files and folders that belong to the user of this process alone: they hold tokens.
//!
//! A cloned repository may bring files under the same names along, or links in their
//! places. So a file counts only if it is a regular one, ours, and closed to others, and
//! nothing is ever written through a link.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

use crate::untrusted_file::{opened, text_of};

/// The text of a file that only its owner, who we are, can read or write; `None` if
/// there is none.
///
/// # Errors
///
/// If there is another file, or a link; the text says what is wrong with it.
pub(crate) fn read_private(path: &Path, max: u64) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(metadata) => refuse_link(&metadata)?,
    }
    let (file, metadata) = opened(path, OpenOptions::new().read(true), no_follow())?;
    check_private(&metadata)?;
    text_of(file, max).map(Some)
}

/// Refuses what belongs to others, or is open to them.
pub(crate) fn check_private(metadata: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if !is_ours(metadata) {
            return Err(refused("it belongs to another user".to_owned()));
        }
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(refused(format!("it is open to other users (mode {mode:o})")));
        }
    }
    #[cfg(not(unix))]
    let _ = metadata;
    Ok(())
}

/// Writes a file at once: a reader sees all of it or the one before. A link in its place
/// is replaced, not followed.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension(format!("new-{}", Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    // `create_new` opens nothing that is there already, not even a link.
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(&fresh).and_then(|mut file| file.write_all(content));
    written.and_then(|()| fs::rename(&fresh, path)).map_err(|error| {
        // It may not have been made.
        _ = fs::remove_file(&fresh);
        io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
    })
}

/// Opens a file of ours for writing and makes it if it is missing. A link is refused.
pub(crate) fn open_private(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    opened(path, &mut options, no_follow()).map(|(file, _)| file)
}

/// Makes a folder that only its owner can look into. Neither it nor its parent may be a
/// link in a place where a folder is expected, and nothing in it but what `is_allowed`
/// names may be anything else than a file or a folder.
///
/// # Errors
///
/// If it cannot be made, or is another one; the text names it and says what to do.
pub(crate) fn make_private_dir(path: &Path, is_allowed: impl Fn(&str) -> bool) -> io::Result<()> {
    make_dir(path)?;
    let metadata = fs::symlink_metadata(path)?;
    if !is_ours(&metadata) {
        let message = format!("{} belongs to another user: use a folder of yours", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if !kind.is_file() && !kind.is_dir() && !is_allowed(&entry.file_name().to_string_lossy()) {
            return Err(refused(format!(
                "{} is neither a file nor a folder: remove it",
                entry.path().display()
            )));
        }
    }
    Ok(())
}

/// Makes a folder. A link in its place is refused.
pub(crate) fn make_dir(path: &Path) -> io::Result<()> {
    let refused_link =
        || refused(format!("{} is a symbolic link: replace it by a folder", path.display()));
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => return Err(refused_link()),
        _ => {}
    }
    fs::create_dir_all(path).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("the folder {} cannot be made: {error}", path.display()),
        )
    })
}

/// Whether a file is of the user of this process.
#[cfg(unix)]
pub(crate) fn is_ours(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == rustix::process::geteuid().as_raw()
}

/// The system does not tell: folders of a user are theirs alone.
#[cfg(not(unix))]
pub(crate) fn is_ours(_: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

#[cfg(not(unix))]
fn no_follow() -> i32 {
    0
}

fn refuse_link(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_symlink() {
        true => Err(refused("it is a symbolic link".to_owned())),
        false => Ok(()),
    }
}

fn refused(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

#[cfg(test)]
#[cfg(unix)]
#[allow(clippy::disallowed_methods, reason = "tests read their own files")]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_a_file_of_ours_alone_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        assert_eq!(read_private(&path("missing"), 10).unwrap(), None);
        write_private(&path("good"), b"text").unwrap();
        assert_eq!(read_private(&path("good"), 10).unwrap().as_deref(), Some("text"));
        fs::write(path("open"), "text").unwrap();
        fs::set_permissions(path("open"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink(path("good"), path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).unwrap();
        fs::create_dir(path("folder")).unwrap();
        write_private(&path("large"), b"eleven more").unwrap();
        for (name, reason) in [
            ("open", "open to other users (mode 640)"),
            ("link", "symbolic link"),
            ("pipe", "not a regular file"),
            ("folder", "not a regular file"),
            ("large", "more than 10 bytes"),
        ] {
            let error = read_private(&path(name), 10).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
    }

    #[test]
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("victim"), "old").unwrap();
        symlink(path("victim"), path("link")).unwrap();
        write_private(&path("link"), b"new").unwrap();
        assert_eq!(fs::read_to_string(path("victim")).unwrap(), "old");
        assert_eq!(fs::read_to_string(path("link")).unwrap(), "new");
        assert_eq!(mode(&path("link")), 0o600);
        symlink(path("victim"), path("lock")).unwrap();
        open_private(&path("lock")).unwrap_err();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RWXU).unwrap();
        open_private(&path("pipe")).unwrap_err();
        open_private(&path("fresh")).unwrap();
        assert_eq!(mode(&path("fresh")), 0o600);
    }

    #[test]
    fn a_folder_of_ours_holds_no_links() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        make_private_dir(&path("data"), |_| false).unwrap();
        assert_eq!(mode(&path("data")), 0o700);
        symlink(path("data"), path("link")).unwrap();
        let refused = make_private_dir(&path("link"), |_| false).unwrap_err().to_string();
        assert!(refused.contains("link is a symbolic link"), "{refused}");
        symlink("/dev/null", path("data/config.toml")).unwrap();
        make_private_dir(&path("data"), |name| name == "config.toml").unwrap();
        let refused = make_private_dir(&path("data"), |_| false).unwrap_err().to_string();
        assert!(refused.contains("config.toml is neither"), "{refused}");
    }
}
