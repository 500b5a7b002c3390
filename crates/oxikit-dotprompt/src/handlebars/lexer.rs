//! Splits the source text into tokens.
//!
//! The token rules follow the published Handlebars grammar: outside of
//! tags (`{{…}}`) everything is content, inside them white space only separates.
//!
//! The lexer has four modes (see `Mode`). It fails only on comments, strings and raw blocks that
//! are not closed, and on characters that do not belong in a tag.

mod words;

use std::borrow::Cow;

use super::text::is_js_space;
use crate::error::{Error, Position, Result};
use words::{
    else_length, ends_id, ends_literal, id_length, inverse_length, number_length, unescape_bracket,
};

/// The kind of a token. The names are those of the Handlebars grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Content,
    /// `{{! … }}` or `{{!-- … --}}`, complete with its braces.
    Comment,
    /// `{{` or `{{&`.
    Open,
    /// `{{*`.
    OpenDecorator,
    /// `{{{`. Nothing is escaped here, so it means the same as `{{`.
    OpenUnescaped,
    /// `{{#`.
    OpenBlock,
    /// `{{#*`.
    OpenDecoratorBlock,
    /// `{{>`.
    OpenPartial,
    /// `{{#>`.
    OpenPartialBlock,
    /// `{{/`.
    OpenEndBlock,
    /// `{{^`.
    OpenInverse,
    /// `{{else`, followed by a name.
    OpenInverseChain,
    /// `{{else}}` or `{{^}}`, complete with its braces.
    Inverse,
    /// `{{{{`.
    OpenRawBlock,
    /// `}}}}`.
    CloseRawBlock,
    /// `{{{{/name}}}}`, complete; its text is the name.
    EndRawBlock,
    /// `}}`.
    Close,
    /// `}}}`.
    CloseUnescaped,
    OpenSubexpression,
    CloseSubexpression,
    /// `as |`.
    OpenBlockParams,
    /// `|` after block parameters.
    Pipe,
    Equals,
    /// `.` or `/` inside of a path.
    Separator,
    /// `@`.
    Data,
    /// A name, or one of the operators `.`, `..` and `this`.
    Id,
    /// `[any text]`, never an operator such as `this`.
    BracketId,
    String,
    Number,
    True,
    False,
    Undefined,
    Null,
    End,
}

/// A token with its text. Only texts with escapes are copied from the source.
#[derive(Debug, Clone)]
pub(crate) struct Token<'s> {
    pub(crate) kind: TokenKind,
    /// The text without quotes, brackets and escapes.
    pub(crate) text: Cow<'s, str>,
    /// `~` at the left or right end of an opening, closing or whole tag.
    pub(crate) strip_left: bool,
    pub(crate) strip_right: bool,
    pub(crate) position: Position,
}

/// The state of the lexer, by which the same characters mean different tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Outside of tags.
    Content,
    /// After `\{{`: the tag is text.
    Escaped,
    /// Inside of a tag, or right before its opening braces.
    Mustache,
    /// Inside `{{{{name}}}}`, with the number of raw blocks open around it.
    Raw(u32),
}

/// Splits a source text into tokens, one per call of [`next_token`](Self::next_token).
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    /// The text that is not read yet.
    rest: &'s str,
    mode: Mode,
    position: Position,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s str, start: Position) -> Self {
        Self { rest: source, mode: Mode::Content, position: start }
    }

    /// The next token; [`TokenKind::End`] at the end, however often it is called.
    ///
    /// # Errors
    ///
    /// If a comment, a text or a raw block is not closed, or a character does not belong in a tag.
    pub(crate) fn next_token(&mut self) -> Result<Token<'s>> {
        loop {
            let token = match self.mode {
                Mode::Content => self.content(),
                Mode::Escaped => Some(self.escaped()),
                Mode::Mustache => self.mustache()?,
                Mode::Raw(open) => Some(self.raw(open)?),
            };
            if let Some(token) = token {
                return Ok(token);
            }
        }
    }

    /// Moves over `length` bytes and makes a token of them. The flags for `~` only mean something
    /// for tokens that are braces: they test the third byte from either end.
    fn take(&mut self, kind: TokenKind, length: usize) -> Token<'s> {
        let position = self.position;
        let (text, rest) = self.rest.split_at(length);
        self.rest = rest;
        for character in text.chars() {
            if character == '\n' {
                self.position.line += 1;
                self.position.column = 1;
            } else {
                self.position.column += 1;
            }
        }
        Token {
            kind,
            text: Cow::Borrowed(text),
            strip_left: text.as_bytes().get(2) == Some(&b'~'),
            strip_right: text.len() >= 3 && text.as_bytes()[text.len() - 3] == b'~',
            position,
        }
    }

    /// Closing braces; content follows.
    fn close_tag(&mut self, kind: TokenKind, length: usize) -> Option<Token<'s>> {
        self.mode = Mode::Content;
        Some(self.take(kind, length))
    }

    /// Text up to the next tag; `None` if the tag follows at once.
    fn content(&mut self) -> Option<Token<'s>> {
        if self.rest.is_empty() {
            return Some(self.take(TokenKind::End, 0));
        }
        let Some(open) = self.rest.find("{{") else {
            return Some(self.take(TokenKind::Content, self.rest.len()));
        };
        let before = &self.rest[..open];
        // One backslash makes the tag text; two stand for one backslash before a tag.
        let dropped = usize::from(before.ends_with('\\'));
        self.mode =
            if dropped == 1 && !before.ends_with("\\\\") { Mode::Escaped } else { Mode::Mustache };
        let mut token = self.take(TokenKind::Content, open);
        token.text = Cow::Borrowed(&before[..open - dropped]);
        (!token.text.is_empty()).then_some(token)
    }

    /// The text of an escaped tag, up to the next tag or to the backslashes before it.
    fn escaped(&mut self) -> Token<'s> {
        self.mode = Mode::Content;
        let end = match self.rest[2..].find("{{") {
            None => self.rest.len(),
            Some(found) => {
                let open = found + 2;
                let slashes = self.rest[2..open]
                    .bytes()
                    .rev()
                    .take(2)
                    .take_while(|byte| *byte == b'\\')
                    .count();
                open - slashes
            }
        };
        self.take(TokenKind::Content, end)
    }

    /// Content or the end of a raw block. Raw blocks inside of it are text, but are counted, so
    /// that their ends do not close the outer one.
    fn raw(&mut self, open: u32) -> Result<Token<'s>> {
        let Some(braces) = self.rest.find("{{{{") else {
            return Err(Error::parse(
                self.position,
                "this raw block is not closed; add `{{{{/name}}}}`",
            ));
        };
        if braces > 0 {
            return Ok(self.take(TokenKind::Content, braces));
        }
        if !self.rest[4..].starts_with('/') {
            self.mode = Mode::Raw(open + 1);
            return Ok(self.take(TokenKind::Content, 4));
        }
        let name = id_length(&self.rest[5..]);
        if name == 0 || !self.rest[5 + name..].starts_with("}}}}") {
            // Not an end tag: text up to the next four braces.
            let next = self.rest[1..].find("{{{{").map(|at| at + 1);
            return match next {
                Some(at) => Ok(self.take(TokenKind::Content, at)),
                None => Err(Error::parse(
                    self.position,
                    "this raw block is not closed; add `{{{{/name}}}}`",
                )),
            };
        }
        let length = 5 + name + 4;
        if open > 1 {
            self.mode = Mode::Raw(open - 1);
            return Ok(self.take(TokenKind::Content, length));
        }
        self.mode = Mode::Content;
        let text = &self.rest[5..5 + name];
        let mut token = self.take(TokenKind::EndRawBlock, length);
        token.text = Cow::Borrowed(text);
        Ok(token)
    }

    /// One token inside of `{{…}}`; `None` for white space, which is skipped.
    fn mustache(&mut self) -> Result<Option<Token<'s>>> {
        let rest = self.rest;
        if rest.is_empty() {
            return Ok(Some(self.take(TokenKind::End, 0)));
        }
        if rest.starts_with("{{") {
            return self.open_tag().map(Some);
        }
        if rest.starts_with("}}}}") {
            self.mode = Mode::Raw(1);
            return Ok(Some(self.take(TokenKind::CloseRawBlock, 4)));
        }
        for (text, kind) in [
            ("}}}", TokenKind::CloseUnescaped),
            ("}~}}", TokenKind::CloseUnescaped),
            ("~}}", TokenKind::Close),
            ("}}", TokenKind::Close),
        ] {
            if rest.starts_with(text) {
                return Ok(self.close_tag(kind, text.len()));
            }
        }
        let spaces = rest.len() - rest.trim_start_matches(is_js_space).len();
        if spaces > 0 {
            self.take(TokenKind::Content, spaces);
            return Ok(None);
        }
        self.inner().map(Some)
    }

    /// The opening braces with the character that tells the kind of tag. Comments and `{{else}}`
    /// are one token with all of their braces.
    // Longer prefixes stand before shorter ones: `#>` before `#`.
    fn open_tag(&mut self) -> Result<Token<'s>> {
        let rest = self.rest;
        if rest.starts_with("{{{{") {
            return Ok(self.take(TokenKind::OpenRawBlock, 4));
        }
        let tilde = usize::from(rest[2..].starts_with('~'));
        let head = 2 + tilde;
        let tail = &rest[head..];
        if tail.starts_with('!') {
            return self.comment(head);
        }
        if let Some(length) = inverse_length(tail) {
            self.mode = Mode::Content;
            return Ok(self.take(TokenKind::Inverse, head + length));
        }
        if let Some(length) = else_length(tail) {
            return Ok(self.take(TokenKind::OpenInverseChain, head + length));
        }
        for (text, kind) in [
            (">", TokenKind::OpenPartial),
            ("#>", TokenKind::OpenPartialBlock),
            ("#*", TokenKind::OpenDecoratorBlock),
            ("#", TokenKind::OpenBlock),
            ("/", TokenKind::OpenEndBlock),
            ("^", TokenKind::OpenInverse),
            ("{", TokenKind::OpenUnescaped),
            ("&", TokenKind::Open),
            ("*", TokenKind::OpenDecorator),
        ] {
            if tail.starts_with(text) {
                return Ok(self.take(kind, head + text.len()));
            }
        }
        Ok(self.take(TokenKind::Open, head))
    }

    /// A comment. One that begins with `!--` may contain `}}` and ends with `--}}`.
    fn comment(&mut self, head: usize) -> Result<Token<'s>> {
        let body = &self.rest[head + 1..];
        let end = if body.starts_with("--") {
            ["--}}", "--~}}"].iter().filter_map(|end| body.find(end).map(|at| at + end.len())).min()
        } else {
            body.find("}}").map(|at| at + 2)
        };
        let Some(end) = end else {
            return Err(Error::parse(
                self.position,
                "this comment is not closed; add `}}`, or `--}}` if it began with `!--`",
            ));
        };
        self.mode = Mode::Content;
        Ok(self.take(TokenKind::Comment, head + 1 + end))
    }

    /// An operator, a literal or a name.
    fn inner(&mut self) -> Result<Token<'s>> {
        let rest = self.rest;
        let first = rest.chars().next().unwrap_or_default();
        match first {
            '(' => return Ok(self.take(TokenKind::OpenSubexpression, 1)),
            ')' => return Ok(self.take(TokenKind::CloseSubexpression, 1)),
            '=' => return Ok(self.take(TokenKind::Equals, 1)),
            '@' => return Ok(self.take(TokenKind::Data, 1)),
            '|' => return Ok(self.take(TokenKind::Pipe, 1)),
            '/' => return Ok(self.take(TokenKind::Separator, 1)),
            '.' if rest.starts_with("..") => return Ok(self.take(TokenKind::Id, 2)),
            '.' if ends_id(&rest[1..]) => return Ok(self.take(TokenKind::Id, 1)),
            '.' => return Ok(self.take(TokenKind::Separator, 1)),
            '"' | '\'' => {
                if let Some(token) = self.string(first) {
                    return Ok(token);
                }
            }
            '[' => {
                if let Some(token) = self.bracket() {
                    return Ok(token);
                }
            }
            _ => {
                if let Some(token) = self.word() {
                    return Ok(token);
                }
            }
        }
        Err(Error::parse(
            self.position,
            match first {
                '"' | '\'' => "this text has no closing quote".to_owned(),
                '[' => "this `[` has no closing `]`".to_owned(),
                _ => format!("`{first}` does not belong here"),
            },
        ))
    }

    /// A keyword, a number, `as |` or a name, in this order of precedence.
    fn word(&mut self) -> Option<Token<'s>> {
        let rest = self.rest;
        for (word, kind) in [
            ("true", TokenKind::True),
            ("false", TokenKind::False),
            ("undefined", TokenKind::Undefined),
            ("null", TokenKind::Null),
        ] {
            if rest.starts_with(word) && ends_literal(&rest[word.len()..]) {
                return Some(self.take(kind, word.len()));
            }
        }
        let number = number_length(rest);
        if number > 0 {
            return Some(self.take(TokenKind::Number, number));
        }
        if let Some(after) = rest.strip_prefix("as") {
            let spaces = after.len() - after.trim_start_matches(is_js_space).len();
            if spaces > 0 && after[spaces..].starts_with('|') {
                return Some(self.take(TokenKind::OpenBlockParams, 2 + spaces + 1));
            }
        }
        let id = id_length(rest);
        (id > 0 && ends_id(&rest[id..])).then(|| self.take(TokenKind::Id, id))
    }

    /// A string in single or double quotes. Only the quote itself can be escaped.
    fn string(&mut self, quote: char) -> Option<Token<'s>> {
        let bytes = self.rest.as_bytes();
        let quote = quote as u8;
        let (mut at, mut last_escaped) = (1, None);
        let end = loop {
            match bytes.get(at) {
                // The regular expression of the grammar backtracks: without another quote, the
                // last escaped one closes the string.
                None => break last_escaped?,
                Some(byte) if *byte == quote => break at,
                Some(b'\\') if bytes.get(at + 1) == Some(&quote) => {
                    last_escaped = Some(at + 1);
                    at += 2;
                }
                Some(_) => at += 1,
            }
        };
        let text = &self.rest[1..end];
        let escaped = if quote == b'"' { "\\\"" } else { "\\'" };
        let mut token = self.take(TokenKind::String, end + 1);
        token.text = if text.contains(escaped) {
            Cow::Owned(text.replace(escaped, &escaped[1..]))
        } else {
            Cow::Borrowed(text)
        };
        Some(token)
    }

    /// A name in square brackets, which may contain any characters. `\]` is a bracket inside of it.
    fn bracket(&mut self) -> Option<Token<'s>> {
        let bytes = self.rest.as_bytes();
        let (mut at, mut last_escaped) = (1, None);
        let end = loop {
            match bytes.get(at) {
                None => break last_escaped?,
                Some(b']') => break at,
                Some(b'\\') if bytes.get(at + 1) == Some(&b']') => {
                    last_escaped = Some(at + 1);
                    at += 2;
                }
                Some(_) => at += 1,
            }
        };
        let text = &self.rest[1..end];
        let mut token = self.take(TokenKind::BracketId, end + 1);
        token.text = if text.contains('\\') {
            // A backslash right before the closing bracket escapes it in the reference, so the
            // bracket takes part in the replacement and is removed afterwards.
            let mut text = unescape_bracket(&format!("{text}]"));
            text.pop();
            Cow::Owned(text)
        } else {
            Cow::Borrowed(text)
        };
        Some(token)
    }
}
