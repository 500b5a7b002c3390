//! Prompt files: front matter and a template.

use serde_json::Value;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::handlebars::{is_js_space, js_trim};
use crate::metadata::{Metadata, UnknownKey};
use crate::yaml;

/// A parsed prompt file.
///
/// ```
/// use oxikit_dotprompt::Prompt;
///
/// let prompt = Prompt::parse(
///     "---\nmodel: googleai/gemini-2.5-flash\nmaxTurns: 3\n---\nHello {{name}}!\n",
/// )?;
/// assert_eq!(prompt.metadata.model.as_deref(), Some("googleai/gemini-2.5-flash"));
/// assert_eq!(prompt.metadata.max_turns(), Some(3));
/// assert_eq!(prompt.template(), "Hello {{name}}!");
/// # Ok::<(), oxikit_dotprompt::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// What the front matter says.
    pub metadata: Metadata,
    template: String,
    start: Position,
    unknown_keys: Vec<UnknownKey>,
}

impl Prompt {
    /// Splits a file into front matter and template and reads the front matter.
    ///
    /// The template itself is only parsed when the prompt is compiled.
    ///
    /// # Errors
    ///
    /// When the front matter is not YAML, is not a map, is larger than 64 KiB or
    /// deeper than 32 levels, uses aliases, or has a member of the wrong type.
    pub fn parse(source: &str) -> Result<Self> {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let Some(file) = split(source) else {
            return Ok(Self {
                metadata: Metadata::default(),
                template: source.to_owned(),
                start: Position::START,
                unknown_keys: Vec::new(),
            });
        };
        let raw = match yaml::parse(file.yaml, file.yaml_line)? {
            Value::Object(raw) => raw,
            Value::Null => Default::default(),
            _ => {
                let message = "the front matter has to be a map such as `model: name`";
                let position = line(file.yaml_line);
                return Err(Error::new(ErrorKind::Yaml, message).at(position));
            }
        };
        let metadata = Metadata::from_front_matter(raw).map_err(|error| {
            let position = line(file.yaml_line + line_of_key(file.yaml, error.key));
            Error::from(error).at(position)
        })?;
        let mut unknown_keys = metadata.unknown_keys();
        for key in &mut unknown_keys {
            key.line = file.yaml_line + line_of_unknown_key(file.yaml, key);
        }
        let skipped = file.body.len() - file.body.trim_start_matches(is_js_space).len();
        Ok(Self {
            metadata,
            template: js_trim(file.body).to_owned(),
            start: advance(line(file.body_line), &file.body[..skipped]),
            unknown_keys,
        })
    }

    /// The template, without front matter and white space around it.
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The keys of the front matter that nothing reads.
    ///
    /// ```
    /// use oxikit_dotprompt::Prompt;
    ///
    /// let prompt = Prompt::parse("---\nmodle: googleai/gemini-2.5-flash\n---\nHello")?;
    /// let unknown = &prompt.unknown_keys()[0];
    /// assert_eq!((unknown.key.as_str(), unknown.line), ("modle", 2));
    /// assert!(unknown.known.contains(&"model"));
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    pub fn unknown_keys(&self) -> &[UnknownKey] {
        &self.unknown_keys
    }

    /// Where the template begins in the file.
    pub(crate) fn start(&self) -> Position {
        self.start
    }
}

struct File<'s> {
    yaml: &'s str,
    yaml_line: u32,
    body: &'s str,
    body_line: u32,
}

/// `None` when the text does not begin with front matter. A file that opens
/// front matter and never closes it is all template.
fn split(source: &str) -> Option<File<'_>> {
    let mut number = 1;
    let mut lines = source.split_inclusive('\n');
    let mut rest = source;
    loop {
        let line = lines.next()?;
        rest = &rest[line.len()..];
        number += 1;
        if is_fence(line) {
            break;
        }
        let is_comment = line.starts_with('#');
        if !is_comment && !js_trim(line).is_empty() {
            return None;
        }
    }
    let (yaml, yaml_line) = (rest, number);
    let mut length = 0;
    for line in lines {
        number += 1;
        if is_fence(line) {
            return Some(File {
                yaml: &yaml[..length],
                yaml_line,
                body: &yaml[length + line.len()..],
                body_line: number,
            });
        }
        length += line.len();
    }
    None
}

fn is_fence(line: &str) -> bool {
    let end = line.strip_prefix("---");
    end.is_some_and(|end| js_trim(end).is_empty())
}

/// How many lines below the start of the YAML a top level key stands.
fn line_of_key(yaml: &str, key: &str) -> u32 {
    yaml.lines().position(|line| begins_with_key(line, key)).unwrap_or(0) as u32
}

/// The same for a key that may stand below another one. One that is written in braces
/// has the line of that other key.
fn line_of_unknown_key(yaml: &str, unknown: &UnknownKey) -> u32 {
    let Some(parent) = unknown.parent else { return line_of_key(yaml, &unknown.key) };
    let first = line_of_key(yaml, parent);
    let below = yaml.lines().skip(first as usize + 1);
    let mut block = below.take_while(|line| line.trim().is_empty() || line.starts_with([' ', '#']));
    let is_key = |line: &str| begins_with_key(line.trim_start(), &unknown.key);
    first + block.position(is_key).map_or(0, |position| position as u32 + 1)
}

fn begins_with_key(line: &str, key: &str) -> bool {
    let line = line.trim_start_matches(['"', '\'']);
    line.strip_prefix(key)
        .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
}

fn line(line: u32) -> Position {
    Position { line, column: 1 }
}

fn advance(mut position: Position, text: &str) -> Position {
    for character in text.chars() {
        if character == '\n' {
            position = line(position.line + 1);
        } else {
            position.column += 1;
        }
    }
    position
}
