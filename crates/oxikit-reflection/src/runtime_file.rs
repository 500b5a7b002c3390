//! The runtime file, from which the developer tools read the URL of a runtime (V1).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::timestamp;
use oxikit_wire::rpc::{
    GENKIT_GITIGNORE, PROJECT_MARKERS, REFLECTION_API_SPEC_VERSION, RuntimeFile,
};

use super::identity::{GENKIT_VERSION, Identity};

/// The nearest folder, at or above `folder`, that the official tools recognize as a project;
/// else `folder`. The tools look for runtime files only there.
pub(super) fn project_root(folder: &Path) -> &Path {
    let is_project =
        |folder: &&Path| PROJECT_MARKERS.iter().any(|marker| folder.join(marker).exists());
    folder.ancestors().find(is_project).unwrap_or(folder)
}

/// Deletes the runtime file when it is dropped.
#[derive(Debug)]
pub(super) struct RuntimeFileGuard(PathBuf);

impl RuntimeFileGuard {
    /// Writes the file. The runtime must listen already: the tools connect at once, and delete
    /// the file of a runtime that does not answer.
    pub(super) fn write(
        project_root: &Path,
        identity: &Identity,
        url: &str,
        port: u16,
    ) -> io::Result<Self> {
        let genkit = project_root.join(".genkit");
        let runtimes = genkit.join("runtimes");
        create_private_folders(&genkit, &runtimes)?;
        // An existing file stays. A failure is ignored, because only projects with Git need it.
        _ = write_private(&genkit.join(".gitignore"), GENKIT_GITIGNORE.as_bytes());
        let millis = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let name = format!("{}-{port}-{millis}.json", identity.pid);
        // The tools watch the folder and read new files at once, so the complete file is moved
        // there.
        let draft = genkit.join(format!(".{name}.tmp"));
        let path = runtimes.join(name);
        let written = write_private(&draft, &content(identity, url)?);
        if let Err(error) = written.and_then(|()| fs::rename(&draft, &path)) {
            _ = fs::remove_file(&draft);
            return Err(error);
        }
        Ok(Self(path))
    }

    /// Removes the file, if it is still there.
    pub(super) fn remove(&self) {
        match fs::remove_file(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(%error, path = %self.0.display(), "could not remove the runtime file");
            }
            _ => {}
        }
    }
}

impl Drop for RuntimeFileGuard {
    fn drop(&mut self) {
        self.remove();
    }
}

/// The JSON text of the file.
fn content(identity: &Identity, url: &str) -> io::Result<Vec<u8>> {
    let file = RuntimeFile {
        id: identity.id.clone(),
        pid: identity.pid,
        name: Some(identity.name.clone()),
        reflection_server_url: url.to_owned(),
        timestamp: timestamp::now(),
        genkit_version: Some(GENKIT_VERSION.to_owned()),
        reflection_api_spec_version: Some(REFLECTION_API_SPEC_VERSION),
    };
    Ok(serde_json::to_vec_pretty(&file)?)
}

/// Writes a file that only this user can read: the URL contains the token.
fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    // `create_new` fails for an existing file and for a symbolic link.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::Write::write_all(&mut options.open(path)?, content)
}

/// Makes the folders for this user only. Existing folders stay as they are. A symbolic link is
/// rejected: a cloned repository could redirect the file with the token.
fn create_private_folders(genkit: &Path, runtimes: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    for folder in [genkit, runtimes] {
        if fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink()) {
            let message =
                format!("{} is a symbolic link: replace it by a folder", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        builder.create(folder)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[&str], from: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("a/b/c")).unwrap();
        for file in files {
            fs::write(folder.path().join(file), "").unwrap();
        }
        let found = project_root(&folder.path().join(from)).to_owned();
        assert_eq!(found, folder.path().join(expected), "{files:?} from {from}");
    }

    #[test]
    fn the_root_is_where_the_official_tools_look() {
        for marker in PROJECT_MARKERS {
            check(&[&format!("a/{marker}")], "a/b/c", "a");
            check(&[&format!("a/b/c/{marker}")], "a/b/c", "a/b/c");
        }
        // The nearest counts.
        check(&["a/package.json", "a/b/go.mod"], "a/b/c", "a/b");
        // The official tools do not recognize Rust projects and use the working directory.
        check(&["a/Cargo.toml"], "a/b/c", "a/b/c");
        check(&["a/Cargo.toml", "a/b/c/Cargo.toml"], "a/b", "a/b");
        check(&["a/b/package.json"], "a", "a");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_a_folder_is_refused() {
        for link in [".genkit", ".genkit/runtimes"] {
            let (project, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let path = project.path().join(link);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
            let genkit = project.path().join(".genkit");
            let refused = create_private_folders(&genkit, &genkit.join("runtimes")).unwrap_err();
            assert!(refused.to_string().contains("symbolic link"), "{refused}");
            assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
        }
    }
}
