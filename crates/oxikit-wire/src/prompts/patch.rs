//! Changes of a text. `oxikit-prompts` computes and applies them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::integer;

/// One step through a text: `["keep", n]`, `["insert", text]` or `["delete", n]`. Counts are UTF-16
/// code units, as in JavaScript, and never end between the two units of a character.
///
/// ```
/// use oxikit_wire::prompts::PatchOp;
///
/// let ops: Vec<PatchOp> = serde_json::from_str(r#"[["keep",4],["insert","!"]]"#).unwrap();
/// assert_eq!(ops, [PatchOp::Keep(4), PatchOp::Insert("!".to_owned())]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "(Name, Operand)", into = "(Name, Operand)")]
pub enum PatchOp {
    /// The next units stay.
    Keep(u64),
    /// This text is inserted.
    Insert(String),
    /// The next units are removed.
    Delete(u64),
}

/// The name of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PatchOpName")]
enum Name {
    Keep,
    Insert,
    Delete,
}

/// The second member of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "PatchOpOperand")]
enum Operand {
    Count(#[serde(deserialize_with = "integer")] u64),
    Text(String),
}

/// A count where a text is needed, or the other way round.
struct WrongOperand(Name);

impl fmt::Display for WrongOperand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Name::Keep => "`keep` takes a number of UTF-16 units",
            Name::Insert => "`insert` takes a text",
            Name::Delete => "`delete` takes a number of UTF-16 units",
        })
    }
}

impl TryFrom<(Name, Operand)> for PatchOp {
    type Error = WrongOperand;

    fn try_from(step: (Name, Operand)) -> Result<Self, WrongOperand> {
        match step {
            (Name::Keep, Operand::Count(count)) => Ok(Self::Keep(count)),
            (Name::Insert, Operand::Text(text)) => Ok(Self::Insert(text)),
            (Name::Delete, Operand::Count(count)) => Ok(Self::Delete(count)),
            (name, _) => Err(WrongOperand(name)),
        }
    }
}

impl From<PatchOp> for (Name, Operand) {
    fn from(op: PatchOp) -> Self {
        match op {
            PatchOp::Keep(count) => (Name::Keep, Operand::Count(count)),
            PatchOp::Insert(text) => (Name::Insert, Operand::Text(text)),
            PatchOp::Delete(count) => (Name::Delete, Operand::Count(count)),
        }
    }
}
