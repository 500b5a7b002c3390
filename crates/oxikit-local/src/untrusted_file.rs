//! Reads files that a cloned repository may contain.
//!
//! Reading neither blocks nor exhausts the memory: pipes, devices and folders are rejected, and
//! so are files above a maximum size.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Maximum number of bytes of a file with settings, or of a runtime file. Larger ones are
/// rejected.
pub const MAX_SMALL: u64 = 64 << 10;
/// Maximum number of bytes of the manifest of a project, such as `package.json`. Larger ones are
/// rejected.
pub const MAX_MANIFEST: u64 = 4 << 20;
/// Maximum number of bytes of a file on the command line: more than the tools accept in a
/// request. Larger files are rejected, longer standard input is cut off.
const MAX_NAMED: u64 = 64 << 20;

/// Reads a regular file of at most `max` bytes.
///
/// ```
/// use oxikit_local::untrusted_file::read_text;
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("package.json");
/// std::fs::write(&file, "{}")?;
/// assert_eq!(read_text(&file, 10)?, "{}");
/// assert!(read_text(&file, 1).is_err(), "it is larger than one byte");
/// assert!(read_text(folder.path(), 10).is_err(), "a folder is not a regular file");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If the file is missing, not a regular file, too large or not UTF-8.
pub fn read_text(path: &Path, max: u64) -> io::Result<String> {
    text_of(open(path)?.0, max)
}

/// Opens a regular file for reading. Symbolic links are followed.
///
/// # Errors
///
/// If the file is missing, cannot be read or is not a regular file.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    // Opening a device can have side effects, so its kind is checked before, too. The check
    // after opening covers a file that was replaced in between.
    refuse_irregular(&fs::metadata(path)?)?;
    opened(path, OpenOptions::new().read(true), 0)
}

/// Reads the text of an open file of at most `max` bytes.
///
/// # Errors
///
/// If it is larger, cannot be read or is not UTF-8.
pub fn text_of(file: File, max: u64) -> io::Result<String> {
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

/// Reads a file that the user named on the command line. It may be a pipe, which blocks.
///
/// # Errors
///
/// If the file cannot be read, is larger than 64 MiB or is not UTF-8.
pub fn read_named(path: &Path) -> io::Result<String> {
    text_of(File::open(path)?, MAX_NAMED)
}

/// Reads the standard input, at most 64 MiB.
///
/// # Errors
///
/// If it cannot be read or is not UTF-8.
pub fn read_stdin() -> io::Result<String> {
    let mut text = String::new();
    io::stdin().lock().take(MAX_NAMED).read_to_string(&mut text)?;
    Ok(text)
}

/// Opens a regular file with these options, without blocking on a pipe. `flags` are additional
/// flags of `open(2)`; they are ignored on systems other than Unix.
///
/// # Errors
///
/// If the file cannot be opened or is not a regular file.
pub fn opened(path: &Path, options: &mut OpenOptions, flags: i32) -> io::Result<(File, Metadata)> {
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
