//! Writes one JSON value in many forms: other number formats, orders, escapes and spaces.

use serde_json::Value;

/// One way to write a value.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) name: &'static str,
    /// The text of an integer.
    integer: fn(i128) -> String,
    is_reversed: bool,
    has_escapes: bool,
    /// Stands between all tokens.
    space: &'static str,
}

const PLAIN: Form = Form {
    name: "plain",
    integer: |number| number.to_string(),
    is_reversed: false,
    has_escapes: false,
    space: "",
};

pub(super) const FORMS: [Form; 8] = [
    PLAIN,
    Form { name: "floats", integer: |number| format!("{number}.0"), ..PLAIN },
    Form { name: "exponents", integer: |number| format!("{number}e0"), ..PLAIN },
    Form { name: "moved points", integer: moved_point, ..PLAIN },
    Form { name: "another order", is_reversed: true, ..PLAIN },
    Form { name: "escapes", has_escapes: true, ..PLAIN },
    Form { name: "spaces", space: " \r\n\t", ..PLAIN },
    Form {
        name: "all at once",
        integer: |number| format!("{number}.0e+0"),
        is_reversed: true,
        has_escapes: true,
        space: "\r\n",
    },
];

fn moved_point(number: i128) -> String {
    if number == 0 { "-0.0".to_owned() } else { format!("{number}0.0E-1") }
}

impl Form {
    pub(super) fn write(&self, value: &Value) -> String {
        let mut text = String::new();
        self.add(value, &mut text);
        text
    }

    fn add(&self, value: &Value, text: &mut String) {
        text.push_str(self.space);
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                if self.is_reversed {
                    members.reverse();
                }
                self.add_list(text, ['{', '}'], members, |(name, value), text| {
                    text.push_str(self.space);
                    self.add_text(name, text);
                    text.push_str(self.space);
                    text.push(':');
                    self.add(value, text);
                });
            }
            Value::Array(items) => {
                self.add_list(text, ['[', ']'], items.iter().collect(), |item, text| {
                    self.add(item, text);
                });
            }
            Value::String(words) => self.add_text(words, text),
            Value::Number(number) => match number.as_i128() {
                Some(number) => text.push_str(&(self.integer)(number)),
                None => text.push_str(&number.to_string()),
            },
            Value::Bool(_) | Value::Null => text.push_str(&value.to_string()),
        }
        text.push_str(self.space);
    }

    fn add_list<T>(
        &self,
        text: &mut String,
        [open, close]: [char; 2],
        items: Vec<T>,
        add: impl Fn(T, &mut String),
    ) {
        text.push(open);
        for (place, item) in items.into_iter().enumerate() {
            if place > 0 {
                text.push(',');
            }
            add(item, text);
        }
        text.push_str(self.space);
        text.push(close);
    }

    fn add_text(&self, words: &str, text: &mut String) {
        if !self.has_escapes {
            text.push_str(&Value::from(words).to_string());
            return;
        }
        text.push('"');
        for unit in words.encode_utf16() {
            text.push_str(&format!("\\u{unit:04X}"));
        }
        text.push('"');
    }
}

/// Whether two values are equal apart from the format of their numbers.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| is_same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}
