//! A reader of JSON5, as models write JSON: with comments, trailing commas,
//! single quotes and bare keys, and often cut off before the end.
//!
//! One pass, no backtracking, and no deeper than [`MAX_DEPTH`]. Beyond JSON5,
//! line breaks within strings are taken as they are.

use serde_json::{Map, Number, Value};

/// Maximum nesting depth. A deeper value is rejected as [`Refusal::TooDeep`]: the parser is
/// recursive, and a model must not be able to overflow the stack.
const MAX_DEPTH: usize = 128;

/// The value at the beginning of a text.
#[derive(Debug, PartialEq)]
pub(super) struct Parsed {
    /// The value. Of a value that was cut off, what there was: open strings and
    /// brackets are closed, a member without a value is left out.
    pub(super) value: Value,
    /// Whether the value ended before the text did.
    pub(super) is_complete: bool,
}

/// The reason why a text was rejected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It is not JSON5; nothing behind this place was looked at.
    Syntax(usize),
    /// It is nested too deep.
    TooDeep,
}

/// Reads the value that the text begins with; what follows it does not matter.
pub(super) fn parse_prefix(text: &str) -> Result<Parsed, Refusal> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    match value {
        Read::Whole(value) => Ok(Parsed { value, is_complete: true }),
        Read::CutOff(Some(value)) => Ok(Parsed { value, is_complete: false }),
        Read::CutOff(None) => parser.refuse(),
    }
}

/// The value that the text begins with, if it is all there.
pub(super) fn complete(text: &str) -> Option<Value> {
    parse_prefix(text).ok().filter(|parsed| parsed.is_complete).map(|parsed| parsed.value)
}

/// Something read, or what there was of it when the text ended.
enum Read<T> {
    Whole(T),
    CutOff(Option<T>),
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    /// Reads a value. `depth` is the number of open brackets.
    fn value(&mut self, depth: usize) -> Result<Read<Value>, Refusal> {
        self.skip_space()?;
        match self.peek() {
            None => Ok(Read::CutOff(None)),
            Some('{' | '[') if depth == MAX_DEPTH => Err(Refusal::TooDeep),
            Some('{') => self.object(depth + 1),
            Some('[') => self.array(depth + 1),
            Some('"' | '\'') => Ok(match self.string()? {
                Read::Whole(text) => Read::Whole(Value::String(text)),
                Read::CutOff(text) => Read::CutOff(text.map(Value::String)),
            }),
            Some('0'..='9' | '+' | '-' | '.') => self.number(),
            Some(_) => self.literal(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Read<Value>, Refusal> {
        let mut members = Map::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            let key = match self.peek() {
                None => break,
                Some('}') => {
                    self.at += 1;
                    return Ok(Read::Whole(Value::Object(members)));
                }
                Some('"' | '\'') => match self.string()? {
                    Read::Whole(key) => key,
                    Read::CutOff(_) => break,
                },
                Some(_) => self.word()?.to_owned(),
            };
            self.skip_space()?;
            match self.peek() {
                None => break,
                Some(':') => self.at += 1,
                Some(_) => return self.refuse(),
            }
            match self.value(depth)? {
                Read::Whole(value) => _ = members.insert(key, value),
                Read::CutOff(value) => {
                    members.extend(value.map(|value| (key, value)));
                    break;
                }
            }
            if !self.separator('}')? {
                break;
            }
        }
        Ok(Read::CutOff(Some(Value::Object(members))))
    }

    fn array(&mut self, depth: usize) -> Result<Read<Value>, Refusal> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            if self.peek() == Some(']') {
                self.at += 1;
                return Ok(Read::Whole(Value::Array(items)));
            }
            match self.value(depth)? {
                Read::Whole(value) => items.push(value),
                Read::CutOff(value) => {
                    items.extend(value);
                    break;
                }
            }
            if !self.separator(']')? {
                break;
            }
        }
        Ok(Read::CutOff(Some(Value::Array(items))))
    }

    /// Passes the comma between two items; leaves the closing bracket. `false`
    /// when the text ends here.
    fn separator(&mut self, closing: char) -> Result<bool, Refusal> {
        self.skip_space()?;
        match self.peek() {
            None => Ok(false),
            Some(',') => {
                self.at += 1;
                Ok(true)
            }
            Some(other) if other == closing => Ok(true),
            Some(_) => self.refuse(),
        }
    }

    /// Reads a string, its opening quote being next.
    fn string(&mut self) -> Result<Read<String>, Refusal> {
        let quote = self.text.as_bytes()[self.at] as char;
        self.at += 1;
        let mut string = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(plain) = rest.find([quote, '\\']) else {
                self.at = self.text.len();
                string.push_str(rest);
                return Ok(Read::CutOff(Some(string)));
            };
            string.push_str(&rest[..plain]);
            self.at += plain + 1;
            if rest.as_bytes()[plain] != b'\\' {
                return Ok(Read::Whole(string));
            }
            match self.escape()? {
                Read::Whole(text) => string.extend(text),
                Read::CutOff(_) => {
                    self.at = self.text.len();
                    return Ok(Read::CutOff(Some(string)));
                }
            }
        }
    }

    /// Reads what follows a backslash; a line break stands for nothing.
    fn escape(&mut self) -> Result<Read<Option<char>>, Refusal> {
        let Some(escaped) = self.next() else {
            return Ok(Read::CutOff(None));
        };
        let unescaped = match escaped {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0' => '\0',
            '\r' if self.peek() == Some('\n') => {
                self.at += 1;
                return Ok(Read::Whole(None));
            }
            '\r' | '\n' | '\u{2028}' | '\u{2029}' => return Ok(Read::Whole(None)),
            'x' => match self.hex(2)? {
                None => return Ok(Read::CutOff(None)),
                Some(code) => char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
            },
            'u' => match self.unicode()? {
                None => return Ok(Read::CutOff(None)),
                Some(unescaped) => unescaped,
            },
            other => other,
        };
        Ok(Read::Whole(Some(unescaped)))
    }

    /// Reads the digits of `\u`, and the second half of a pair with them. `None`
    /// when the text ends before it is known which character that is.
    fn unicode(&mut self) -> Result<Option<char>, Refusal> {
        let Some(high) = self.hex(4)? else {
            return Ok(None);
        };
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(Some(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)));
        }
        let rest = &self.text[self.at..];
        if rest.len() < 2 && "\\u".starts_with(rest) {
            return Ok(None);
        }
        if !rest.starts_with("\\u") {
            return Ok(Some(char::REPLACEMENT_CHARACTER));
        }
        let second = self.at;
        self.at += 2;
        let Some(low) = self.hex(4)? else {
            return Ok(None);
        };
        if !(0xdc00..0xe000).contains(&low) {
            // Not a second half: it is read again for itself.
            self.at = second;
            return Ok(Some(char::REPLACEMENT_CHARACTER));
        }
        let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        Ok(char::from_u32(code))
    }

    /// Reads this number of hexadecimal digits; `None` when the text ends among them.
    fn hex(&mut self, digits: usize) -> Result<Option<u32>, Refusal> {
        let mut code = 0;
        for _ in 0..digits {
            match self.next() {
                None => return Ok(None),
                Some(digit) => match digit.to_digit(16) {
                    Some(digit) => code = code * 16 + digit,
                    None => return self.refuse(),
                },
            }
        }
        Ok(Some(code))
    }

    fn number(&mut self) -> Result<Read<Value>, Refusal> {
        let mut before = None;
        let token = self.take_while(|next| {
            let is_sign = matches!(next, '+' | '-');
            let fits = match before {
                None => true,
                Some('e' | 'E') if is_sign => true,
                Some(_) => next == '.' || next.is_ascii_alphanumeric(),
            };
            before = Some(next);
            fits
        });
        if self.at < self.text.len() {
            return match number(token) {
                Some(value) => Ok(Read::Whole(value)),
                None => self.refuse(),
            };
        }
        // The text ends: `1e-` is still a 1, and a mere sign is nothing yet.
        let (_, digits) = split_sign(token);
        if !digits.is_empty() && ("Infinity".starts_with(digits) || "NaN".starts_with(digits)) {
            return Ok(Read::CutOff(Some(Value::Null)));
        }
        let shorter = |cut: usize| token.get(..token.len().checked_sub(cut)?);
        match (0..3).filter_map(shorter).find_map(number) {
            None if !matches!(digits, "" | ".") => self.refuse(),
            value => Ok(Read::CutOff(value)),
        }
    }

    fn literal(&mut self) -> Result<Read<Value>, Refusal> {
        const LITERALS: [(&str, Value); 5] = [
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
            ("null", Value::Null),
            // JSON has no such numbers; JavaScript writes them as `null` too.
            ("NaN", Value::Null),
            ("Infinity", Value::Null),
        ];
        let word = self.word()?;
        let is_end = self.at == self.text.len();
        for (name, value) in LITERALS {
            if is_end && name.starts_with(word) {
                return Ok(Read::CutOff(Some(value)));
            }
            if name == word {
                return Ok(Read::Whole(value));
            }
        }
        self.refuse()
    }

    /// Reads a bare key or a literal: at least one character.
    fn word(&mut self) -> Result<&'t str, Refusal> {
        let word = self.take_while(|next| next.is_alphanumeric() || matches!(next, '_' | '$'));
        if word.is_empty() {
            return self.refuse();
        }
        Ok(word)
    }

    /// Passes white space and comments.
    fn skip_space(&mut self) -> Result<(), Refusal> {
        loop {
            self.take_while(|next| next.is_whitespace() || next == '\u{feff}');
            let rest = &self.text[self.at..];
            let len = if rest.starts_with("//") {
                rest.find(['\n', '\r', '\u{2028}', '\u{2029}'])
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.find("*/").map(|len| len + 4)
            } else if rest == "/" {
                None
            } else if rest.starts_with('/') {
                return self.refuse();
            } else {
                return Ok(());
            };
            self.at += len.unwrap_or(rest.len());
        }
    }

    fn take_while(&mut self, mut fits: impl FnMut(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        let len = rest.find(|next| !fits(next)).unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn refuse<T>(&self) -> Result<T, Refusal> {
        Err(Refusal::Syntax(self.at))
    }
}

/// The number that the whole token is. Numbers that JSON cannot express are
/// `null`.
fn number(token: &str) -> Option<Value> {
    let (sign, digits) = split_sign(token);
    if matches!(digits, "Infinity" | "NaN") {
        return Some(Value::Null);
    }
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    if let Some(hex) = hex {
        return hex_number(sign, hex);
    }
    let mut start = digits.bytes();
    let is_octal = start.next()? == b'0' && start.next().is_some_and(|next| next.is_ascii_digit());
    // Rust also reads `inf` and `infinity` as numbers.
    let is_plain =
        digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_octal || !is_plain {
        return None;
    }
    let signed = token.strip_prefix('+').unwrap_or(token);
    if signed != "-0" {
        if let Ok(number) = signed.parse::<i64>() {
            return Some(Value::from(number));
        }
        if let Ok(number) = signed.parse::<u64>() {
            return Some(Value::from(number));
        }
    }
    let number = signed.parse::<f64>().ok()?;
    Some(Number::from_f64(number).map_or(Value::Null, Value::Number))
}

fn hex_number(sign: &str, hex: &str) -> Option<Value> {
    // Rust would take a second sign.
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(hex, 16).ok()?;
    if sign != "-" {
        return Some(Value::from(magnitude));
    }
    let number = 0_i64.checked_sub_unsigned(magnitude)?;
    Some(Value::from(number))
}

fn split_sign(token: &str) -> (&str, &str) {
    let len = token.bytes().take_while(|byte| b"+-".contains(byte)).count();
    token.split_at(len.min(1))
}
