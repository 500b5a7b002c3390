//! The syntax of inclusions: `[[name]]`, `[[folder/name.md]]`, `[[name@12]]`.

use std::fmt;
use std::ops::Range;

/// The endings of file names that may follow a name and are ignored.
const ENDINGS: [&str; 2] = [".md", ".prompt"];

/// The document that an inclusion names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The name, without `.md` or `.prompt`.
    pub name: String,
    /// A revision or a label: the part after the last `@`.
    pub pin: Option<String>,
}

impl Reference {
    fn parse(text: &str) -> Self {
        let text = without_ending(text.trim());
        match text.rsplit_once('@') {
            Some((name, pin)) if !name.is_empty() && !pin.is_empty() => {
                Self { name: without_ending(name).to_owned(), pin: Some(pin.to_owned()) }
            }
            _ => Self { name: text.to_owned(), pin: None },
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.pin.iter().try_for_each(|pin| write!(f, "@{pin}"))
    }
}

fn without_ending(name: &str) -> &str {
    let shorter = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending));
    shorter.filter(|name| !name.is_empty()).unwrap_or(name)
}

/// An inclusion in a text.
#[derive(Debug)]
pub(super) struct Inclusion<'t> {
    /// The bytes from `[[` to `]]`.
    pub(super) range: Range<usize>,
    pub(super) reference: Reference,
    /// The text between the brackets.
    inner: &'t str,
}

/// The inclusions of a text, in order. A name is not empty and contains no `]`; of several `[[`
/// before it the last one counts.
pub(super) fn scan(text: &str) -> impl Iterator<Item = Inclusion<'_>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut open = None;
    std::iter::from_fn(move || {
        while let Some(&byte) = bytes.get(at) {
            let is_double = bytes.get(at + 1) == Some(&byte);
            match byte {
                b'[' if is_double => open = Some(at),
                b']' => {
                    let start = open.take();
                    if let Some(start) = start.filter(|_| is_double) {
                        let (range, inner) = (start..at + 2, &text[start + 2..at]);
                        if !inner.trim().is_empty() {
                            at += 2;
                            let reference = Reference::parse(inner);
                            return Some(Inclusion { range, reference, inner });
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
        None
    })
}

/// The names of the documents that a text includes, in order, each once.
///
/// ```
/// use oxikit_prompts::expand::inclusions;
///
/// assert_eq!(inclusions("[[b]] [[a.md]] [[b@12]]"), ["b", "a"]);
/// ```
pub fn inclusions(content: &str) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let names = scan(content).map(|inclusion| inclusion.reference.name);
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// The documents that a text includes, with their pins, in order, each once.
///
/// ```
/// use oxikit_prompts::expand::references;
///
/// let found = references("[[b]] [[b@production]] [[b]]");
/// assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), ["b", "b@production"]);
/// ```
pub fn references(content: &str) -> Vec<Reference> {
    let mut seen = std::collections::HashSet::new();
    let references = scan(content).map(|inclusion| inclusion.reference);
    references.filter(|reference| seen.insert(reference.clone())).collect()
}

/// All inclusions of a text, with the positions of their `[[` in bytes.
pub(crate) fn placed(text: &str) -> impl Iterator<Item = (usize, Reference)> {
    scan(text).map(|inclusion| (inclusion.range.start, inclusion.reference))
}

/// A text whose inclusions of `old` include `new`. Pins, `.md` and white space stay as they are.
///
/// ```
/// use oxikit_prompts::expand::rename_inclusions;
///
/// let renamed = rename_inclusions("[[tone]], [[tone.md]], [[tone@12]], [[tones]]", "tone", "style");
/// assert_eq!(renamed, "[[style]], [[style.md]], [[style@12]], [[tones]]");
/// ```
pub fn rename_inclusions(content: &str, old: &str, new: &str) -> String {
    let mut renamed = String::with_capacity(content.len());
    let mut written = 0;
    for inclusion in scan(content) {
        let (reference, inner) = (&inclusion.reference, inclusion.inner);
        let is_old = reference.name == old || reference.to_string() == old;
        if !is_old || !inner.trim_start().starts_with(old) {
            continue;
        }
        let name = inclusion.range.start + 2 + (inner.len() - inner.trim_start().len());
        renamed.push_str(&content[written..name]);
        renamed.push_str(new);
        written = name + old.len();
    }
    renamed.push_str(&content[written..]);
    renamed
}
