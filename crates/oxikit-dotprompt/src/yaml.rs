//! Reads the YAML of front matter with limits, and with the same policies as the reference
//! implementation.

use serde_json::Value;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};
use serde_saphyr::{Options, budget, from_str_with_options, options};

use crate::error::{Error, ErrorKind, Position, Result};

/// Maximum size of front matter in bytes (64 KiB). Larger front matter is rejected.
const MAX_BYTES: usize = 64 * 1024;

/// Maximum nesting of maps and lists. Deeper front matter is rejected.
const MAX_DEPTH: usize = 32;

/// Reads YAML that begins on line `first_line` of its file.
pub(crate) fn parse(text: &str, first_line: u32) -> Result<Value> {
    let start = Position { line: first_line, column: 1 };
    if text.len() > MAX_BYTES {
        let message = format!("the front matter is longer than {MAX_BYTES} bytes");
        return Err(Error::limit(message).at(start));
    }
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    from_str_with_options(text, yaml_options()).map_err(|error| {
        let position = error.location().map_or(start, |location| Position {
            line: first_line + (location.line() as u32).saturating_sub(1),
            column: location.column() as u32,
        });
        let message = format!("the front matter is not valid YAML: {}", short(&error));
        Error::new(ErrorKind::Yaml, message).at(position)
    })
}

/// All policies: no aliases, no merge keys, no duplicate keys, and only `true` and `false` are
/// booleans.
// Aliases can expand a small file to gigabytes ("billion laughs"). Duplicate keys and words
// such as `no` for false are mistakes that authors do not see.
fn yaml_options() -> Options {
    options! {
        budget: budget! {
            max_depth: MAX_DEPTH,
            max_aliases: 0,
            max_anchors: 0,
            max_documents: 1,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        strict_booleans: true,
        with_snippet: false,
    }
}

/// The first line of the message without the position, which [`Error`] prints itself.
fn short(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let text = text.lines().next().unwrap_or_default();
    match text.find(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}
