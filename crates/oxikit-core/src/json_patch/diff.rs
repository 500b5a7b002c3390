//! Finding what has changed.

use std::fmt::Write;

use oxikit_wire::{JsonPatch, PatchKind, PatchOperation};
use serde_json::{Map, Value};

use super::is_reserved;

/// The changes that make `old` into `new`; none if they are equal.
///
/// Only `add`, `remove` and `replace` are used. Objects are compared by member,
/// first those of `old`, then what is new. Lists are compared by place: they grow
/// and shrink at their end.
pub fn diff(old: &Value, new: &Value) -> JsonPatch {
    let mut diff = Diff { path: String::new(), patch: Vec::new() };
    diff.value(old, new);
    diff.patch
}

struct Diff {
    /// Where we are.
    path: String,
    patch: JsonPatch,
}

impl Diff {
    fn value(&mut self, old: &Value, new: &Value) {
        match (old, new) {
            (Value::Object(old), Value::Object(new_members)) => {
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

    /// Says whether the change can be told by member.
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
