//! Values while rendering: JSON of the caller by reference, and values that templates
//! make, with the truth, equality and printing of JavaScript.
//!
//! A value is cheap to clone: it refers to the caller's JSON, or to a shared value (`Rc`). A
//! render runs on one thread, so `Rc` is enough.

use std::rc::Rc;

use serde_json::{Map, Number, Value};

use super::text::js_trim;

/// A value of JavaScript, as far as JSON can express it, and `undefined`. The variants `Made…`
/// own their content, the others borrow it.
#[derive(Debug, Clone)]
pub(crate) enum Val<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(Number),
    Text(&'a str),
    MadeText(Rc<str>),
    List(&'a Vec<Value>),
    MadeList(Rc<Vec<Val<'a>>>),
    Object(&'a Map<String, Value>),
    MadeObject(Rc<Extended<'a>>),
}

/// An object that adds members to another value without copying it.
#[derive(Debug)]
pub(crate) struct Extended<'a> {
    pub(crate) base: Val<'a>,
    pub(crate) members: Vec<(Rc<str>, Val<'a>)>,
}

impl<'a> Val<'a> {
    /// A value of the caller, without a copy of texts, lists and objects.
    pub(crate) fn json(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::Number(number.clone()),
            Value::String(text) => Self::Text(text),
            Value::Array(items) => Self::List(items),
            Value::Object(members) => Self::Object(members),
        }
    }

    /// A value that a helper made.
    pub(crate) fn made(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(value),
            Value::Number(number) => Self::Number(number),
            Value::String(text) => Self::MadeText(text.into()),
            Value::Array(items) => {
                Self::MadeList(Rc::new(items.into_iter().map(Self::made).collect()))
            }
            Value::Object(members) => Self::extended(
                Self::Undefined,
                members.into_iter().map(|(key, value)| (key.into(), Self::made(value))).collect(),
            ),
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::MadeText(text.into())
    }

    pub(crate) fn index(index: usize) -> Self {
        Self::Number(index.into())
    }

    /// An object with the members of `base` and with `members`, which have precedence.
    pub(crate) fn extended(base: Val<'a>, members: Vec<(Rc<str>, Val<'a>)>) -> Self {
        Self::MadeObject(Rc::new(Extended { base, members }))
    }

    /// Whether it is `undefined` or `null`.
    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::MadeText(text) => Some(text),
            _ => None,
        }
    }

    /// JavaScript's truth: empty lists and objects are true.
    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Number(number) => number.as_f64() != Some(0.0),
            Self::Text(text) => !text.is_empty(),
            Self::MadeText(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// Whether `if`, `with` and blocks of custom helpers treat the value as absent: falsy values
    /// except 0, and empty lists.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Number(_) => false,
            _ => !self.is_truthy() || self.list_len() == Some(0),
        }
    }

    /// Number of items; `None` if it is not a list.
    pub(crate) fn list_len(&self) -> Option<usize> {
        match self {
            Self::List(items) => Some(items.len()),
            Self::MadeList(items) => Some(items.len()),
            _ => None,
        }
    }

    /// An item of a list; `undefined` beyond its end and for other values.
    pub(crate) fn item(&self, index: usize) -> Val<'a> {
        match self {
            Self::List(items) => items.get(index).map_or(Self::Undefined, Self::json),
            Self::MadeList(items) => items.get(index).cloned().unwrap_or(Self::Undefined),
            _ => Self::Undefined,
        }
    }

    /// Whether it is a list or an object, which are both objects in JavaScript.
    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::List(_) | Self::MadeList(_) | Self::Object(_) | Self::MadeObject(_))
    }

    /// An own property; `length` counts UTF-16 units as in JavaScript.
    pub(crate) fn get(&self, name: &str) -> Val<'a> {
        match self {
            Self::Object(members) => members.get(name).map_or(Self::Undefined, Self::json),
            Self::MadeObject(object) => object.get(name),
            Self::List(_) | Self::MadeList(_) if name == "length" => {
                self.list_len().map_or(Self::Undefined, Self::index)
            }
            Self::Text(_) | Self::MadeText(_) if name == "length" => {
                let units = self.as_str().map_or(0, |text| text.encode_utf16().count());
                Self::index(units)
            }
            _ => self.get_index(name),
        }
    }

    /// The item or the UTF-16 unit at an index that is written as a name.
    fn get_index(&self, name: &str) -> Val<'a> {
        let Some(index) = list_index(name) else {
            return Self::Undefined;
        };
        match self.as_str() {
            Some(text) => match text.encode_utf16().nth(index) {
                Some(unit) => Self::text(&String::from_utf16_lossy(&[unit])),
                None => Self::Undefined,
            },
            None => self.item(index),
        }
    }

    /// The names of the members, in order; indices for lists and texts, nothing for other values.
    pub(crate) fn keys(&self) -> Vec<Rc<str>> {
        match self {
            Self::Object(members) => members.keys().map(|key| key.as_str().into()).collect(),
            Self::MadeObject(object) => object.keys(),
            Self::Text(_) | Self::MadeText(_) => {
                index_keys(self.as_str().map_or(0, |text| text.encode_utf16().count()))
            }
            _ => index_keys(self.list_len().unwrap_or(0)),
        }
    }

    /// `===`: objects are equal only to themselves.
    pub(crate) fn strictly_equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (Self::List(a), Self::List(b)) => std::ptr::eq(*a, *b),
            (Self::MadeList(a), Self::MadeList(b)) => Rc::ptr_eq(a, b),
            (Self::Object(a), Self::Object(b)) => std::ptr::eq(*a, *b),
            (Self::MadeObject(a), Self::MadeObject(b)) => Rc::ptr_eq(a, b),
            _ => match (self.as_str(), other.as_str()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }

    /// `==`, by which the reference decides whether `../` gets a new level.
    pub(crate) fn loosely_equals(&self, other: &Self) -> bool {
        if self.is_nullish() || other.is_nullish() {
            return self.is_nullish() && other.is_nullish();
        }
        match (self.is_object(), other.is_object()) {
            (true, true) => self.strictly_equals(other),
            (true, false) => self.prints_as(other),
            (false, true) => other.prints_as(self),
            (false, false) => match (self.as_str(), other.as_str()) {
                (Some(a), Some(b)) => a == b,
                _ => self.to_number() == other.to_number(),
            },
        }
    }

    /// Whether the text of an object or list is loosely equal to a text, number or boolean.
    // The renderer asks this for every item of a list. A comparison that printed a large list each
    // time would make a loop quadratic, so it compares piece by piece and stops early.
    fn prints_as(&self, scalar: &Self) -> bool {
        match scalar.as_str() {
            Some(text) => self.strip_from(text) == Some(""),
            // The text of two items contains a comma and is not a number.
            None if self.list_len().is_some_and(|count| count > 1) => false,
            None => text_to_number(&self.to_text()) == scalar.to_number(),
        }
    }

    /// The rest of `text` after the text of this value; `None` if it does not begin with it.
    fn strip_from<'t>(&self, text: &'t str) -> Option<&'t str> {
        let Some(count) = self.list_len() else {
            return text.strip_prefix(self.to_text().as_str());
        };
        let mut rest = text;
        for index in 0..count {
            if index > 0 {
                rest = rest.strip_prefix(',')?;
            }
            rest = self.item(index).strip_from(rest)?;
        }
        Some(rest)
    }

    /// The number for `==`: NaN if there is none, which is equal to nothing.
    fn to_number(&self) -> f64 {
        match self {
            Self::Bool(value) => f64::from(u8::from(*value)),
            Self::Number(number) => number.as_f64().unwrap_or(f64::NAN),
            _ => self.as_str().map_or(f64::NAN, text_to_number),
        }
    }

    /// The value as `{{value}}` prints it; empty for null and undefined.
    pub(crate) fn to_text(&self) -> String {
        let mut out = String::new();
        self.write_text(&mut out);
        out
    }

    /// Appends the text of [`to_text`](Self::to_text).
    pub(crate) fn write_text(&self, out: &mut String) {
        match self {
            Self::Undefined | Self::Null => {}
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => out.push_str(&js_number(number)),
            Self::Text(text) => out.push_str(text),
            Self::MadeText(text) => out.push_str(text),
            Self::List(_) | Self::MadeList(_) => {
                for index in 0..self.list_len().unwrap_or(0) {
                    if index > 0 {
                        out.push(',');
                    }
                    self.item(index).write_text(out);
                }
            }
            Self::Object(_) | Self::MadeObject(_) => out.push_str("[object Object]"),
        }
    }

    /// The value as a property name.
    pub(crate) fn to_key(&self) -> String {
        match self {
            Self::Undefined => "undefined".to_owned(),
            Self::Null => "null".to_owned(),
            _ => self.to_text(),
        }
    }

    /// The value as JSON for a helper; undefined becomes null.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Undefined | Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(number) => Value::Number(number.clone()),
            Self::Text(text) => Value::from(*text),
            Self::MadeText(text) => Value::from(&**text),
            Self::List(items) => Value::Array(items.to_vec()),
            Self::MadeList(items) => items.iter().map(Self::to_json).collect(),
            Self::Object(members) => Value::Object((*members).clone()),
            Self::MadeObject(object) => {
                let mut members = Map::new();
                for key in object.keys() {
                    let value = object.get(&key);
                    if !matches!(value, Self::Undefined) {
                        members.insert(key.to_string(), value.to_json());
                    }
                }
                Value::Object(members)
            }
        }
    }
}

impl<'a> Extended<'a> {
    fn get(&self, name: &str) -> Val<'a> {
        match self.members.iter().find(|(key, _)| **key == *name) {
            Some((_, value)) => value.clone(),
            // The reference copies the members of the base. A copy of a list or a text has its
            // items as members, but no `length`.
            None if name == "length" && !self.base_is_object() => Val::Undefined,
            None => self.base.get(name),
        }
    }

    /// Whether the base is an object and not a list or a text.
    fn base_is_object(&self) -> bool {
        matches!(self.base, Val::Object(_) | Val::MadeObject(_))
    }

    /// The names of the base, then the new ones. A name that replaces one of the base keeps its
    /// place, as in JavaScript.
    fn keys(&self) -> Vec<Rc<str>> {
        let mut keys = self.base.keys();
        let inherited = keys.len();
        for (key, _) in &self.members {
            if !keys[..inherited].contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }
}

/// The names `0`, `1`, … of the items of a list.
fn index_keys(count: usize) -> Vec<Rc<str>> {
    (0..count).map(|index| index.to_string().into()).collect()
}

/// `0`, `1`, … as property names; not `01`.
fn list_index(name: &str) -> Option<usize> {
    if name.starts_with('0') && name.len() > 1 {
        return None;
    }
    name.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    name.parse().ok()
}

/// `Number(text)` of JavaScript for decimal and hexadecimal numbers; NaN for other texts.
// Only the characters of decimal numbers are passed on, because Rust also parses "inf" and "nan".
fn text_to_number(text: &str) -> f64 {
    let text = js_trim(text);
    if text.is_empty() {
        return 0.0;
    }
    let plain = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if text.chars().all(plain) {
        return text.parse().unwrap_or(f64::NAN);
    }
    match text.get(..2) {
        Some("0x" | "0X") => u64::from_str_radix(&text[2..], 16).map_or(f64::NAN, |n| n as f64),
        _ => f64::NAN,
    }
}

/// A number as JavaScript prints it; integers stay exact beyond 2^53.
pub(crate) fn js_number(number: &Number) -> String {
    if number.is_i64() || number.is_u64() {
        return number.to_string();
    }
    js_float(number.as_f64().unwrap_or(f64::NAN))
}

/// `Number.prototype.toString` of JavaScript: plain digits from 1e-6 up to 1e21, otherwise an
/// exponent with a sign.
fn js_float(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rust's `{:e}` gives the same shortest digits; only the layout differs.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Position of the decimal point in `digits`; the names `point` and `count` are `n` and `k`
    // of the ECMAScript specification.
    let point = exponent + 1;

    let count = digits.len() as i32;
    let sign = if value < 0.0 { "-" } else { "" };
    let body = if (count..=21).contains(&point) {
        format!("{digits}{}", "0".repeat((point - count) as usize))
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{whole}.{fraction}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{exponent:+}")
    };
    format!("{sign}{body}")
}
