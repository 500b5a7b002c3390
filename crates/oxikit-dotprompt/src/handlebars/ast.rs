//! A parsed template.

use std::sync::Arc;

use serde_json::Number;

use super::value::js_number;
use crate::error::Position;

/// A run of statements with its own block parameters and inline partials.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) body: Vec<Node>,
    pub(crate) block_params: Vec<String>,
    /// `{{#*inline}}` blocks; they count from the start of the program.
    pub(crate) inlines: Vec<Inline>,
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(Text),
    /// Kept because it decides which lines stand alone.
    Comment(Strip),
    Mustache(Mustache),
    Block(Box<Block>),
    Partial(Box<Partial>),
    /// Where an inline partial stood; the partial is in [`Program::inlines`].
    Inline(usize),
}

/// Literal text, and how much of it white space control left over.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) original: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) stripped_left: bool,
    pub(crate) stripped_right: bool,
}

/// `~` on the left and right side of a tag.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Strip {
    pub(crate) open: bool,
    pub(crate) close: bool,
}

#[derive(Debug)]
pub(crate) struct Mustache {
    pub(crate) call: Call,
    pub(crate) strip: Strip,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) call: Call,
    /// Runs when the block holds; absent for `{{^flag}}…{{/flag}}`.
    pub(crate) program: Option<Arc<Program>>,
    pub(crate) inverse: Option<Arc<Program>>,
    /// Whether `inverse` came from `{{else if …}}`.
    pub(crate) chained: bool,
    pub(crate) open_strip: Strip,
    pub(crate) inverse_strip: Strip,
    pub(crate) close_strip: Strip,
}

#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) name: PartialName,
    pub(crate) context: Option<Expr>,
    pub(crate) hash: Hash,
    /// The body of `{{#> name}}…{{/name}}`.
    pub(crate) program: Option<Arc<Program>>,
    pub(crate) indent: String,
    pub(crate) open_strip: Strip,
    pub(crate) close_strip: Strip,
    pub(crate) position: Position,
}

#[derive(Debug)]
pub(crate) enum PartialName {
    Static(String),
    Dynamic(Call),
}

#[derive(Debug)]
pub(crate) struct Inline {
    pub(crate) name: Expr,
    pub(crate) program: Arc<Program>,
    pub(crate) open_strip: Strip,
    pub(crate) close_strip: Strip,
    pub(crate) position: Position,
}

/// `key=value` arguments as written.
pub(crate) type Hash = Vec<(String, Expr)>;

/// A path, perhaps with arguments: a variable or a helper.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) path: Path,
    pub(crate) params: Vec<Expr>,
    pub(crate) hash: Hash,
    pub(crate) position: Position,
}

#[derive(Debug)]
pub(crate) enum Expr {
    Path(Path),
    Literal(Literal),
    Call(Box<Call>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Text(String),
    Number(Number),
    Bool(bool),
    Undefined,
    Null,
}

#[derive(Debug)]
pub(crate) struct Path {
    /// Whether it began with `@`.
    pub(crate) data: bool,
    /// How many `../` it began with.
    pub(crate) depth: usize,
    pub(crate) parts: Vec<String>,
    /// One plain name, which may be a helper without arguments.
    pub(crate) simple: bool,
    /// The path as written, without brackets.
    pub(crate) original: String,
    /// Whether its first part is a parameter of a block around it.
    pub(crate) block_param: bool,
    pub(crate) position: Position,
}

/// A leading dot, or `this` at the end of a word anywhere: never a helper.
pub(crate) fn is_scoped(original: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    original.starts_with('.')
        || original
            .match_indices("this")
            .any(|(at, _)| !original.as_bytes().get(at + 4).is_some_and(is_word))
}

impl Literal {
    /// The literal as a name to look up.
    pub(crate) fn to_name(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => js_number(number),
            Self::Bool(value) => value.to_string(),
            Self::Undefined => "undefined".to_owned(),
            Self::Null => "null".to_owned(),
        }
    }
}

impl Call {
    /// Whether the path has to be a helper: it has arguments and is not just a
    /// block parameter.
    pub(crate) fn must_be_helper(&self) -> bool {
        !self.is_block_param() && (!self.params.is_empty() || !self.hash.is_empty())
    }

    pub(crate) fn is_block_param(&self) -> bool {
        self.path.simple && self.path.block_param
    }

    /// The name it would have as a helper.
    pub(crate) fn name(&self) -> &str {
        self.path.parts.first().map_or("", String::as_str)
    }
}

impl Text {
    pub(crate) fn new(original: String) -> Self {
        Self { from: 0, to: original.len(), original, stripped_left: false, stripped_right: false }
    }

    pub(crate) fn value(&self) -> &str {
        &self.original[self.from..self.to]
    }
}
