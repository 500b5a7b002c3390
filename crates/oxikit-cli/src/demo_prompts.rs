//! The prompt files of the demo, which its user can edit while it runs.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use oxikit_devtools::make_data_dir;
use oxikit_local::private_file::make_private_dir;

use crate::project::DATA_DIR;

/// The files by name. `_tone.prompt` is a partial, which other prompts include.
const FILES: [(&str, &str); 2] = [
    (
        "joke.prompt",
        "\
---
description: A joke about something.
input:
  schema:
    topic: string, what the joke is about
---
{{role \"system\"}}You tell jokes.
{{role \"user\"}}A joke about {{topic}}, please. {{> tone}}
",
    ),
    ("_tone.prompt", "Keep it short and kind.\n"),
];

/// The folder of the demo's prompts in a project.
pub(crate) fn folder(root: &Path) -> PathBuf {
    root.join(DATA_DIR).join("demo").join("prompts")
}

/// Writes the files that do not exist yet, and returns their folder. Edited files stay as they
/// are, and nothing is written through a symbolic link.
pub(crate) fn write(root: &Path) -> io::Result<PathBuf> {
    let folder = folder(root);
    make_data_dir(&root.join(DATA_DIR))?;
    for dir in [root.join(DATA_DIR).join("demo"), folder.clone()] {
        make_private_dir(&dir, |_| false)?;
    }
    for (name, text) in FILES {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(folder.join(name)) {
            Ok(mut file) => file.write_all(text.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test has made these files itself")]
    fn edited_files_and_links_stay_as_they_are() {
        let root = tempfile::tempdir().unwrap();
        let folder = write(root.path()).unwrap();
        let joke = folder.join("joke.prompt");
        assert!(fs::read_to_string(&joke).unwrap().contains("{{topic}}"));
        fs::write(&joke, "mine").unwrap();
        write(root.path()).unwrap();
        assert_eq!(fs::read_to_string(&joke).unwrap(), "mine");

        let elsewhere = tempfile::tempdir().unwrap();
        fs::remove_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &folder).unwrap();
        assert!(write(root.path()).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
