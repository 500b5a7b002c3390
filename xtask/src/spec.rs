//! `cargo xtask spec`: the official conformance data, fetched at a pinned commit.
//!
//! The data belongs to other projects and is not part of this repository. If it is
//! missing, the suites that need it are skipped and named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::{metadata, tools};

/// Some files of a public repository at one commit.
struct Source<'a> {
    /// The folder below `conformance` that they are put into.
    name: &'a str,
    url: &'a str,
    commit: &'a str,
    files: &'a [File<'a>],
}

/// The path in the repository, the path below the folder, and the SHA-256 of the content.
type File<'a> = (&'a str, &'a str, &'a str);

const SOURCES: [Source<'static>; 2] = [
    Source {
        name: "genkit",
        url: "https://github.com/genkit-ai/genkit",
        commit: "846fb0ca69a1ea028d64cf892c8632db1c653860",
        files: &[
            (
                "tests/specs/agent.yaml",
                "agent.yaml",
                "bc4802d70081c683e5375b14d7d133d4df1c9d63905b46e38507d087f606fbc6",
            ),
            (
                "tests/specs/generate.yaml",
                "generate.yaml",
                "3509cfff511d7cc2967853572baa291671c919b6732b7a23dc2a87cdab79681e",
            ),
        ],
    },
    Source {
        name: "dotprompt",
        url: "https://github.com/google/dotprompt",
        commit: "aa4bf02119c3c018e6e384e59cb9038655c00580",
        files: &[
            (
                "spec/metadata.yaml",
                "metadata.yaml",
                "7f9a61a6bd506b03d8ee1e249b38cc9a561edb2e412f96b3a021734fb24d86ed",
            ),
            (
                "spec/partials.yaml",
                "partials.yaml",
                "5f794a1cfa369fdf5a4e3c8dd907ee33b4e232cb39b886a7237edf47297cc186",
            ),
            (
                "spec/picoschema.yaml",
                "picoschema.yaml",
                "2d3e8bc09a9c4c23f07625a2e77024454017d448257997e3a54d488ae974603c",
            ),
            (
                "spec/unicode.yaml",
                "unicode.yaml",
                "7b5b9a75cf56af1ab55395abf5920372f329b17e4faedecd12312747364112e0",
            ),
            (
                "spec/variables.yaml",
                "variables.yaml",
                "07dcbcb8a9b678e4e33a8b70ce0d62eb8a05db07cb6fc21c3d21f45b0166c54e",
            ),
            (
                "spec/whitespace.yaml",
                "whitespace.yaml",
                "86d2d1aa04e2fe2c3e5a93efe97a659909f93bcc5297278c5746a13884fcce09",
            ),
            (
                "spec/helpers/history.yaml",
                "helpers/history.yaml",
                "96786f1b4d088cfc6fbca70b2c86c6deb1ae4c80c51877b97948abee1f352da2",
            ),
            (
                "spec/helpers/ifEquals.yaml",
                "helpers/ifEquals.yaml",
                "e70b71ed22d81fac0111ba1620f9a723a4a5e1873f07b442dfa393fa5afe5603",
            ),
            (
                "spec/helpers/json.yaml",
                "helpers/json.yaml",
                "3aa59f88e5fa089dd0387845ec2ff1faf95f6e3028a357f79d555966cc02443a",
            ),
            (
                "spec/helpers/media.yaml",
                "helpers/media.yaml",
                "694ef0e66e05c213c9322a431b5a7a36adc2fb38dc2f2c1d12780b8bd898aa15",
            ),
            (
                "spec/helpers/role.yaml",
                "helpers/role.yaml",
                "717ee8a0e667318f93f320639e3e8ee5cbc8e9c470c5ac3e55496a238a136b30",
            ),
            (
                "spec/helpers/section.yaml",
                "helpers/section.yaml",
                "8e4b7a63c8de6cc91f77d27e7b1cb32b26266c25709c18df8f26d0cb7b0aa983",
            ),
            (
                "spec/helpers/unlessEquals.yaml",
                "helpers/unlessEquals.yaml",
                "bb157d6124f719224397dc6ed7060d4a629bf3260f339f1f40b570ed94466f5f",
            ),
        ],
    },
];

/// `cargo xtask spec [<name>=<url> …]`: another address for a source is a mirror of it.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let mirrors = args.iter().map(|arg| {
        let mirror = arg
            .split_once('=')
            .filter(|(name, _)| SOURCES.iter().any(|source| source.name == *name));
        mirror.with_context(|| format!("`{arg}` is not `genkit=<url>` or `dotprompt=<url>`"))
    });
    let mirrors = mirrors.collect::<Result<Vec<_>>>()?;
    let spec = folder()?;
    for source in SOURCES {
        let mirror = mirrors.iter().find(|(name, _)| *name == source.name);
        let source = Source { url: mirror.map_or(source.url, |(_, url)| url), ..source };
        source.fetch(&spec)?;
        println!("{}: {} files of {}", source.name, source.files.len(), source.url);
    }
    Ok(())
}

/// The folder of the specification: `OXIKIT_SPEC`, the folder `shared` beside the repository, or the
/// result of `cargo xtask spec`. `None` if there is none.
pub(crate) fn find() -> Result<Option<PathBuf>> {
    if let Some(spec) = std::env::var_os("OXIKIT_SPEC") {
        return Ok(Some(spec.into()));
    }
    let beside = tools::root().join("../shared");
    let places = [beside, folder()?];
    Ok(places.into_iter().find(|place| place.join("conformance").is_dir()))
}

fn folder() -> Result<PathBuf> {
    Ok(metadata::target_dir()?.join("spec"))
}

impl Source<'_> {
    /// Fetches the commit alone, and writes the files whose content is as expected.
    fn fetch(&self, spec: &Path) -> Result<()> {
        let clone = spec.join("git").join(self.name);
        fs::create_dir_all(&clone)?;
        let git = |args: &[&str]| -> Command {
            let mut git = Command::new("git");
            git.arg("-C").arg(&clone).args(args);
            git
        };
        tools::read(&mut git(&["init", "--quiet", "--bare"]))?;
        let fetch = ["fetch", "--quiet", "--depth", "1", self.url, self.commit];
        tools::read(&mut git(&fetch)).with_context(|| {
            format!("`{}` cannot be had; the suites that need it are skipped without it", self.url)
        })?;
        for (path, name, checksum) in self.files {
            let content = git(&["show", &format!("{}:{path}", self.commit)]).output()?;
            let actual = hex(&Sha256::digest(&content.stdout));
            if !content.status.success() || actual != *checksum {
                bail!("`{path}` of {} differs from the expected file (SHA-256 {actual})", self.url);
            }
            let target = spec.join("conformance").join(self.name).join(name);
            fs::create_dir_all(target.parent().context("a file is in a folder")?)?;
            fs::write(target, content.stdout)?;
        }
        Ok(())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with one file, on this machine.
    fn remote(folder: &Path, content: &str) -> String {
        fs::create_dir_all(folder.join("specs")).unwrap();
        fs::write(folder.join("specs/a.yaml"), content).unwrap();
        let git = |args: &[&str]| {
            let who = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
            tools::read(Command::new("git").current_dir(folder).args(who).args(args)).unwrap()
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "one"]);
        git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    #[test]
    fn files_of_a_commit_are_fetched_and_checked() {
        let dir = std::env::temp_dir().join(format!("oxikit-spec-{}", std::process::id()));
        let (from, to) = (dir.join("remote"), dir.join("spec"));
        let commit = remote(&from, "cases: []\n");
        let checksum = hex(&Sha256::digest("cases: []\n"));
        let url = from.to_str().unwrap();
        let check = |commit: &str, checksum: &str| {
            let files = [("specs/a.yaml", "deep/a.yaml", checksum)];
            Source { name: "test", url, commit, files: &files }.fetch(&to)
        };
        check(&commit, &checksum).unwrap();
        let file = to.join("conformance/test/deep/a.yaml");
        assert_eq!(fs::read_to_string(&file).unwrap(), "cases: []\n");
        // Content that is not what was pinned is not written.
        fs::remove_file(&file).unwrap();
        let error = check(&commit, &"0".repeat(64)).unwrap_err();
        assert!(error.to_string().contains("differs from the expected file"), "{error}");
        assert!(!file.exists());
        check(&"1".repeat(40), &checksum).unwrap_err();
        fs::remove_dir_all(dir).unwrap();
    }
}
