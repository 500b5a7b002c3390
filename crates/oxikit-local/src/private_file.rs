//! Files and folders that contain tokens, and so are accessible only to the user of this process.
//!
//! A cloned repository may contain files with the same names, or symbolic links. So a file is
//! read only if it is a regular file, belongs to this user and is closed to others. Nothing is
//! written through a symbolic link.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use uuid::Uuid;

use crate::untrusted_file::{opened, text_of};

/// Reads a file of at most `max` bytes that only this user can access. `None` if it is missing.
///
/// ```
/// use oxikit_local::private_file::{read_private, write_private};
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("token");
/// assert_eq!(read_private(&file, 100)?, None);
/// write_private(&file, b"secret")?;
/// assert_eq!(read_private(&file, 100)?.as_deref(), Some("secret"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the file is a symbolic link or not a regular file, belongs to another user, is open to
/// other users, is too large or is not UTF-8. The message says which, without the path.
pub fn read_private(path: &Path, max: u64) -> io::Result<Option<String>> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
        Ok(metadata) => refuse_link(&metadata)?,
    }
    // The path may be replaced after the check above, so the file is opened without following
    // links, and its owner and mode are read from the open file.
    let (file, metadata) = opened(path, OpenOptions::new().read(true), no_follow())?;
    check_private(&metadata)?;
    text_of(file, max).map(Some)
}

/// Checks that a file belongs to this user and is closed to others.
///
/// # Errors
///
/// If it does not, or is not. Systems other than Unix are not checked.
pub fn check_private(metadata: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if !is_ours(metadata) {
            return Err(refused("it belongs to another user".to_owned()));
        }
        // Any permission bit for the group or others means that the token may be known.
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(refused(format!("it is open to other users (mode {mode:o})")));
        }
    }
    #[cfg(not(unix))]
    let _ = metadata;
    Ok(())
}

/// Writes a file atomically, with access for this user only: a reader sees the old or the new
/// content. A symbolic link at `path` is replaced, not followed.
///
/// # Errors
///
/// If the file cannot be written. The message has the path.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let fresh = path.with_extension(format!("new-{}", Uuid::new_v4().simple()));
    let mut options = OpenOptions::new();
    // `create_new` opens no existing file and follows no symbolic link.
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let written = options.open(&fresh).and_then(|mut file| file.write_all(content));
    written.and_then(|()| fs::rename(&fresh, path)).map_err(|error| {
        // The new file may not exist.
        _ = fs::remove_file(&fresh);
        io::Error::new(error.kind(), format!("{} cannot be written: {error}", path.display()))
    })
}

/// Opens a file for writing, such as a lock file, and creates it if it is missing.
///
/// # Errors
///
/// If it is a symbolic link or not a regular file, or cannot be opened.
pub fn open_private(path: &Path) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    opened(path, &mut options, no_follow()).map(|(file, _)| file)
}

/// Creates a folder that only this user can access, or restricts an existing one. Its entries
/// must be files and folders, except those for which `is_allowed` is true, such as sockets.
///
/// # Errors
///
/// If the folder is a symbolic link, belongs to another user, contains another kind of entry or
/// cannot be created. The message has the path and says what to do.
pub fn make_private_dir(path: &Path, is_allowed: impl Fn(&str) -> bool) -> io::Result<()> {
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

/// Creates a folder and its parents.
///
/// # Errors
///
/// If it is a symbolic link or cannot be created. The message has the path.
pub fn make_dir(path: &Path) -> io::Result<()> {
    let refused_link =
        || refused(format!("{} is a symbolic link: replace it by a folder", path.display()));
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => return Err(refused_link()),
        _ => {}
    }
    fs::create_dir_all(path).map_err(|error| {
        io::Error::new(
            error.kind(),
            format!("the folder {} cannot be created: {error}", path.display()),
        )
    })
}

/// Whether a file belongs to the user of this process.
#[cfg(unix)]
pub fn is_ours(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(metadata) == rustix::process::geteuid().as_raw()
}

/// Always `true`: on this system the folders of a user are private by default.
#[cfg(not(unix))]
pub fn is_ours(_: &Metadata) -> bool {
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
