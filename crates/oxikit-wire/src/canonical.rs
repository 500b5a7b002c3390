//! The canonical form of JSON (JCS, RFC 8785), over which signatures are made.

use std::fmt::Write;

use serde_json::{Number, Value};

/// Writes a value in its canonical form: members sorted by the UTF-16 units of their names, no
/// white space, numbers and texts as ECMAScript writes them.
///
/// Numbers are those of IEEE 754 with double precision, as the RFC demands: larger integers lose
/// their last digits.
///
/// ```
/// let value = serde_json::json!({ "b": 1.0, "a": ["\u{20ac}", 1e21] });
/// assert_eq!(oxikit_wire::canonical_json(&value), "{\"a\":[\"\u{20ac}\",1e+21],\"b\":1}");
/// ```
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_text(out, name);
                out.push(':');
                write_value(out, member);
            }
            out.push('}');
        }
    }
}

fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            control if control < ' ' => {
                // Writing to a text cannot fail.
                _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

/// Writes a number as `Number.prototype.toString` of ECMAScript does: the fewest digits that mean
/// the same number, without an exponent from 1e-6 to below 1e21.
fn write_number(out: &mut String, number: &Number) {
    // JSON has neither infinite numbers nor NaN, so every number has this form.
    let number = number.as_f64().unwrap_or_default();
    if number == 0.0 {
        return out.push('0');
    }
    let (digits, exponent) = decimal(number.abs());
    if number < 0.0 {
        out.push('-');
    }
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |number: i32| "0".repeat(usize::try_from(number).unwrap_or_default());
    match exponent {
        0..=20 if count <= exponent + 1 => {
            out.push_str(&digits);
            out.push_str(&zeros(exponent + 1 - count));
        }
        0..=20 => {
            let (whole, rest) = digits.split_at(usize::try_from(exponent + 1).unwrap_or_default());
            _ = write!(out, "{whole}.{rest}");
        }
        -6..=-1 => _ = write!(out, "0.{}{digits}", zeros(-exponent - 1)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            _ = write!(out, "{first}{point}{rest}e{sign}{}", exponent.abs());
        }
    }
}

/// The fewest digits that mean this number, and the exponent of the first one.
fn decimal(number: f64) -> (String, i32) {
    // `serde_json` chooses the even digit if two are as near, as ECMAScript does and the standard
    // library does not.
    let text = Number::from_f64(number).map_or_else(String::new, |number| number.to_string());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let place = i32::try_from(whole.len()).unwrap_or_default()
        - i32::try_from(leading).unwrap_or_default()
        - 1;
    let exponent = exponent.parse::<i32>().unwrap_or_default() + place;
    (digits.trim_matches('0').to_owned(), exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix B of RFC 8785: the bits of a number, and its text.
    const NUMBERS: [(u64, &str); 24] = [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ];

    #[test]
    fn numbers_are_those_of_the_rfc() {
        for (bits, text) in NUMBERS {
            let number = Number::from_f64(f64::from_bits(bits)).unwrap();
            assert_eq!(canonical_json(&Value::Number(number)), text, "{bits:x}");
        }
        assert_eq!(canonical_json(&Value::from(9_007_199_254_740_993_u64)), "9007199254740992");
    }

    /// Section 3.2.2 and 3.2.3 of RFC 8785.
    #[test]
    fn texts_and_their_order_are_those_of_the_rfc() {
        let sample = r#"{
            "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
            "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false]
        }"#;
        let sample: Value = serde_json::from_str(sample).unwrap();
        assert_eq!(
            canonical_json(&sample),
            "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
             \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        let sample = r#"{ "\u20ac": "Euro Sign", "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis" }"#;
        let sample: Value = serde_json::from_str(sample).unwrap();
        let sorted: Value = serde_json::from_str(&canonical_json(&sample)).unwrap();
        let values: Vec<_> = sorted.as_object().unwrap().values().cloned().collect();
        assert_eq!(
            values,
            [
                "Carriage Return",
                "One",
                "Control",
                "Latin Small Letter O With Diaeresis",
                "Euro Sign",
                "Emoji: Grinning Face",
                "Hebrew Letter Dalet With Dagesh",
            ]
        );
    }
}
