//! Finds the changes between two documents.

use std::fmt::Write;

use oxikit_wire::{JsonPatch, PatchKind, PatchOperation};
use serde_json::{Map, Value};

use super::is_reserved;

/// The changes that make `old` into `new`; none if they are equal.
///
/// Only `add`, `remove` and `replace` are used. Objects are compared by member,
/// first those of `old`, then the new ones. Lists are compared by index: they grow
/// and shrink at their end. So an element that is inserted at the front changes all others;
/// the patch is correct, but not the shortest one.
///
/// ```
/// use oxikit_core::json_patch::diff;
/// use serde_json::json;
///
/// let patch = diff(&json!({ "a": 1, "b": 2 }), &json!({ "a": 1, "c": 3 }));
/// assert_eq!(
///     serde_json::to_value(&patch).unwrap(),
///     json!([{ "op": "remove", "path": "/b" }, { "op": "add", "path": "/c", "value": 3 }]),
/// );
/// assert!(diff(&json!([1, 2]), &json!([1, 2])).is_empty());
/// ```
pub fn diff(old: &Value, new: &Value) -> JsonPatch {
    let mut diff = Diff { path: String::new(), patch: Vec::new() };
    diff.value(old, new);
    diff.patch
}

struct Diff {
    /// The JSON Pointer of the values that are compared now.
    path: String,
    patch: JsonPatch,
}

impl Diff {
    fn value(&mut self, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new_members)) => {
                // If a reserved name has changed, the operations found so far are taken back, and
                // the whole object is replaced instead.
                let known = self.patch.len();
                if !self.members(old, new_members) {
                    self.patch.truncate(known);
                    self.replace(new);
                }
            }
            (Value::Array(old), Value::Array(new)) => self.elements(old, new),
            _ if old == new => {}
            _ => self.replace(new),
        }
    }

    /// Compares two objects by member. `false` if a reserved name has changed, which a path must
    /// not contain.
    fn members(&mut self, old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
        for (name, before) in old {
            let after = new.get(name);
            if is_reserved(name) {
                if after != Some(before) {
                    return false;
                }
                continue;
            }
            self.below(name, |diff| match after {
                Some(after) => diff.value(before, after),
                None => diff.push(PatchKind::Remove, None),
            });
        }
        for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            if is_reserved(name) {
                return false;
            }
            self.below(name, |diff| diff.push(PatchKind::Add, Some(value)));
        }
        true
    }

    fn elements(&mut self, old: &[Value], new: &[Value]) {
        for (index, (before, after)) in old.iter().zip(new).enumerate() {
            self.at(index, |diff| diff.value(before, after));
        }
        // From the end, so that the indices of the elements before stay the same.
        for index in (new.len()..old.len()).rev() {
            self.at(index, |diff| diff.push(PatchKind::Remove, None));
        }
        for value in new.iter().skip(old.len()) {
            self.below("-", |diff| diff.push(PatchKind::Add, Some(value)));
        }
    }

    fn below(&mut self, token: &str, work: impl FnOnce(&mut Self)) {
        let end = self.path.len();
        self.path.push('/');
        for character in token.chars() {
            match character {
                '~' => self.path.push_str("~0"),
                '/' => self.path.push_str("~1"),
                other => self.path.push(other),
            }
        }
        work(self);
        self.path.truncate(end);
    }

    fn at(&mut self, index: usize, work: impl FnOnce(&mut Self)) {
        let end = self.path.len();
        write!(self.path, "/{index}").expect("writing to a string does not fail");
        work(self);
        self.path.truncate(end);
    }

    fn replace(&mut self, value: &Value) {
        self.push(PatchKind::Replace, Some(value));
    }

    fn push(&mut self, op: PatchKind, value: Option<&Value>) {
        let path = self.path.clone();
        self.patch.push(PatchOperation { op, path, from: None, value: value.cloned() });
    }
}
