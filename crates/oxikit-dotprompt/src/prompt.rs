//! Prompt files: front matter between lines of `---`, and a template after it.
//!
//! `front_matter` finds the parts, `metadata` reads the keys, and `handlebars` parses the template
//! when the prompt is compiled.

use crate::error::{Error, Position, Result};
use crate::front_matter::FrontMatter;
use crate::handlebars::{is_js_space, js_trim};
use crate::metadata::{Metadata, UnknownKey};

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
    /// The front matter.
    pub metadata: Metadata,
    template: String,
    start: Position,
    unknown_keys: Vec<UnknownKey>,
}

impl Prompt {
    /// Splits a file into front matter and template and reads the front matter.
    ///
    /// The template itself is only parsed when the prompt is compiled. A file without front matter
    /// is only a template, and keeps the white space around it.
    ///
    /// # Errors
    ///
    /// When the front matter is not YAML, is not a map, is larger than 64 KiB or
    /// deeper than 32 levels, uses aliases, or has a member of the wrong type.
    pub fn parse(source: &str) -> Result<Self> {
        let source = source.strip_prefix('\u{feff}').unwrap_or(source);
        let Some(front_matter) = FrontMatter::find(source) else {
            return Ok(Self {
                metadata: Metadata::default(),
                template: source.to_owned(),
                start: Position::START,
                unknown_keys: Vec::new(),
            });
        };
        let raw = front_matter.read(source)?;
        let (yaml, yaml_line) = (&source[front_matter.yaml.clone()], front_matter.yaml_line);
        let metadata = Metadata::from_front_matter(raw).map_err(|error| {
            let position = line(yaml_line + line_of_key(yaml, error.key));
            Error::from(error).at(position)
        })?;
        let mut unknown_keys = metadata.unknown_keys();
        for key in &mut unknown_keys {
            key.line = yaml_line + line_of_unknown_key(yaml, key);
        }
        let body = &source[front_matter.body_start..];
        let skipped = body.len() - body.trim_start_matches(is_js_space).len();
        Ok(Self {
            metadata,
            template: js_trim(body).to_owned(),
            start: advance(line(front_matter.body_line), &body[..skipped]),
            unknown_keys,
        })
    }

    /// The template, without front matter and white space around it.
    ///
    /// It is the source text, which the application may show or pass to
    /// [`Environment::compile_template`](crate::Environment::compile_template).
    pub fn template(&self) -> &str {
        &self.template
    }

    /// The keys of the front matter that nothing reads, with their lines.
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

    /// Position of the template in the file, so that errors name lines of the file.
    pub(crate) fn start(&self) -> Position {
        self.start
    }
}

/// Number of lines between the start of the YAML and a top-level key; 0 if it is not found.
// A search in the text, because the YAML reader gives no positions of keys. It is only used for
// messages, so a key in an unusual notation may get the first line.
fn line_of_key(yaml: &str, key: &str) -> u32 {
    yaml.lines().position(|line| begins_with_key(line, key)).unwrap_or(0) as u32
}

/// The same for a key that may be below another one. A key in a flow map (`input: { … }`) gets
/// the line of its parent.
fn line_of_unknown_key(yaml: &str, unknown: &UnknownKey) -> u32 {
    let Some(parent) = unknown.parent else { return line_of_key(yaml, &unknown.key) };
    let first = line_of_key(yaml, parent);
    let below = yaml.lines().skip(first as usize + 1);
    let mut block = below.take_while(|line| line.trim().is_empty() || line.starts_with([' ', '#']));
    let is_key = |line: &str| begins_with_key(line.trim_start(), &unknown.key);
    first + block.position(is_key).map_or(0, |position| position as u32 + 1)
}

/// Whether a line is `key:`, with or without quotes.
fn begins_with_key(line: &str, key: &str) -> bool {
    let line = line.trim_start_matches(['"', '\'']);
    line.strip_prefix(key)
        .is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with(':'))
}

/// The start of a line.
fn line(line: u32) -> Position {
    Position { line, column: 1 }
}

/// The position after `text`.
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
