//! Reads files that others may have put there: a cloned repository brings them along.
//!
//! Reading never waits and has an end: a pipe, a device or a folder is refused, and so
//! is a file that is larger than its kind ever is.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Maximum number of bytes of a file with settings, or of one that names a process.
pub(crate) const MAX_SMALL: u64 = 64 << 10;
/// Maximum number of bytes of the manifest of a project, such as `package.json`.
pub(crate) const MAX_MANIFEST: u64 = 4 << 20;
/// Maximum number of bytes of a file that somebody names on the command line: more than
/// the tools accept in a request.
const MAX_NAMED: u64 = 64 << 20;

/// The text of a regular file of at most so many bytes.
pub(crate) fn read_text(path: &Path, max: u64) -> io::Result<String> {
    text_of(open(path)?.0, max)
}

/// Opens a regular file.
pub(crate) fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening a device can have effects: its kind is looked at before, too.
    refuse_irregular(&fs::metadata(path)?)?;
    opened(path, OpenOptions::new().read(true), 0)
}

/// The text of a file of at most so many bytes.
pub(crate) fn text_of(file: File, max: u64) -> io::Result<String> {
    let mut text = String::new();
    file.take(max + 1).read_to_string(&mut text)?;
    if text.len() as u64 > max {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {max} bytes"),
        ));
    }
    Ok(text)
}

/// The text of a file that the user has named: it may be a pipe, which is waited for.
#[expect(clippy::disallowed_methods, reason = "the user has named the file")]
pub(crate) fn read_named(path: &Path) -> io::Result<String> {
    text_of(File::open(path)?, MAX_NAMED)
}

/// The standard input, as text.
pub(crate) fn read_stdin() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().take(MAX_NAMED).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a regular file without waiting for a pipe. `flags` are those of the system.
pub(crate) fn opened(
    path: &Path,
    options: &mut OpenOptions,
    flags: i32,
) -> io::Result<(File, Metadata)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(flags | rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = flags;
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    refuse_irregular(&metadata)?;
    Ok((file, metadata))
}

fn refuse_irregular(metadata: &Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("good"), "text").unwrap();
        fs::write(path("large"), "x".repeat(11)).unwrap();
        fs::create_dir(path("folder")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe"), rustix::fs::Mode::RUSR).unwrap();
        std::os::unix::fs::symlink("/dev/zero", path("endless")).unwrap();
        std::os::unix::fs::symlink(path("pipe"), path("to-pipe")).unwrap();
        assert_eq!(read_text(&path("good"), 10).unwrap(), "text");
        for (name, reason) in [
            ("large", "more than 10 bytes"),
            ("folder", "not a regular file"),
            ("pipe", "not a regular file"),
            ("to-pipe", "not a regular file"),
            ("endless", "not a regular file"),
            ("missing", "No such file"),
        ] {
            let error = read_text(&path(name), 10).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
    }
}
