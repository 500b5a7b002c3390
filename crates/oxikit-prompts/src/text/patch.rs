//! Patches: a change of a text as a list of operations, with counts as JavaScript counts.
//!
//! A patch belongs to exactly one text. Applying one to a text of another length is an error; the
//! caller merges texts of different revisions with [`merge`](super::merge()).

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::changes::changes;

/// One operation of a [`Patch`]. In JSON it is an array: `["keep", 5]`, `["insert", "text"]` or
/// `["delete", 2]`. Counts are UTF-16 code units, as in strings of JavaScript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Keeps this number of units.
    Keep(usize),
    /// Inserts a text.
    Insert(String),
    /// Deletes this number of units.
    Delete(usize),
}

/// Operations that turn one text into another, from its start to its end.
///
/// ```
/// use oxikit_prompts::text::Patch;
///
/// let patch = Patch::between("Tell a joke.", "Tell a short joke.");
/// assert_eq!(
///     serde_json::to_string(&patch)?,
///     r#"[["keep",7],["insert","short "],["keep",5]]"#,
/// );
/// assert_eq!(patch.apply("Tell a joke.")?, "Tell a short joke.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Patch(pub Vec<Op>);

/// A patch that cannot be applied to a text. The sender has to make a new one from the text of
/// the base revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The operations keep and delete more than the text has.
    #[error("the patch is for a longer text: this one has {units} UTF-16 units")]
    TooLong {
        /// Length of the text in UTF-16 units.
        units: usize,
    },
    /// The operations keep and delete less than the text has.
    #[error(
        "the patch covers {covered} of the {units} UTF-16 units of the text: \
         it has to keep or delete all of them"
    )]
    TooShort {
        /// Number of units that the patch keeps and deletes.
        covered: usize,
        /// Length of the text in UTF-16 units.
        units: usize,
    },
    /// An operation ends between the two units of one character.
    #[error("the patch splits the surrogate pair at UTF-16 unit {unit}")]
    SplitsPair {
        /// Position of the first unit of the character.
        unit: usize,
    },
}

impl Patch {
    /// The patch that turns `from` into `to`.
    pub fn between(from: &str, to: &str) -> Self {
        let mut ops = Vec::new();
        let mut at = 0;
        for change in changes(from, to) {
            ops.push(Op::Keep(utf16_len(&from[at..change.base.start])));
            ops.push(Op::Delete(utf16_len(&from[change.base.clone()])));
            ops.push(Op::Insert(to[change.new].to_owned()));
            at = change.base.end;
        }
        ops.push(Op::Keep(utf16_len(&from[at..])));
        ops.retain(|op| !op.is_empty());
        Self(ops)
    }

    /// The text after all operations.
    ///
    /// # Errors
    ///
    /// When the operations do not keep or delete exactly the units of the text, or end inside of
    /// a surrogate pair.
    pub fn apply(&self, text: &str) -> Result<String, PatchError> {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        let mut covered = 0;
        for op in &self.0 {
            match op {
                Op::Insert(inserted) => result.push_str(inserted),
                Op::Keep(count) | Op::Delete(count) => {
                    let taken = take(&mut rest, *count, covered).map_err(|stop| match stop {
                        Stop::End => PatchError::TooLong { units: utf16_len(text) },
                        Stop::InsidePair(unit) => PatchError::SplitsPair { unit },
                    })?;
                    covered += count;
                    if matches!(op, Op::Keep(_)) {
                        result.push_str(taken);
                    }
                }
            }
        }
        match rest.is_empty() {
            true => Ok(result),
            false => Err(PatchError::TooShort { covered, units: utf16_len(text) }),
        }
    }
}

impl Op {
    fn is_empty(&self) -> bool {
        match self {
            Self::Keep(count) | Self::Delete(count) => *count == 0,
            Self::Insert(text) => text.is_empty(),
        }
    }
}

/// Length of a text in UTF-16 code units, as in strings of JavaScript.
///
/// ```
/// assert_eq!(oxikit_prompts::text::utf16_len("é👍"), 3);
/// ```
pub fn utf16_len(text: &str) -> usize {
    // A byte that is not a continuation begins a character; those of four bytes are pairs.
    let units = |byte: u8| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0);
    text.bytes().map(units).sum()
}

/// Why a number of units could not be taken.
enum Stop {
    End,
    /// The position of the pair.
    InsidePair(usize),
}

/// Takes this number of units from the start of `rest`, which begins at unit `start`.
fn take<'t>(rest: &mut &'t str, count: usize, start: usize) -> Result<&'t str, Stop> {
    let mut units = 0;
    let mut end = rest.len();
    for (position, character) in rest.char_indices() {
        if units == count {
            end = position;
            break;
        }
        units += character.len_utf16();
        if units > count {
            return Err(Stop::InsidePair(start + units - 2));
        }
    }
    if units < count {
        return Err(Stop::End);
    }
    let (taken, after) = rest.split_at(end);
    *rest = after;
    Ok(taken)
}

const KEEP: &str = "keep";
const INSERT: &str = "insert";
const DELETE: &str = "delete";

impl Serialize for Op {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut pair = serializer.serialize_tuple(2)?;
        match self {
            Self::Keep(count) => {
                pair.serialize_element(KEEP)?;
                pair.serialize_element(count)?;
            }
            Self::Insert(text) => {
                pair.serialize_element(INSERT)?;
                pair.serialize_element(text)?;
            }
            Self::Delete(count) => {
                pair.serialize_element(DELETE)?;
                pair.serialize_element(count)?;
            }
        }
        pair.end()
    }
}

impl<'de> Deserialize<'de> for Op {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(2, OpVisitor)
    }
}

struct OpVisitor;

impl<'de> Visitor<'de> for OpVisitor {
    type Value = Op;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array such as [\"keep\", 5], [\"insert\", \"text\"] or [\"delete\", 2]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Op, A::Error> {
        let name: String =
            items.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let missing =
            |error: Option<_>| error.ok_or_else(|| A::Error::invalid_length(1, &OpVisitor));
        match name.as_str() {
            KEEP => missing(items.next_element()?).map(Op::Keep),
            DELETE => missing(items.next_element()?).map(Op::Delete),
            INSERT => {
                let text: Option<String> = items.next_element()?;
                text.map(Op::Insert).ok_or_else(|| A::Error::invalid_length(1, &self))
            }
            other => Err(A::Error::unknown_variant(other, &[KEEP, INSERT, DELETE])),
        }
    }
}

impl JsonSchema for Op {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PatchOp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pair = |names: &[&str], value: serde_json::Value| {
            serde_json::json!({
                "type": "array",
                "prefixItems": [{ "type": "string", "enum": names }, value],
                "minItems": 2,
                "maxItems": 2,
            })
        };
        json_schema!({
            "description": "Keeps or deletes a number of UTF-16 code units, or inserts a text.",
            "oneOf": [
                pair(&[KEEP, DELETE], serde_json::json!({ "type": "integer", "minimum": 0 })),
                pair(&[INSERT], serde_json::json!({ "type": "string" })),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_json_form_is_that_of_the_protocol() {
        let json = r#"[["keep",2],["insert","a\"b"],["delete",1]]"#;
        let patch: Patch = serde_json::from_str(json).unwrap();
        let ops = vec![Op::Keep(2), Op::Insert("a\"b".into()), Op::Delete(1)];
        assert_eq!(patch, Patch(ops));
        assert_eq!(serde_json::to_string(&patch).unwrap(), json);
    }

    #[test]
    fn json_that_is_not_a_patch_is_rejected_with_the_reason() {
        for (json, reason) in [
            (r#"[["keep"]]"#, "invalid length 1"),
            (r#"[["keep","x"]]"#, "invalid type: string"),
            (r#"[["keep",-1]]"#, "invalid value: integer `-1`"),
            (r#"[["insert",1]]"#, "invalid type: integer"),
            (r#"[["move",1]]"#, "unknown variant `move`, expected one of `keep`"),
            (r#"[["keep",1,2]]"#, "trailing characters"),
            (r#"[[]]"#, "invalid length 0"),
            (r#"[5]"#, "invalid type: integer `5`, expected an array such as"),
        ] {
            let error = serde_json::from_str::<Patch>(json).unwrap_err().to_string();
            assert!(error.contains(reason), "{json}: {error}");
        }
    }

    #[track_caller]
    fn check(text: &str, ops: Vec<Op>, expected: Result<&str, PatchError>) {
        assert_eq!(Patch(ops).apply(text), expected.map(str::to_owned));
    }

    #[test]
    fn counts_are_utf_16_units() {
        check("é👍x", vec![Op::Keep(1), Op::Delete(2), Op::Keep(1)], Ok("éx"));
        check("", vec![], Ok(""));
        check("", vec![Op::Insert("a".into())], Ok("a"));
        check("ab", vec![Op::Keep(0), Op::Delete(2)], Ok(""));
    }

    #[test]
    fn a_patch_of_another_length_or_inside_of_a_pair_is_an_error() {
        check("ab", vec![Op::Keep(3)], Err(PatchError::TooLong { units: 2 }));
        check("ab", vec![Op::Delete(usize::MAX)], Err(PatchError::TooLong { units: 2 }));
        check("ab", vec![Op::Keep(1)], Err(PatchError::TooShort { covered: 1, units: 2 }));
        check("ab", vec![], Err(PatchError::TooShort { covered: 0, units: 2 }));
        let splits = [Op::Keep(2), Op::Delete(2)].to_vec();
        check("a👍x", splits, Err(PatchError::SplitsPair { unit: 1 }));
        check("👍", vec![Op::Keep(1), Op::Keep(1)], Err(PatchError::SplitsPair { unit: 0 }));
    }

    fn text() -> impl Strategy<Value = String> {
        "([a-c]|é|👍|讲| |\n|\r\n|\u{301}){0,20}"
    }

    proptest! {
        #[test]
        fn a_patch_between_two_texts_turns_one_into_the_other(a in text(), b in text()) {
            let patch = Patch::between(&a, &b);
            prop_assert_eq!(patch.apply(&a), Ok(b));
            let json = serde_json::to_string(&patch).unwrap();
            prop_assert_eq!(serde_json::from_str::<Patch>(&json).unwrap(), patch);
        }

        #[test]
        fn lengths_are_those_of_utf_16(text in text()) {
            prop_assert_eq!(utf16_len(&text), text.encode_utf16().count());
        }

        #[test]
        fn a_patch_gives_what_it_gives_in_javascript_or_an_error(
            text in text(),
            counts in prop::collection::vec((any::<bool>(), 0..6_usize), 0..8),
        ) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let (mut expected, mut at) = (Vec::<u16>::new(), 0);
            let mut ops = Vec::new();
            let mut is_valid = true;
            for (is_kept, count) in counts {
                let end = at + count;
                match units.get(at..end).map(String::from_utf16) {
                    Some(Ok(_)) if is_kept => expected.extend(&units[at..end]),
                    Some(Ok(_)) => {}
                    _ => is_valid = false,
                }
                at = end;
                ops.push(if is_kept { Op::Keep(count) } else { Op::Delete(count) });
            }
            is_valid &= at == units.len();
            let result = Patch(ops).apply(&text);
            prop_assert_eq!(result.is_ok(), is_valid);
            if let Ok(result) = result {
                prop_assert_eq!(result.encode_utf16().collect::<Vec<_>>(), expected);
            }
        }
    }
}
