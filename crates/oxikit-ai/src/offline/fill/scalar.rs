//! Strings, numbers and booleans.

use serde_json::{Map, Value};

use super::{Filler, count, pattern};

/// Maximum number of repetitions that patterns are tried with.
const MAX_REPEAT: usize = 64;
/// Maximum length of a string. A schema that requires more has no value.
const MAX_LEN: usize = 100_000;

impl Filler<'_> {
    pub(super) fn boolean(&self) -> bool {
        let denies = ["false", "off", "no"].map(|word| self.hints.mentions(word));
        !denies.contains(&true)
    }

    pub(super) fn string(&mut self, schema: &Map<String, Value>, name: &str) -> Option<Value> {
        let min = count(schema, "minLength").unwrap_or(0);
        let max = count(schema, "maxLength").unwrap_or(usize::MAX);
        if min > max || min > MAX_LEN {
            return None;
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            let first = self.item + 1;
            let sampled = (first..first + MAX_REPEAT)
                .chain([0])
                .filter_map(|repeat| pattern::sample(pattern, repeat))
                .find(|text| (min..=max).contains(&text.chars().count()));
            if let Some(text) = sampled {
                return Some(Value::from(text));
            }
        }
        if let Some(text) =
            schema.get("format").and_then(Value::as_str).and_then(|format| self.formatted(format))
        {
            return Some(Value::from(text));
        }
        let text = match self.hints.string() {
            Some(text) => text,
            None if self.item == 0 => format!("sample {name}"),
            None => format!("{} sample {name}", self.item + 1),
        };
        Some(Value::from(of_length(&text, min, max)))
    }

    /// A string of this format, from the hints if they have one.
    fn formatted(&self, format: &str) -> Option<String> {
        let found = self.hints.word(|word| match format {
            "date" => is_date(word),
            "date-time" => {
                word.get(..10).is_some_and(is_date) && word.len() == 20 && word.ends_with('Z')
            }
            "email" => word
                .split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && host.contains('.')),
            "uri" | "url" | "iri" => word.starts_with("https://") || word.starts_with("http://"),
            _ => false,
        });
        if found.is_some() && self.item == 0 {
            return found;
        }
        let item = self.item;
        Some(match format {
            "date" => format!("{}-01-01", 2025 + item % 1000),
            "date-time" => format!("{}-01-01T12:00:00Z", 2025 + item % 1000),
            "time" => format!("{:02}:00:00Z", (12 + item) % 24),
            "duration" => format!("P{}D", 1 + item),
            "uuid" => format!("00000000-0000-4000-8000-{item:012}"),
            "email" | "idn-email" => match item {
                0 => "someone@example.com".to_owned(),
                item => format!("someone{item}@example.com"),
            },
            "uri" | "url" | "iri" | "uri-reference" | "iri-reference" => match item {
                0 => "https://example.com/".to_owned(),
                item => format!("https://example.com/{item}"),
            },
            "hostname" | "idn-hostname" => format!("host{item}.example.com"),
            "ipv4" => format!("192.0.2.{}", 1 + item % 250),
            "ipv6" => format!("2001:db8::{:x}", 1 + item % 1000),
            "json-pointer" => format!("/{item}"),
            "regex" => "a".repeat(item + 1),
            _ => return None,
        })
    }

    pub(super) fn number(
        &mut self,
        schema: &Map<String, Value>,
        is_integer: bool,
    ) -> Option<Value> {
        let range = Range::of(schema, is_integer);
        let number =
            self.hints.number(|number| range.contains(number)).or_else(|| range.pick(self.item))?;
        Some(as_json(number))
    }
}

/// The numbers that a schema allows.
struct Range {
    low: Option<f64>,
    high: Option<f64>,
    excluded: [Option<f64>; 2],
    step: Option<f64>,
    is_integer: bool,
}

impl Range {
    fn of(schema: &Map<String, Value>, is_integer: bool) -> Self {
        let get = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let [min, above, max, below] =
            ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].map(get);
        let tighter = |one: Option<f64>, other: Option<f64>, choose: fn(f64, f64) -> f64| {
            one.zip(other).map(|(one, other)| choose(one, other)).or(one).or(other)
        };
        Self {
            low: tighter(min, above, f64::max),
            high: tighter(max, below, f64::min),
            excluded: [above, below],
            step: get("multipleOf").filter(|step| *step > 0.0),
            is_integer,
        }
    }

    fn contains(&self, number: f64) -> bool {
        let is_multiple = |step: f64| {
            let steps = number / step;
            (steps - steps.round()).abs() < 1e-9
        };
        number.is_finite()
            && self.low.is_none_or(|low| number >= low)
            && self.high.is_none_or(|high| number <= high)
            && !self.excluded.contains(&Some(number))
            && (!self.is_integer || number.fract() == 0.0)
            && self.step.is_none_or(is_multiple)
    }

    /// The n-th candidate among the numbers of this range.
    fn pick(&self, n: usize) -> Option<f64> {
        let n = n as f64;
        let step = self.step.unwrap_or(1.0);
        let up = |from: f64, by: f64| (from / step).ceil() * step + by * step;
        let down = |from: f64, by: f64| (from / step).floor() * step - by * step;
        let low = self.low.unwrap_or(f64::NEG_INFINITY);
        let high = self.high.unwrap_or(f64::INFINITY);
        let near = [1.0 + n, up(1.0, n), 0.0]
            .into_iter()
            .chain([low + n, high - n, (low + high) / 2.0])
            .chain([low + (high - low) * (n + 1.0) / (n + 2.0)]);
        // A whole multiple of a fractional step may be some steps away.
        let far = (0..1000).flat_map(|by| {
            let by = f64::from(by) + n;
            [up(low, by), down(high, by)]
        });
        near.chain(far).find(|number| self.contains(*number))
    }
}

fn as_json(number: f64) -> Value {
    // Up to here every whole number is exact.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if number.fract() == 0.0 && number.abs() <= EXACT {
        Value::from(number as i64)
    } else {
        Value::from(number)
    }
}

fn of_length(text: &str, min: usize, max: usize) -> String {
    let padding = std::iter::repeat_n('.', min.saturating_sub(text.chars().count()));
    text.chars().take(max).chain(padding).collect()
}

fn is_date(word: &str) -> bool {
    let mut parts = word.split('-');
    let mut number = |len: usize| {
        let part = parts.next().filter(|part| part.len() == len)?;
        part.parse::<u32>().ok()
    };
    let is_date = number(4).is_some()
        && number(2).is_some_and(|month| (1..=12).contains(&month))
        && number(2).is_some_and(|day| (1..=28).contains(&day));
    is_date && parts.next().is_none()
}
