//! Texts that match simple regular expressions.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum length of a text. A pattern that needs more has none.
const MAX_LEN: usize = 4096;
/// Maximum nesting depth of groups. Patterns with deeper ones are not understood.
const MAX_DEPTH: usize = 32;

/// A text that matches the pattern. Every part that may repeat occurs `repeat` times, as far as
/// the pattern allows it. `None` for patterns that are not understood, such
/// as those with back references or look-around.
pub(super) fn sample(pattern: &str, repeat: usize) -> Option<String> {
    let mut sampler = Sampler { rest: pattern.chars().peekable(), repeat };
    let text = sampler.alternatives(0)?;
    sampler.rest.next().is_none().then_some(text)
}

struct Sampler<'p> {
    rest: Peekable<Chars<'p>>,
    repeat: usize,
}

impl Sampler<'_> {
    /// Reads alternatives up to the end of the group; the first one is taken.
    fn alternatives(&mut self, depth: usize) -> Option<String> {
        let first = self.sequence(depth)?;
        while self.rest.next_if_eq(&'|').is_some() {
            self.sequence(depth)?;
        }
        Some(first)
    }

    fn sequence(&mut self, depth: usize) -> Option<String> {
        let mut text = String::new();
        while let Some(next) = self.rest.next_if(|next| !matches!(next, '|' | ')')) {
            let atom = match next {
                '^' | '$' => String::new(),
                '(' => self.group(depth + 1)?,
                '[' => self.class()?.into(),
                '\\' => self.escape()?,
                '.' => "a".to_owned(),
                other => other.into(),
            };
            let count = self.count()?;
            if text.len() + atom.len().checked_mul(count)? > MAX_LEN {
                return None;
            }
            text.push_str(&atom.repeat(count));
        }
        Some(text)
    }

    fn group(&mut self, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        if self.rest.next_if_eq(&'?').is_some() {
            match self.rest.next()? {
                ':' => {}
                '<' if self.rest.peek()?.is_alphabetic() => {
                    self.rest.by_ref().find(|next| *next == '>')?;
                }
                _ => return None,
            }
        }
        let text = self.alternatives(depth)?;
        (self.rest.next()? == ')').then_some(text)
    }

    /// Reads a class up to its `]`; a character of it.
    fn class(&mut self) -> Option<char> {
        let is_negated = self.rest.next_if_eq(&'^').is_some();
        let mut ranges = Vec::new();
        loop {
            let from = match self.rest.next()? {
                ']' => break,
                '\\' => self.escape()?.chars().next()?,
                other => other,
            };
            let to = match self.rest.next_if_eq(&'-') {
                None => from,
                Some(_) if self.rest.peek() == Some(&']') => {
                    ranges.push(('-', '-'));
                    from
                }
                Some(_) => match self.rest.next()? {
                    '\\' => self.escape()?.chars().next()?,
                    to => to,
                },
            };
            ranges.push((from, to));
        }
        if !is_negated {
            return ranges.first().map(|(from, _)| *from);
        }
        let is_free = |c: &char| !ranges.iter().any(|(from, to)| (from..=to).contains(&c));
        ['a', 'A', '0', '-', ' ', 'é'].into_iter().find(is_free)
    }

    fn escape(&mut self) -> Option<String> {
        Some(match self.rest.next()? {
            'd' => "0".to_owned(),
            'w' | 'D' | 'S' => "a".to_owned(),
            's' => " ".to_owned(),
            'W' => "-".to_owned(),
            't' => "\t".to_owned(),
            'n' => "\n".to_owned(),
            'r' => "\r".to_owned(),
            'b' => String::new(),
            other if other.is_alphanumeric() => return None,
            other => other.into(),
        })
    }

    /// Parses the quantifier after an atom, and chooses a number of repetitions.
    fn count(&mut self) -> Option<usize> {
        let (min, max) = match self.rest.peek() {
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some('{') => return self.bounds(),
            _ => return Some(1),
        };
        self.rest.next();
        self.end_of_count(min, max)
    }

    fn bounds(&mut self) -> Option<usize> {
        self.rest.next();
        let bounds: String = self.rest.by_ref().take_while(|next| *next != '}').collect();
        let (min, max) = match bounds.split_once(',') {
            None => (bounds.parse().ok()?, bounds.parse().ok()?),
            Some((min, "")) => (min.parse().ok()?, usize::MAX),
            Some((min, max)) => (min.parse().ok()?, max.parse().ok()?),
        };
        self.end_of_count(min, max)
    }

    fn end_of_count(&mut self, min: usize, max: usize) -> Option<usize> {
        self.rest.next_if_eq(&'?');
        (min <= max).then(|| self.repeat.clamp(min, max))
    }
}
