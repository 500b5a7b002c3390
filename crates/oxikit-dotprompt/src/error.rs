//! The error type of this crate, with positions in the source.

use std::fmt;

/// An error in a prompt or template, and its position.
///
/// Lines and columns count from 1. For a prompt file they are those of the
/// file, front matter included; for a partial, those of the partial.
///
/// ```
/// use oxikit_dotprompt::{Environment, ErrorKind};
///
/// let error = Environment::new().compile_template("Hi\n{{#if name}}").unwrap_err();
/// assert_eq!((error.kind(), error.line()), (ErrorKind::Parse, Some(2)));
/// assert!(error.to_string().ends_with("(line 2, column 1)"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    position: Option<Position>,
    partial: Option<String>,
    /// Whether `partial` is final. `None` is final too: it means the prompt itself.
    located: bool,
    is_missing_definition: bool,
}

/// The kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The template is not well formed or names a helper that does not exist.
    Parse,
    /// The template could not be rendered with this input.
    Render,
    /// A limit was exceeded; see [`Limits`](crate::Limits).
    Limit,
    /// The front matter is not valid YAML or has members of the wrong type.
    Yaml,
    /// A schema of the front matter is not valid, or names a schema that does not exist.
    Schema,
}

/// A position in a source text; both numbers count from 1, the column in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            position: None,
            partial: None,
            located: false,
            is_missing_definition: false,
        }
    }

    pub(crate) fn parse(position: Position, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Parse, message).at(position)
    }

    pub(crate) fn render(position: Position, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Render, message).at(position)
    }

    pub(crate) fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    pub(crate) fn schema(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Schema, message)
    }

    /// Marks an error that a definition in the environment would resolve.
    pub(crate) fn missing_definition(mut self) -> Self {
        self.is_missing_definition = true;
        self
    }

    /// Sets the position unless one is set. Errors pass outwards through nested tags, so the
    /// innermost position, which is set first, stays.
    pub(crate) fn at(mut self, position: Position) -> Self {
        self.position.get_or_insert(position);
        self
    }

    /// Sets the partial that the position belongs to, unless it is set. The innermost template
    /// calls it first, for the same reason as in [`at`](Self::at).
    pub(crate) fn in_partial(mut self, name: Option<&str>) -> Self {
        if !self.located {
            self.partial = name.map(str::to_owned);
            self.located = true;
        }
        self
    }

    /// The kind of the error, by which a program decides what to do.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the prompt names a helper or a schema that the
    /// [`Environment`](crate::Environment) does not have. The prompt itself may be correct, and
    /// compile once the application has registered it.
    pub fn is_missing_definition(&self) -> bool {
        self.is_missing_definition
    }

    /// The message, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The line, counted from 1; `None` if the error has no position.
    pub fn line(&self) -> Option<u32> {
        self.position.map(|position| position.line)
    }

    /// The column in characters, counted from 1.
    pub fn column(&self) -> Option<u32> {
        self.position.map(|position| position.column)
    }

    /// The partial that line and column belong to; `None` for the prompt itself.
    pub fn partial(&self) -> Option<&str> {
        self.partial.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (self.position, &self.partial) {
            (Some(at), Some(name)) => {
                write!(f, " (partial `{name}`, line {}, column {})", at.line, at.column)
            }
            (Some(at), None) => write!(f, " (line {}, column {})", at.line, at.column),
            (None, Some(name)) => write!(f, " (partial `{name}`)"),
            (None, None) => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
