//! Expansion of `[[name]]`: each inclusion is replaced by the body of the document of that name,
//! expanded in turn.
//!
//! Documents are found by a [`Lookup`]; this module knows neither files nor revisions. Templates
//! (`{{…}}`) are not touched: a prompt is expanded first and rendered then.
//!
//! ```
//! use oxikit_prompts::expand::{ExpandLimits, Found, Lookup, expand};
//!
//! struct One;
//!
//! impl Lookup for One {
//!     fn find(&self, name: &str, _pin: Option<&str>, _from: Option<&str>) -> Found {
//!         match name {
//!             "tone" => Found::document("tone", 3, "Be kind."),
//!             _ => Found::Missing,
//!         }
//!     }
//! }
//!
//! let expansion = expand(None, "[[tone]] Then [[end]].", &One, &ExpandLimits::default());
//! assert_eq!(expansion.text, "Be kind. Then [[PROMPT NOT FOUND: end]].");
//! assert_eq!(expansion.dependencies, ["tone"]);
//! assert_eq!(expansion.warnings, ["prompt `end` was not found"]);
//! ```

mod inclusion;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::utf16_len;
pub(crate) use inclusion::placed;
use inclusion::{Inclusion, scan};
pub use inclusion::{Reference, inclusions, references, rename_inclusions};

/// Finds the documents that are included.
pub trait Lookup {
    /// The document of this name. `pin` is a revision or a label, the part of `[[name@pin]]`
    /// after the `@`; without it the newest revision is meant. `from` is the id of the document
    /// that contains the inclusion, whose folder is looked at first; `None` for a text without an
    /// id.
    fn find(&self, name: &str, pin: Option<&str>, from: Option<&str>) -> Found;
}

/// The answer of a [`Lookup`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The document to include.
    Document {
        /// Its id, which tells it from all other documents.
        id: String,
        /// Its revision.
        rev: u64,
        /// Its text without front matter.
        body: Arc<str>,
        /// The folders of all documents of this name, if there are several.
        ambiguous: Vec<String>,
    },
    /// There is no such document, or not in this revision.
    Missing,
}

impl Found {
    /// A document whose name is not ambiguous.
    pub fn document(id: impl Into<String>, rev: u64, body: impl Into<Arc<str>>) -> Self {
        Self::Document { id: id.into(), rev, body: body.into(), ambiguous: Vec::new() }
    }
}

/// A text with its inclusions replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expansion {
    /// The text.
    pub text: String,
    /// The ids of all documents that were included, directly or by others, each once, in the
    /// order of their first use.
    pub dependencies: Vec<String>,
    /// What could not be included, and why: one entry per occurrence.
    pub warnings: Vec<String>,
    /// The revision of each document. Of a document that is included in several revisions it is
    /// the first one.
    pub revs: BTreeMap<String, u64>,
    /// The parts of `text` that come from other documents, in the order of their starts. A part
    /// precedes the parts inside of it.
    pub spans: Vec<Span>,
}

/// A part of a text that comes from another document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The start, in UTF-16 units of the text.
    pub start: usize,
    /// The end.
    pub end: usize,
    /// The id of the document.
    pub id: String,
}

/// Limits of an expansion. Beyond them inclusions stay as they are written, and a warning says so.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpandLimits {
    /// Maximum number of documents inside of each other, at most 64.
    pub depth: usize,
    /// Maximum size of the text in bytes. A text that is longer itself is not expanded.
    pub bytes: usize,
    /// Maximum number of inclusions, those that cannot be replaced included.
    pub inclusions: usize,
}

impl Default for ExpandLimits {
    /// 10 levels, 8 MiB, 10,000 inclusions.
    fn default() -> Self {
        Self { depth: 10, bytes: 8 * 1024 * 1024, inclusions: 10_000 }
    }
}

/// Maximum that [`ExpandLimits::depth`] can be set to, because each level is a call.
const MAX_DEPTH: usize = 64;

/// Replaces the inclusions of a text.
///
/// `root` is the id of the document whose text this is, perhaps a draft of it; it cannot include
/// itself. Of an inclusion that cannot be replaced, a note stands in its place:
///
/// | inclusion | in its place |
/// | --- | --- |
/// | of a document that is being included | `[[CIRCULAR DEPENDENCY: name]]` |
/// | of `root` | `[[SELF-REFERENCE: name]]` |
/// | of an unknown document | `[[PROMPT NOT FOUND: name]]` |
/// | beyond a limit | the inclusion as it is written |
///
/// The same document may be included several times side by side. The text of a Dotprompt file may
/// have `[[` in its front matter; pass the body alone if lists in it must not be taken for
/// inclusions.
pub fn expand(
    root: Option<&str>,
    content: &str,
    lookup: &dyn Lookup,
    limits: &ExpandLimits,
) -> Expansion {
    let mut expander = Expander {
        root,
        lookup,
        limits,
        result: Expansion::default(),
        units: 0,
        bytes: content.len(),
        inclusions: 0,
        is_stopped: false,
    };
    expander.expand(content, &mut Vec::new());
    expander.result
}

struct Expander<'e> {
    root: Option<&'e str>,
    lookup: &'e dyn Lookup,
    limits: &'e ExpandLimits,
    result: Expansion,
    /// Length of the text so far in UTF-16 units.
    units: usize,
    /// Size of the text when all documents that were begun are written.
    bytes: usize,
    inclusions: usize,
    /// Whether a limit was reached. No further inclusion is replaced then.
    is_stopped: bool,
}

impl Expander<'_> {
    /// Writes a text. `chain` are the ids of the documents that contain it, without the root.
    fn expand(&mut self, content: &str, chain: &mut Vec<String>) {
        let mut written = 0;
        for inclusion in scan(content) {
            if self.is_stopped {
                break;
            }
            self.write(&content[written..inclusion.range.start]);
            self.include(&inclusion, &content[inclusion.range.clone()], chain);
            written = inclusion.range.end;
        }
        self.write(&content[written..]);
    }

    fn include(&mut self, inclusion: &Inclusion<'_>, source: &str, chain: &mut Vec<String>) {
        let name = &inclusion.reference;
        if self.inclusions == self.limits.inclusions {
            return self.stop(source, format!("more than {} inclusions", self.limits.inclusions));
        }
        self.inclusions += 1;
        let from = chain.last().map(String::as_str).or(self.root);
        let Some((id, rev, body, ambiguous)) = self.find(name, from) else {
            let warning = format!("prompt `{name}` was not found");
            return self.note("PROMPT NOT FOUND", name, warning);
        };
        if chain.contains(&id) {
            let warning =
                format!("circular dependency: `{name}` has already been included in this chain");
            return self.note("CIRCULAR DEPENDENCY", name, warning);
        }
        if self.root == Some(id.as_str()) {
            let warning = format!("self-reference: `{name}` would refer to itself");
            return self.note("SELF-REFERENCE", name, warning);
        }
        if chain.len() == self.limits.depth.min(MAX_DEPTH) {
            let warning = format!(
                "`{name}` was not expanded: the maximum depth of {} is reached",
                chain.len()
            );
            self.result.warnings.push(warning);
            return self.write(source);
        }
        if self.bytes + body.len() > self.limits.bytes {
            return self.stop(source, format!("more than {} bytes of text", self.limits.bytes));
        }
        if !ambiguous.is_empty() {
            self.result.warnings.push(format!(
                "`{name}` is ambiguous, the first match is used: it is in {}",
                ambiguous.join(", ")
            ));
        }
        self.write_document(id, rev, &body, chain);
    }

    /// Looks a document up. A name may contain an `@` that is no pin.
    fn find(
        &self,
        reference: &Reference,
        from: Option<&str>,
    ) -> Option<(String, u64, Arc<str>, Vec<String>)> {
        let find = |name: &str, pin: Option<&str>| match self.lookup.find(name, pin, from) {
            Found::Document { id, rev, body, ambiguous } => Some((id, rev, body, ambiguous)),
            Found::Missing => None,
        };
        let pin = reference.pin.as_deref();
        let pinned = find(&reference.name, pin);
        pinned.or_else(|| pin.and_then(|_| find(&reference.to_string(), None)))
    }

    fn write_document(&mut self, id: String, rev: u64, body: &str, chain: &mut Vec<String>) {
        self.bytes += body.len();
        // A document with a revision is one that is among the dependencies already.
        if !self.result.revs.contains_key(&id) {
            self.result.revs.insert(id.clone(), rev);
            self.result.dependencies.push(id.clone());
        }
        let span = self.result.spans.len();
        let start = self.units;
        self.result.spans.push(Span { start, end: start, id: id.clone() });
        chain.push(id);
        self.expand(body, chain);
        chain.pop();
        self.result.spans[span].end = self.units;
    }

    /// Writes a note in place of an inclusion.
    fn note(&mut self, note: &str, name: &Reference, warning: String) {
        self.result.warnings.push(warning);
        let text = format!("[[{note}: {name}]]");
        self.bytes += text.len();
        self.write(&text);
    }

    /// Writes an inclusion as it is, and stops: this is the first one beyond a limit.
    fn stop(&mut self, source: &str, reason: String) {
        self.is_stopped = true;
        self.result.warnings.push(format!("expansion stopped: {reason}"));
        self.write(source);
    }

    fn write(&mut self, text: &str) {
        self.units += utf16_len(text);
        self.result.text.push_str(text);
    }
}

#[cfg(test)]
mod tests;
