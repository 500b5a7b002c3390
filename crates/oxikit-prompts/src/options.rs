//! The options of a prompt library.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Default of [`PromptsOptions::max_content`] in bytes.
pub const DEFAULT_MAX_CONTENT: usize = 4 << 20;

/// What a prompt library serves, and its limits.
///
/// ```
/// use oxikit_prompts::PromptsOptions;
///
/// let mut options = PromptsOptions::new(["prompts"]);
/// options.is_read_only = true;
/// assert_eq!(options.max_content, 4 * 1024 * 1024);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PromptsOptions {
    /// Directories with documents. Those of `registry_file` are added.
    pub directories: Vec<DirectorySpec>,
    /// A JSON file with registered directories, as an array of `{path, name, description,
    /// enabled}`. Changes of directories are written back to it. Without it they last until the
    /// library is closed.
    pub registry_file: Option<PathBuf>,
    /// Directories can be registered, and paths completed, only in and below these folders.
    pub allowed_roots: Vec<PathBuf>,
    /// Maximum length of the content of a document in bytes. Larger submissions are refused, and
    /// larger files are not served. Default: 4 MiB.
    pub max_content: usize,
    /// Whether all changes are refused. Files that other programs change are still read.
    pub is_read_only: bool,
    /// Whether processes on other machines, with folders of their own, use the same store. Then a
    /// document of the store whose file is missing is written to the folder; otherwise it counts as
    /// deleted by another program.
    pub is_shared: bool,
    /// Time without a member and without a request after which a document's task ends. Default:
    /// 30 seconds.
    pub idle_time: Duration,
    /// Shortest interval between two checks of the files for changes by other programs. Default:
    /// 250 milliseconds.
    pub watch_interval: Duration,
    /// Time without progress after which a member's waiting messages are replaced by one `initial`
    /// message. Default: 10 seconds.
    pub stall_time: Duration,
}

impl PromptsOptions {
    /// Options for these directories, with defaults for everything else.
    pub fn new<P: AsRef<Path>>(directories: impl IntoIterator<Item = P>) -> Self {
        let directories = directories.into_iter().map(|path| DirectorySpec::new(path.as_ref()));
        Self { directories: directories.collect(), ..Self::default() }
    }
}

impl Default for PromptsOptions {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            registry_file: None,
            allowed_roots: Vec::new(),
            max_content: DEFAULT_MAX_CONTENT,
            is_read_only: false,
            is_shared: false,
            idle_time: Duration::from_secs(30),
            watch_interval: Duration::from_millis(250),
            stall_time: Duration::from_secs(10),
        }
    }
}

/// A directory with documents, in the options and in the registry file.
///
/// ```
/// use oxikit_prompts::DirectorySpec;
///
/// let spec: DirectorySpec = serde_json::from_str(r#"{"path": "team/prompts"}"#)?;
/// assert_eq!(spec, DirectorySpec::new("team/prompts"));
/// assert!(spec.enabled);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DirectorySpec {
    /// The path of the folder.
    pub path: PathBuf,
    /// The name that people see. Default: the name of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether its documents are served.
    #[serde(default = "enabled")]
    pub enabled: bool,
    /// The first part of the keys of its documents. It never changes, so that the history of the
    /// documents is found again after the directory got another name. Default: the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl DirectorySpec {
    /// An enabled directory with default names.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), name: None, description: None, enabled: true, key: None }
    }

    /// Sets the name that people see.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }
}

fn enabled() -> bool {
    true
}
