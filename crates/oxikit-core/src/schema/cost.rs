//! The work that a schema can cause.
//!
//! The measure is the number of its subschemas once references are followed: a few lines of
//! references to references can mean billions. Schemas beyond a limit are refused. Of the others
//! the cost decides how thoroughly a failed check is explained, because the validator tries every
//! alternative again to explain a failure.

use std::collections::HashMap;

use serde_json::Value;

/// Maximum number of subschemas once references are followed. A schema with more is refused.
const MAX_WEIGHT: usize = 100_000;
/// Maximum depth of nested subschemas once references are followed. A deeper schema is refused.
const MAX_EXPANDED_DEPTH: usize = 128;
/// Maximum work of the search for the first wrong place, in subschemas. Beyond it no place is
/// reported.
const MAX_FIRST: usize = 20_000;
/// Maximum work of the search for all wrong places, in subschemas times parts of the value. Beyond
/// it only the first place is reported.
const MAX_ALL: usize = 1_000_000;
/// Maximum number of parts of a value for which all errors are listed. The validator builds
/// the whole list at once, so only the first error of a larger value is reported.
const MAX_PARTS: usize = 10_000;

/// The cost of a schema.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    /// Subschemas, with references followed as far as they lead to new ones.
    weight: usize,
    /// References that lead back to a schema that contains them.
    cycles: usize,
}

/// The part of the errors that can be listed at an acceptable cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Explain {
    /// Every wrong place.
    All,
    /// The first.
    First,
    /// None: alternatives within alternatives would be tried for too long.
    Nothing,
}

impl Cost {
    /// Fails when the schema would make too much work.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut walk = Walk { root: schema, known: HashMap::new(), cycles: 0 };
        let weight = walk.weigh(schema, 0)?;
        Ok(Self { weight, cycles: walk.cycles })
    }

    /// Decides how many errors of this value are listed. The validator caches the results of a
    /// check, but evaluates every alternative again to explain a failure. With recursive schemas
    /// the number of alternatives grows exponentially with the depth of the value.
    pub(super) fn explain(self, value: &Value) -> Explain {
        let (parts, depth) = measure(value);
        let branches = u32::try_from(depth).map_or(usize::MAX, |depth| match self.cycles {
            0 => 1,
            cycles => cycles.saturating_pow(depth),
        });
        let once = self.weight.saturating_mul(branches);
        if once > MAX_FIRST {
            Explain::Nothing
        } else if parts > MAX_PARTS || once.saturating_mul(parts) > MAX_ALL {
            Explain::First
        } else {
            Explain::All
        }
    }
}

struct Walk<'a> {
    root: &'a Value,
    /// Weights of targets by reference; `None` while one is being weighed.
    known: HashMap<&'a str, Option<usize>>,
    cycles: usize,
}

impl<'a> Walk<'a> {
    fn weigh(&mut self, schema: &'a Value, depth: usize) -> Result<usize, String> {
        if depth > MAX_EXPANDED_DEPTH {
            let limit = MAX_EXPANDED_DEPTH;
            return Err(format!("with references followed it is deeper than {limit} levels"));
        }
        let mut weight = 1usize;
        match schema {
            Value::Object(members) => {
                for (name, member) in members {
                    weight += match (name.as_str(), member) {
                        ("$ref", Value::String(reference)) => self.follow(reference, depth)?,
                        // Definitions count where they are referred to. Plain values do not count.
                        (
                            "definitions" | "$defs" | "enum" | "const" | "default" | "examples",
                            _,
                        ) => 0,
                        (_, Value::Object(_) | Value::Array(_)) => self.weigh(member, depth + 1)?,
                        _ => 0,
                    };
                }
            }
            Value::Array(items) => {
                for item in items.iter().filter(|item| item.is_object() || item.is_array()) {
                    weight += self.weigh(item, depth + 1)?;
                }
            }
            _ => {}
        }
        if weight > MAX_WEIGHT {
            let limit = MAX_WEIGHT;
            return Err(format!("with references followed it has more than {limit} parts"));
        }
        Ok(weight)
    }

    fn follow(&mut self, reference: &'a str, depth: usize) -> Result<usize, String> {
        match self.known.get(reference) {
            Some(Some(weight)) => return Ok(*weight),
            Some(None) => {
                self.cycles += 1;
                return Ok(1);
            }
            None => {}
        }
        // Other forms of references are left to the validator, which refuses
        // those that it cannot resolve.
        let Some(target) = reference.strip_prefix('#').and_then(|path| self.root.pointer(path))
        else {
            return Ok(1);
        };
        self.known.insert(reference, None);
        let weight = self.weigh(target, depth + 1)?;
        self.known.insert(reference, Some(weight));
        Ok(weight)
    }
}

/// The number of values that a value consists of, and their nesting depth.
fn measure(value: &Value) -> (usize, usize) {
    let add = |(parts, depth): (usize, usize), part: &Value| {
        let (more, below) = measure(part);
        (parts + more, depth.max(below + 1))
    };
    match value {
        Value::Object(members) => members.values().fold((1, 0), add),
        Value::Array(items) => items.iter().fold((1, 0), add),
        _ => (1, 0),
    }
}
