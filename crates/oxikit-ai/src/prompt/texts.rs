//! The texts of prompts and partials, and whom they belong to.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::ports::PromptOrigin;

/// The code of the application, a directory or a source that prompts and partials belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Owner(u64);

impl Owner {
    /// The code of the application.
    pub(super) const CODE: Self = Self(0);

    /// A directory or a source. They are counted from 1.
    pub(super) fn numbered(number: u64) -> Self {
        Self(number)
    }
}

/// The text of a prompt file or of a partial.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SourceText {
    pub(super) text: Arc<str>,
    /// `None` for texts of the application's own code and files.
    pub(super) origin: Option<PromptOrigin>,
}

impl From<Arc<str>> for SourceText {
    fn from(text: Arc<str>) -> Self {
        Self { text, origin: None }
    }
}

/// All prompts and partials of one owner, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Texts {
    pub(super) prompts: BTreeMap<String, SourceText>,
    pub(super) partials: BTreeMap<String, SourceText>,
}
