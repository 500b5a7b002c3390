//! Mistakes that are found in prompt files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::null_is_default;
use crate::number::{integer, optional_integer};

/// `GET /api/prompts/lint`, an addition: the mistakes in all documents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptLint")]
pub struct LintReport {
    /// Number of documents that were checked.
    #[serde(deserialize_with = "integer")]
    pub documents: usize,
    /// The mistakes, ordered by file and line.
    #[serde(default, deserialize_with = "null_is_default")]
    pub findings: Vec<Finding>,
}

impl LintReport {
    /// Whether one of the mistakes is an error.
    ///
    /// ```
    /// use oxikit_wire::prompts::LintReport;
    ///
    /// assert!(!LintReport::default().has_errors());
    /// ```
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }
}

/// A mistake in a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The path of the registered directory.
    pub directory: String,
    /// The path of the file below it; empty if the directory itself cannot be read.
    pub file: String,
    /// The id of the document; absent if the file cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The line of the file, counted from 1; absent if the mistake is not in one line.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub line: Option<u32>,
    /// Whether a call of the prompt would fail or send a wrong text.
    pub severity: Severity,
    /// What is wrong.
    pub code: FindingCode,
    /// The mistake, and what to do about it.
    pub message: String,
}

/// How serious a mistake is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// A call of the prompt fails, or sends a wrong text to the model.
    Error,
    /// A probable mistake.
    Warning,
}

/// The kind of a mistake.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The file cannot be read.
    Unreadable,
    /// The front matter is not valid.
    FrontMatter,
    /// Nothing reads a key of the front matter.
    UnknownKey,
    /// The template does not parse, or names a helper or schema that does not exist.
    Template,
    /// The template includes a partial that does not exist.
    MissingPartial,
    /// `[[name]]` names no document.
    MissingInclusion,
    /// Documents include each other in a circle.
    CircularInclusion,
    /// Inclusions are nested too deeply, or the text becomes too large.
    InclusionLimit,
    /// `[[name]]` may mean several documents.
    AmbiguousInclusion,
    /// Several documents have the same name.
    AmbiguousName,
    /// No document includes the fragment.
    UnusedFragment,
}
