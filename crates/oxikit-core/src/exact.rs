//! Checks that JSON text means the same to every reader.
//!
//! A tree has one member of a name, and numbers of 64 bits. Text can hold more: the
//! same name twice, of which most readers take the last one, and numbers that most
//! readers round. Such text is refused where it would be changed silently. The check scans the
//! text without recursion and does not validate it: a parser has accepted it before.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr2;

use crate::Status;

/// Maximum levels of nesting. Deeper text is refused.
const MAX_DEPTH: usize = 10_000;
/// Numbers with fewer characters than this are always kept exactly by a double.
const SHORT: usize = 16;
/// 2⁵³: from here on, not every integer is a double.
pub(crate) const LARGE: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
/// Maximum bytes of a name or number in a message. The rest is cut.
const MAX_SHOWN: usize = 60;
/// Up to this number of members, names are compared pairwise; more are sorted first.
const FEW: usize = 8;

/// Refuses text in which an object has a name twice, or in which an integer is not
/// kept by 64 bits, nor by a double that is written with the same digits. Fractions
/// are doubles.
///
/// The text must be valid JSON: a parser has accepted it before.
///
/// ```
/// use oxikit_core::check_exact;
///
/// assert!(check_exact(br#"{ "id": 7, "name": "tea" }"#).is_ok());
/// assert!(check_exact(br#"{ "id": 7, "id": 8 }"#).is_err());
/// assert!(check_exact(b"18446744073709551617").is_err());
/// ```
///
/// # Errors
///
/// `INVALID_ARGUMENT` with the name or the number.
pub fn check_exact(text: &[u8]) -> Result<(), Status> {
    check(text).map_err(|inexact| Status::invalid_argument(inexact.to_string()))
}

/// The reason why text cannot be kept as a tree.
#[derive(Debug, PartialEq)]
pub(crate) enum Inexact {
    /// An object has this member twice.
    Member(String),
    /// This number would be rounded to another one.
    Number(String),
    /// The text is nested deeper than [`MAX_DEPTH`].
    Depth,
}

impl fmt::Display for Inexact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => {
                write!(f, "the member `{}` is there twice: send it once", cut(name))
            }
            Self::Number(number) => {
                write!(f, "the number {} cannot be kept exactly: send it as a text", cut(number))
            }
            Self::Depth => write!(f, "it is nested deeper than {MAX_DEPTH} levels"),
        }
    }
}

/// Scans text that a parser has accepted, without recursion.
pub(crate) fn check(text: &[u8]) -> Result<(), Inexact> {
    // Room for most requests: a list that grows is moved.
    let (names, open) = (Vec::with_capacity(16), Vec::with_capacity(16));
    let mut scan = Scan { text, names, open, is_name: false };
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at = match byte {
            b'"' => scan.string(at),
            b'-' | b'0'..=b'9' => scan.number(at)?,
            b'{' => scan.enter(Some(scan.names.len()), at)?,
            b'[' => scan.enter(None, at)?,
            b'}' | b']' => scan.leave(at)?,
            b',' => {
                scan.is_name = matches!(scan.open.last(), Some(Some(_)));
                at + 1
            }
            _ => at + 1,
        };
    }
    Ok(())
}

struct Scan<'a> {
    text: &'a [u8],
    /// Start and end of the names of all open objects, without their quotes: a stack that the
    /// objects share.
    names: Vec<(usize, usize)>,
    /// The open lists and objects. For an object, the index of its first name in `names`.
    open: Vec<Option<usize>>,
    /// Whether the next string is the name of a member.
    is_name: bool,
}

impl Scan<'_> {
    fn enter(&mut self, names: Option<usize>, at: usize) -> Result<usize, Inexact> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Inexact::Depth);
        }
        self.is_name = names.is_some();
        self.open.push(names);
        Ok(at + 1)
    }

    fn leave(&mut self, at: usize) -> Result<usize, Inexact> {
        if let Some(Some(first)) = self.open.pop() {
            if let Some(name) = repeated(self.text, &mut self.names[first..]) {
                return Err(Inexact::Member(name));
            }
            self.names.truncate(first);
        }
        self.is_name = false;
        Ok(at + 1)
    }

    fn string(&mut self, at: usize) -> usize {
        let begin = at + 1;
        let mut end = begin;
        while let Some(found) = self.text.get(end..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
            end += found;
            if self.text[end] == b'"' {
                break;
            }
            end += 2;
        }
        if std::mem::take(&mut self.is_name) {
            self.names.push((begin, end.min(self.text.len())));
        }
        end + 1
    }

    fn number(&self, at: usize) -> Result<usize, Inexact> {
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
        let length = self.text[at..].iter().take_while(|byte| is_part(byte)).count();
        let number = &self.text[at..at + length];
        if length >= SHORT && !is_kept(&String::from_utf8_lossy(number)) {
            return Err(Inexact::Number(String::from_utf8_lossy(number).into_owned()));
        }
        Ok(at + length)
    }
}

/// A name that occurs twice among the names at these places.
fn repeated(text: &[u8], places: &mut [(usize, usize)]) -> Option<String> {
    let raw = |place: &(usize, usize)| &text[place.0..place.1];
    // `"a"` and `"\u0061"` are the same name. Escapes are rare, so only then are names decoded.
    if places.iter().any(|place| raw(place).contains(&b'\\')) {
        let mut names: Vec<_> = places.iter().map(|place| unescaped(raw(place))).collect();
        names.sort_unstable();
        let pair = names.windows(2).find(|pair| pair[0] == pair[1])?;
        return Some(String::from_utf8_lossy(&pair[0]).into_owned());
    }
    let found = if places.len() <= FEW {
        let has_twin = |(index, place): &(usize, &(usize, usize))| {
            places[..*index].iter().any(|other| raw(other) == raw(place))
        };
        places.iter().enumerate().find(has_twin).map(|(_, place)| *place)
    } else {
        places.sort_unstable_by(|one, other| raw(one).cmp(raw(other)));
        places.windows(2).find(|pair| raw(&pair[0]) == raw(&pair[1])).map(|pair| pair[0])
    };
    found.map(|place| String::from_utf8_lossy(raw(&place)).into_owned())
}

/// The name without its escapes. A name with half of a surrogate pair, which no reader accepts, is
/// returned as it is.
fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if !raw.contains(&b'\\') {
        return raw.into();
    }
    let quoted = [b"\"", raw, b"\""].concat();
    match serde_json::from_slice::<String>(&quoted) {
        Ok(name) => name.into_bytes().into(),
        Err(_) => raw.into(),
    }
}

/// Whether a number that is kept in 64 bits is written with the same digits again.
fn is_kept(number: &str) -> bool {
    let is_integer = !number.contains(['.', 'e', 'E']);
    if is_integer && (number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok()) {
        return true;
    }
    match number.parse::<f64>() {
        Ok(value) if !value.is_finite() => false,
        Ok(value) if value.abs() < LARGE => true,
        Ok(value) => Decimal::of(number) == Decimal::of(&format!("{value:e}")),
        Err(_) => false,
    }
}

/// A decimal number in the one form that each has: `0.digits` times ten to the power
/// of `exponent`, without a zero at either end.
#[derive(PartialEq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// `None` if the exponent does not fit into 64 bits.
    fn of(number: &str) -> Option<Self> {
        let (is_negative, number) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = exponent.parse::<i64>().ok()?.checked_add(whole.len() as i64)?;
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        let exponent = exponent.checked_sub((digits.len() - significant.len()) as i64)?;
        Some(Self { is_negative, digits: significant.trim_end_matches('0').to_owned(), exponent })
    }
}

fn cut(text: &str) -> Cow<'_, str> {
    match text.len() {
        0..=MAX_SHOWN => text.into(),
        _ => format!("{}…", &text[..text.floor_char_boundary(MAX_SHOWN)]).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn accepts(text: &str) {
        assert_eq!(check(text.as_bytes()), Ok(()), "{text}");
    }

    #[track_caller]
    fn refuses(text: &str, expected: Inexact) {
        assert_eq!(check(text.as_bytes()), Err(expected), "{text}");
    }

    #[test]
    fn numbers_are_kept_or_refused() {
        for number in [
            "0",
            "-0",
            "18446744073709551615",
            "-9223372036854775808",
            // 2⁶⁴ and 2⁷⁰ as JavaScript writes them.
            "18446744073709552000",
            "1.1805916207174113e+21",
            "1e22",
            "1.7976931348623157e308",
            "0.30000000000000004",
            "0.1000000000000000055511151231257827",
            "1e-400",
        ] {
            accepts(number);
            accepts(&format!("[{number}]"));
        }
        for number in [
            "18446744073709551616",
            "18446744073709551617",
            "-9223372036854775809",
            "9007199254740993.0",
            "1.8446744073709551616e19",
            "18446744073709551616e0",
            "340282366920938463463374607431768211455",
            "100000000000000000000000000000000000001",
            "1000000000000000e999",
        ] {
            refuses(number, Inexact::Number(number.into()));
            refuses(&format!("{{\"a\":[{number}]}}"), Inexact::Number(number.into()));
        }
        accepts(r#"["18446744073709551616"]"#);
    }

    #[test]
    fn a_member_is_there_once() {
        accepts(r#"{"a":1,"b":{"a":{"a":1}},"c":[{"a":1},{"a":2}],"d":"a","":0}"#);
        accepts(r#"{"a":"\"a\":1,\"a\":2","b":"\\"}"#);
        accepts(r#"{"__proto__":1,"constructor":2,"A":1,"a":1}"#);
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{ "a" : 1 , "b" : [ { } ] , "a" : 2 }"#,
            r#"[[{"b":{"x":[1,{"a":1,"c":2,"a":3}]}}]]"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"\u0061":1,"a":{"b":1}}"#,
            r#"{"b":{"c":1},"a":{},"a":[]}"#,
            r#"{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"a":0,"8":0,"9":0,"a":0}"#,
        ] {
            refuses(text, Inexact::Member("a".into()));
        }
        refuses(r#"{"":1,"":2}"#, Inexact::Member(String::new()));
    }

    #[test]
    fn depth_costs_no_stack_and_little_memory() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        accepts(&deep(MAX_DEPTH));
        refuses(&deep(1_000_000), Inexact::Depth);
    }

    #[test]
    fn many_members_take_little_time() {
        let many = (0..200_000).map(|number| format!("\"{number}\":0")).collect::<Vec<_>>();
        let text = format!("{{{}}}", many.join(","));
        accepts(&text);
        let twice = text.replace("{\"0\"", "{\"199999\"");
        refuses(&twice, Inexact::Member("199999".into()));
    }
}
