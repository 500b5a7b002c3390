//! The prompts of a project: which of its folders hold them.

use std::io;
use std::path::{Path, PathBuf};

use oxikit_local::private_file::check_private;

use crate::{DirectorySpec, PromptsOptions};

/// Folders of a project that hold prompts, if nothing else is configured.
const FOLDERS: [&str; 4] = ["prompts", "src/prompts", ".prompts", ".prompt"];
/// The file of registered directories in the data folder of a project.
const REGISTRY: &str = "prompt_directories.json";

/// The folders of a project that hold prompts by convention and exist: `prompts`, `src/prompts`,
/// `.prompts` and `.prompt`. A symbolic link that leads out of the project does not count: a cloned
/// repository may contain one.
///
/// ```
/// let project = tempfile::tempdir()?;
/// std::fs::create_dir(project.path().join("prompts"))?;
/// let folders = oxikit_prompts::project_directories(project.path());
/// assert_eq!(folders, [project.path().join("prompts")]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn project_directories(root: &Path) -> Vec<PathBuf> {
    let is_inside = |folder: &PathBuf| {
        let real = root.canonicalize().and_then(|root| Ok((folder.canonicalize()?, root)));
        folder.is_dir() && real.is_ok_and(|(folder, root)| folder.starts_with(root))
    };
    FOLDERS.iter().map(|folder| root.join(folder)).filter(is_inside).collect()
}

/// The options for the prompts of a project: these folders, relative to the project, or those of
/// [`project_directories`] if there are none. Directories that people register are kept in the data
/// folder, and must be in the project or below one of the folders.
///
/// ```
/// # use std::path::Path;
/// let project = tempfile::tempdir()?;
/// let data = project.path().join(".oxikit");
/// let options = oxikit_prompts::project_options(project.path(), &data, &["texts".into()])?;
/// assert_eq!(options.directories[0].path, project.path().join("texts"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// If other users could have written the list of registered directories: a cloned repository may
/// contain one, with folders of the user.
pub fn project_options(
    root: &Path,
    data_dir: &Path,
    folders: &[PathBuf],
) -> io::Result<PromptsOptions> {
    let folders = match folders {
        [] => project_directories(root),
        folders => folders.iter().map(|folder| root.join(folder)).collect(),
    };
    let registry = data_dir.join(REGISTRY);
    if let Ok(metadata) = std::fs::symlink_metadata(&registry) {
        check_private(&metadata).map_err(|error| {
            let registry = registry.display();
            let text = format!(
                "{registry} is not used, because {error}; if you wrote the file, run `chmod 600 {registry}`, else remove it"
            );
            io::Error::new(error.kind(), text)
        })?;
    }
    Ok(PromptsOptions {
        directories: folders.iter().map(DirectorySpec::new).collect(),
        registry_file: Some(registry),
        allowed_roots: std::iter::once(root.to_owned()).chain(folders).collect(),
        ..PromptsOptions::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_project_is_not_a_folder_of_prompts() {
        let (project, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::os::unix::fs::symlink(other.path(), project.path().join("prompts")).unwrap();
        assert!(project_directories(project.path()).is_empty());
        std::fs::create_dir(project.path().join(".prompts")).unwrap();
        assert_eq!(project_directories(project.path()), [project.path().join(".prompts")]);
    }

    #[cfg(unix)]
    #[test]
    fn a_list_of_directories_that_came_with_a_repository_is_not_used() {
        use std::os::unix::fs::PermissionsExt;

        let project = tempfile::tempdir().unwrap();
        let data = project.path().join(".oxikit");
        std::fs::create_dir(&data).unwrap();
        let list = data.join(REGISTRY);
        std::fs::write(&list, "[]").unwrap();
        let set_mode = |mode| {
            std::fs::set_permissions(&list, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o644);
        let error = project_options(project.path(), &data, &[]).unwrap_err();
        assert!(error.to_string().contains("chmod 600"), "{error}");
        set_mode(0o600);
        assert_eq!(project_options(project.path(), &data, &[]).unwrap().registry_file, Some(list));
    }
}
