//! The prompts as an application loads them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DocumentKind;
use super::integers::integers_or_default;
use crate::absent::null_is_default;
use crate::number::integer;

/// `GET /api/prompts/export?label=`, an addition: all prompts for an application, ready to be
/// compiled.
///
/// With a label these are the prompts that have it, at the revision that it names. Included
/// documents without a pin are taken at the revision of the same label, or at the newest one if
/// they do not have it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptExport")]
pub struct Export {
    /// The label of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The prompts, and the fragments as partials, ordered by name. It is never absent: an answer
    /// without it is not an export, and must not empty an application.
    pub prompts: Vec<ExportedPrompt>,
}

/// A prompt of an [`Export`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedPrompt {
    /// The name for the application: the path of the file below its directory, without extension,
    /// and of a partial without the `_` of its file. It does not change when another file gets the
    /// same name, as the id does.
    pub name: String,
    /// A prompt; or a fragment, which templates include as the partial of this name. A fragment may
    /// have several names.
    pub kind: DocumentKind,
    /// The id of the document.
    pub id: String,
    /// Its revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// The text of a Dotprompt file: front matter and template, with the included documents in
    /// place.
    pub source: String,
    /// The revisions of the included documents, direct and indirect, by id.
    #[serde(default, deserialize_with = "integers_or_default")]
    pub fragments: BTreeMap<String, u64>,
    /// What could not be included, and why.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
