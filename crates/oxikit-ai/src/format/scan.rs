//! Finds complete objects in text that arrives in pieces. Each byte is examined once.

use serde_json::Value;

use super::first_value::first_value;
use super::json5;

/// Finds the objects of a JSON array.
#[derive(Debug, Default)]
pub(crate) struct ArrayScanner {
    /// Whether the array's `[` was seen.
    is_open: bool,
    braces: Braces,
    /// The object that is not complete yet.
    object: String,
}

impl ArrayScanner {
    /// The objects that this text completes.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Value> {
        let mut completed = Vec::new();
        // Start of the open object's text in this piece.
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            if !self.is_open {
                self.is_open = byte == b'[';
                continue;
            }
            match self.braces.step(byte) {
                Step::Opened => start = at,
                Step::Closed => {
                    self.object.push_str(&text[start..=at]);
                    completed.extend(json5::complete(&self.object));
                    self.object.clear();
                }
                Step::Inside => {}
            }
        }
        if self.braces.depth > 0 {
            self.object.push_str(&text[start..]);
        }
        completed
    }
}

/// Finds the objects of JSON lines. Lines that do not start with `{` are passed
/// over.
#[derive(Debug, Default)]
pub(crate) struct LineScanner {
    line: Line,
    braces: Braces,
    /// The line from its `{` on, while its object is not complete.
    object: String,
}

#[derive(Debug, Default)]
enum Line {
    /// Nothing but white space so far.
    #[default]
    Blank,
    /// An object that is not complete yet.
    Object,
    /// The rest is of no interest.
    Done,
}

impl LineScanner {
    /// The objects that this text completes: those of ended lines, and one whose
    /// line may still go on.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Value> {
        let mut completed = Vec::new();
        for piece in text.split_inclusive('\n') {
            completed.extend(self.take(piece));
            if piece.ends_with('\n') {
                completed.extend(self.end_line());
            }
        }
        completed
    }

    /// Ends the line: an object that was cut off is closed.
    pub(crate) fn end_line(&mut self) -> Option<Value> {
        let object = match self.line {
            Line::Object => first_value(&self.object),
            Line::Blank | Line::Done => None,
        };
        *self = Self::default();
        object
    }

    /// Takes a piece of one line.
    fn take(&mut self, piece: &str) -> Option<Value> {
        let piece = match self.line {
            Line::Done => return None,
            Line::Object => piece,
            Line::Blank => {
                let piece = piece.trim_start();
                self.line = match piece.bytes().next() {
                    None => Line::Blank,
                    Some(b'{') => Line::Object,
                    Some(_) => Line::Done,
                };
                piece
            }
        };
        if !matches!(self.line, Line::Object) {
            return None;
        }
        let end = piece.bytes().position(|byte| self.braces.step(byte) == Step::Closed);
        self.object.push_str(&piece[..end.map_or(piece.len(), |end| end + 1)]);
        end?;
        self.line = Line::Done;
        json5::complete(&self.object)
    }
}

/// Follows the braces of JSON5 text, outside of strings and comments.
#[derive(Debug, Default)]
struct Braces {
    depth: usize,
    state: State,
}

#[derive(Debug, Default, Clone, Copy)]
enum State {
    #[default]
    Plain,
    /// In a string that this quote ends.
    Quoted(u8),
    /// After the backslash of such a string.
    Escaped(u8),
    /// After a slash that may begin a comment.
    Slash,
    LineComment,
    BlockComment,
    /// After an asterisk that may end a comment.
    Asterisk,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// The byte opened an outermost object.
    Opened,
    /// The byte closed an outermost object.
    Closed,
    Inside,
}

impl Braces {
    fn step(&mut self, byte: u8) -> Step {
        self.state = match (self.state, byte) {
            (State::Plain, _) => return self.plain(byte),
            (State::Quoted(quote), b'\\') => State::Escaped(quote),
            (State::Quoted(quote), _) if byte == quote => State::Plain,
            (State::Escaped(quote), _) => State::Quoted(quote),
            (State::Slash, b'/') => State::LineComment,
            (State::Slash, b'*') => State::BlockComment,
            (State::Slash, _) => return self.plain(byte),
            (State::LineComment, b'\n' | b'\r') => State::Plain,
            (State::BlockComment, b'*') => State::Asterisk,
            (State::Asterisk, b'/') => State::Plain,
            (State::Asterisk, b'*') => State::Asterisk,
            (State::Asterisk, _) => State::BlockComment,
            (state @ (State::Quoted(_) | State::LineComment | State::BlockComment), _) => state,
        };
        Step::Inside
    }

    fn plain(&mut self, byte: u8) -> Step {
        self.state = match byte {
            b'"' => State::Quoted(b'"'),
            // Between objects there may be prose, with apostrophes and slashes.
            b'\'' if self.depth > 0 => State::Quoted(b'\''),
            b'/' if self.depth > 0 => State::Slash,
            _ => State::Plain,
        };
        match byte {
            b'{' => {
                self.depth += 1;
                if self.depth == 1 {
                    return Step::Opened;
                }
            }
            b'}' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    return Step::Closed;
                }
            }
            _ => {}
        }
        Step::Inside
    }
}
