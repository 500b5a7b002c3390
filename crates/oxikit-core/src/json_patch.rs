//! Changes of a JSON document as JSON Patch (RFC 6902), in which agents report changes of the
//! custom state to their clients.
//!
//! ```
//! use oxikit_core::json_patch::{apply, diff};
//! use serde_json::json;
//!
//! let (old, new) = (json!({ "done": [1], "left": 2 }), json!({ "done": [1, 2], "left": 1 }));
//! let patch = diff(&old, &new);
//! assert_eq!(
//!     serde_json::to_value(&patch).unwrap(),
//!     json!([
//!         { "op": "add", "path": "/done/-", "value": 2 },
//!         { "op": "replace", "path": "/left", "value": 1 },
//!     ]),
//! );
//!
//! let mut document = old;
//! apply(&mut document, &patch)?;
//! assert_eq!(document, new);
//! # Ok::<(), oxikit_core::Status>(())
//! ```

mod apply;
mod diff;

pub use apply::apply;
pub use diff::diff;

/// Names that have a special meaning for a JavaScript reader of the same patch. They must not
/// appear in a path; inside of values they are ordinary names.
fn is_reserved(token: &str) -> bool {
    matches!(token, "__proto__" | "prototype" | "constructor")
}
