//! The lines of a prompt file that hold front matter: where they are, and what their YAML says.
//!
//! This module knows no keys: `metadata` gives them a meaning. Editors of prompt files use it to
//! change single lines of a block.

use std::ops::Range;

use oxikit_wire::JsonObject;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::handlebars::js_trim;
use crate::yaml;

/// The position of front matter in the text of a prompt file.
///
/// ```
/// use oxikit_dotprompt::FrontMatter;
///
/// let file = "---\nmodel: echo/model\n---\nHello {{name}}!\n";
/// let front_matter = FrontMatter::find(file).unwrap();
/// assert_eq!(&file[front_matter.yaml.clone()], "model: echo/model\n");
/// assert_eq!(&file[front_matter.body_start..], "Hello {{name}}!\n");
/// assert_eq!(front_matter.read(file)?["model"], "echo/model");
/// # Ok::<(), oxikit_dotprompt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrontMatter {
    /// The bytes between the two lines of `---`.
    pub yaml: Range<usize>,
    /// The line on which the YAML begins, counted from 1.
    pub yaml_line: u32,
    /// The first byte after the closing line of `---`.
    pub body_start: usize,
    /// The line on which the body begins.
    pub body_line: u32,
}

impl FrontMatter {
    /// Finds the front matter of a file without a byte order mark.
    ///
    /// `None` if the text does not begin with a line of `---`; blank lines and `#` comments may
    /// precede it. A file that opens front matter and never closes it has none.
    pub fn find(source: &str) -> Option<Self> {
        let mut number = 1;
        let mut position = 0;
        let mut yaml = None;
        for line in source.split_inclusive('\n') {
            number += 1;
            let (start, end) = (position, position + line.len());
            position = end;
            match yaml {
                Some((yaml, yaml_line)) if is_fence(line) => {
                    let yaml = yaml..start;
                    return Some(Self { yaml, yaml_line, body_start: end, body_line: number });
                }
                Some(_) => {}
                None if is_fence(line) => yaml = Some((end, number)),
                None if line.starts_with('#') || js_trim(line).is_empty() => {}
                None => return None,
            }
        }
        None
    }

    /// Reads the YAML as a map; empty front matter is an empty map. `source` is the text in
    /// which the front matter was found.
    ///
    /// # Errors
    ///
    /// When the front matter is not YAML, is not a map, is larger than 64 KiB or deeper than 32
    /// levels, uses aliases or has a key twice.
    pub fn read(&self, source: &str) -> Result<JsonObject> {
        match yaml::parse(&source[self.yaml.clone()], self.yaml_line)? {
            Value::Object(raw) => Ok(raw),
            Value::Null => Ok(JsonObject::new()),
            _ => {
                let message = "the front matter has to be a map such as `model: name`";
                let position = Position { line: self.yaml_line, column: 1 };
                Err(Error::new(ErrorKind::Yaml, message).at(position))
            }
        }
    }
}

/// `---`, perhaps with white space after it.
fn is_fence(line: &str) -> bool {
    let end = line.strip_prefix("---");
    end.is_some_and(|end| js_trim(end).is_empty())
}
