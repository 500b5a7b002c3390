//! The tree of a parsed template.
//!
//! Programs are in an `Arc`, because a running template hands them on as partial blocks and
//! inline partials, and because compiled prompts are shared between threads.

use std::sync::Arc;

use serde_json::Number;

use super::value::js_number;
use crate::error::Position;

/// A run of statements with its own block parameters and inline partials.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) body: Vec<Node>,
    pub(crate) block_params: Vec<String>,
    /// `{{#*inline}}` blocks. They are defined before the first statement of the program runs,
    /// also if they are written at its end.
    pub(crate) inlines: Vec<Inline>,
}

/// One statement.
#[derive(Debug)]
pub(crate) enum Node {
    Text(Text),
    /// A comment. It writes nothing, but a line with only a comment is removed.
    Comment(Strip),
    Mustache(Mustache),
    Block(Box<Block>),
    Partial(Box<Partial>),
    /// The place of an inline partial, for the removal of its line; the value is its index in
    /// [`Program::inlines`].
    Inline(usize),
}

/// Literal text, and the range of it that is left after white space control.
#[derive(Debug)]
pub(crate) struct Text {
    pub(crate) original: String,
    /// Start of the remaining text in `original`, in bytes.
    pub(crate) from: usize,
    /// End of the remaining text in `original`, in bytes.
    pub(crate) to: usize,
    /// The last cut at the end removed something. The names follow the reference, which looks from
    /// the tag: this text is to the left of the tag that follows it.
    pub(crate) stripped_left: bool,
    /// The last cut at the start, to the right of a tag, removed something.
    pub(crate) stripped_right: bool,
}

/// `~` on the left and right side of a tag.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Strip {
    pub(crate) open: bool,
    pub(crate) close: bool,
}

/// `{{path}}` or `{{helper arguments}}`.
#[derive(Debug)]
pub(crate) struct Mustache {
    pub(crate) call: Call,
    pub(crate) strip: Strip,
}

/// `{{#call}}…{{else}}…{{/call}}`.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) call: Call,
    /// Runs when the condition of the block is true; absent for `{{^flag}}…{{/flag}}`.
    pub(crate) program: Option<Arc<Program>>,
    /// Runs when the condition is false.
    pub(crate) inverse: Option<Arc<Program>>,
    /// Whether `inverse` came from `{{else if …}}`.
    pub(crate) chained: bool,
    /// `~` of the opening tag; the next two are those of `{{else}}` and of the end tag.
    pub(crate) open_strip: Strip,
    pub(crate) inverse_strip: Strip,
    pub(crate) close_strip: Strip,
}

/// `{{> name context key=value}}`, or a block of it.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) name: PartialName,
    pub(crate) context: Option<Expr>,
    pub(crate) hash: Hash,
    /// The body of `{{#> name}}…{{/name}}`.
    pub(crate) program: Option<Arc<Program>>,
    /// White space before a tag that is alone on its line. Each line of the partial gets it.
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

/// An argument, or a name.
#[derive(Debug)]
pub(crate) enum Expr {
    Path(Path),
    Literal(Literal),
    /// A subexpression: `(helper arguments)`.
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

/// A path to a value, such as `user.name`, `../title` or `@index`.
#[derive(Debug)]
pub(crate) struct Path {
    /// Whether the path begins with `@`.
    pub(crate) data: bool,
    /// Number of `../` at the start.
    pub(crate) depth: usize,
    pub(crate) parts: Vec<String>,
    /// Whether the path is one plain name, which may be a helper without arguments.
    pub(crate) simple: bool,
    /// The path as written, without brackets.
    pub(crate) original: String,
    /// Whether the first part is a parameter of an enclosing block, as in `as |item|`.
    pub(crate) block_param: bool,
    pub(crate) position: Position,
}

/// Whether a path refers to the current context and is never a helper: it has a leading dot, or
/// `this` at the end of a word.
// The reference tests the regular expression `/^\.|this\b/`, which has no word boundary before
// `this`; so `mythis` is scoped too.
pub(crate) fn is_scoped(original: &str) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    original.starts_with('.')
        || original
            .match_indices("this")
            .any(|(at, _)| !original.as_bytes().get(at + 4).is_some_and(is_word))
}

impl Literal {
    /// The literal as a name, because `{{true}}` and `{{"a b"}}` look up variables of these names.
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
    /// Whether the path has to be a helper: it has arguments and is not a
    /// block parameter. The names of such calls are checked at compile time.
    pub(crate) fn must_be_helper(&self) -> bool {
        !self.is_block_param() && (!self.params.is_empty() || !self.hash.is_empty())
    }

    /// Whether the call is only the name of a block parameter.
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

    /// The text that is left after white space control.
    pub(crate) fn value(&self) -> &str {
        &self.original[self.from..self.to]
    }
}
