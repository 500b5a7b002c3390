//! Algorithms on texts: three-way merge, the base of a submission, differences, patches.
//!
//! All of them are pure functions whose time is bounded also for texts of several megabytes.
//! They know nothing about documents, revisions or connections.
//!
//! Texts are compared by tokens: words, runs of white space, line ends, and single punctuation
//! characters. Prompts often have very long lines, in which a comparison by lines would find
//! conflicts between edits that have nothing to do with each other.
//!
//! ```
//! use oxikit_prompts::text::{Patch, infer_base, merge};
//!
//! let base = "You are a helpful assistant.";
//! let merged = merge(base, "You are a very helpful assistant.", "You are a helpful tutor.");
//! assert_eq!(merged.text, "You are a very helpful tutor.");
//!
//! // The text that a client started from, among those that it has seen.
//! let seen = ["Hi", base];
//! assert_eq!(infer_base(seen, "You are a helpful tutor."), 1);
//!
//! let patch = Patch::between(base, &merged.text);
//! assert_eq!(patch.apply(base)?, merged.text);
//! # Ok::<(), oxikit_prompts::text::PatchError>(())
//! ```

mod align;
mod base;
mod changes;
mod diff;
mod merge;
mod patch;
mod tokens;

#[cfg(test)]
mod simulation;

pub use base::{MAX_CANDIDATES, infer_base};
pub use diff::{DiffLine, DiffOp, diff};
pub use merge::{Conflict, Merge, merge};
pub use patch::{Op, Patch, PatchError, utf16_len};
