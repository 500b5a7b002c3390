//! Changes single keys of a YAML block as text, so that all other lines stay as they are.
//!
//! This is not a YAML parser. It knows how keys at the top level are usually written, and makes
//! several attempts; the caller reads each result with a parser and takes the first one that has
//! the requested meaning.

use std::ops::Range;

use oxikit_dotprompt::FrontMatter;
use serde_json::Value;

use super::scalar;

/// A key that gets another value, or is removed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edit {
    pub(super) key: &'static str,
    /// `None` removes the key.
    pub(super) value: Option<NewValue>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum NewValue {
    Text(String),
    List(Vec<String>),
}

/// The block after the edits, in several attempts, the one that changes the least first.
pub(super) fn candidates<'e>(
    yaml: &'e str,
    edits: &'e [Edit],
    line_end: &'e str,
) -> impl Iterator<Item = String> + 'e {
    let by_lines = move |extent| {
        let mut block = Block::new(yaml, line_end, extent);
        edits.iter().for_each(|edit| block.apply(edit));
        block.lines.concat()
    };
    let extents = [Extent::Indented, Extent::UntilNextKey].into_iter();
    extents.map(by_lines).chain(std::iter::once_with(|| flow_map(yaml, edits, line_end)).flatten())
}

/// Which lines after a key belong to its value.
#[derive(Debug, Clone, Copy)]
enum Extent {
    /// Those with a greater indentation, and list items with the same.
    Indented,
    /// All lines up to the next one that begins with a key.
    UntilNextKey,
}

struct Block<'e> {
    /// The lines with their line ends.
    lines: Vec<String>,
    line_end: &'e str,
    /// The white space before each key.
    indent: String,
    extent: Extent,
}

impl<'e> Block<'e> {
    fn new(yaml: &str, line_end: &'e str, extent: Extent) -> Self {
        let lines: Vec<String> = yaml.split_inclusive('\n').map(str::to_owned).collect();
        let first = lines.iter().find(|line| !is_blank(line) && !is_comment(line));
        let indent = first.map(|line| indent_of(line).to_owned()).unwrap_or_default();
        Self { lines, line_end, indent, extent }
    }

    fn apply(&mut self, edit: &Edit) {
        let found = self.find(edit.key);
        let new = match (&edit.value, &found) {
            (None, _) => Vec::new(),
            (Some(value), Some(range)) => self.rewritten(range.clone(), value),
            (Some(value), None) => {
                let start = format!("{}{}:", self.indent, edit.key);
                self.written(&start, value, "")
            }
        };
        let range = found.unwrap_or(self.lines.len()..self.lines.len());
        self.lines.splice(range, new);
    }

    /// The lines of a key and its value.
    fn find(&self, key: &str) -> Option<Range<usize>> {
        let is_start = |line: &String| self.key_end(line, key).is_some();
        let start = self.lines.iter().position(is_start)?;
        let mut end = start + 1;
        for (position, line) in self.lines.iter().enumerate().skip(start + 1) {
            match self.extent {
                Extent::Indented if is_blank(line) => continue,
                Extent::Indented => {
                    let indent = indent_of(line);
                    let is_item = indent == self.indent && is_item(line);
                    let is_deeper = indent.len() > self.indent.len();
                    if is_comment(line) && !is_deeper {
                        continue;
                    }
                    if !is_item && !is_deeper {
                        break;
                    }
                }
                Extent::UntilNextKey if self.looks_like_key(line) => break,
                Extent::UntilNextKey => {}
            }
            end = position + 1;
        }
        Some(start..end)
    }

    /// The end of `key:` on a line that begins with this key, perhaps in quotes.
    fn key_end(&self, line: &str, key: &str) -> Option<usize> {
        let rest = line.strip_prefix(self.indent.as_str())?;
        let spellings = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")];
        let rest = spellings.iter().find_map(|spelling| rest.strip_prefix(spelling.as_str()))?;
        let value = rest.trim_start_matches([' ', '\t']).strip_prefix(':')?;
        let is_end = value.is_empty() || value.starts_with([' ', '\t', '\r', '\n']);
        is_end.then_some(line.len() - value.len())
    }

    fn looks_like_key(&self, line: &str) -> bool {
        let rest = line.strip_prefix(self.indent.as_str()).unwrap_or_default();
        let is_start =
            rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\''));
        is_start && (rest.contains(": ") || rest.trim_end().ends_with(':'))
    }

    /// A key that exists, with another value.
    fn rewritten(&self, range: Range<usize>, value: &NewValue) -> Vec<String> {
        if let (NewValue::List(items), [_, rest @ ..]) = (value, &self.lines[range.clone()])
            && let Some(list) = ListLines::read(rest)
        {
            let mut lines = vec![self.lines[range.start].clone()];
            lines.extend(list.with_items(items, self.line_end));
            return lines;
        }
        let first = &self.lines[range.start];
        let end = first.find(':').map_or(first.len(), |colon| colon + 1);
        self.written(&first[..end], value, comment(&first[end..]))
    }

    /// `start` is `key:`, and `comment` begins with white space.
    fn written(&self, start: &str, value: &NewValue, comment: &str) -> Vec<String> {
        let line_end = self.line_end;
        let text = match value {
            NewValue::Text(text) => text,
            NewValue::List(items) => {
                let items: Vec<String> = items.iter().map(|item| scalar::item(item)).collect();
                return vec![format!("{start} [{}]{comment}{line_end}", items.join(", "))];
            }
        };
        let Some((header, block)) = scalar::block(text) else {
            return vec![format!("{start} {}{comment}{line_end}", scalar::line(text))];
        };
        let indented = |line: &str| match line {
            "" => line_end.to_owned(),
            line => format!("{}  {line}{line_end}", self.indent),
        };
        let first = format!("{start} {header}{comment}{line_end}");
        std::iter::once(first).chain(block.into_iter().map(indented)).collect()
    }
}

/// A list with dashes and one line per item.
struct ListLines {
    /// What is before the text of an item: white space, dash, white space.
    start: String,
    /// Each item with its line and the comments before it.
    items: Vec<(String, String)>,
    /// Comments after the last item.
    end: String,
}

impl ListLines {
    /// Reads the lines after the key; `None` if they have another form.
    fn read(lines: &[String]) -> Option<Self> {
        let mut list = Self { start: String::new(), items: Vec::new(), end: String::new() };
        let mut start = None;
        for line in lines {
            list.end.push_str(line);
            if is_blank(line) || is_comment(line) {
                continue;
            }
            let dash = line.len() - line.trim_start().strip_prefix('-')?.len();
            let text = line[dash..].trim_start_matches(' ');
            let item_start = line[..line.len() - text.len()].to_owned();
            // All items have the same indentation; other lines continue an item.
            if indent_of(&item_start) != indent_of(start.get_or_insert(item_start.clone())) {
                return None;
            }
            list.items.push((item_of(line)?, std::mem::take(&mut list.end)));
        }
        list.start = start?;
        Some(list)
    }

    /// The lines of other items. Items that stay keep their lines.
    fn with_items(self, items: &[String], line_end: &str) -> Vec<String> {
        let mut old: Vec<_> = self.items.into_iter().map(Some).collect();
        let mut lines = Vec::with_capacity(items.len() + 1);
        for item in items {
            let same =
                old.iter_mut().find(|old| old.as_ref().is_some_and(|(text, _)| text == item));
            lines.push(match same.and_then(Option::take) {
                Some((_, line)) => line,
                None => format!("{}{}{line_end}", self.start, scalar::item(item)),
            });
        }
        lines.push(self.end);
        lines
    }
}

/// The text of a line such as `- item`.
fn item_of(line: &str) -> Option<String> {
    let file = format!("---\nlist:\n{line}\n---\n");
    let keys = FrontMatter::find(&file)?.read(&file).ok()?;
    match keys.get("list")?.as_array()?.as_slice() {
        [Value::String(item)] => Some(item.clone()),
        [item @ (Value::Number(_) | Value::Bool(_))] => Some(item.to_string()),
        _ => None,
    }
}

/// The comment after a value that ends on its first line, with the white space before it; empty
/// if there is none. `rest` is the line after `key:`.
fn comment(rest: &str) -> &str {
    let rest = rest.trim_end();
    let value = rest.trim_start();
    let after = match value.chars().next() {
        Some('#') => return rest,
        Some(quote @ ('"' | '\'')) => after_quotes(value, quote),
        Some('[' | '{') => after_brackets(value),
        _ => value.find(" #").map_or("", |hash| &value[value[..hash].trim_end().len()..]),
    };
    if after.trim_start().starts_with('#') && !after.starts_with('#') { after } else { "" }
}

/// What follows a text in quotes; empty if it does not end.
fn after_quotes(value: &str, quote: char) -> &str {
    let mut characters = value.char_indices().skip(1).peekable();
    while let Some((position, character)) = characters.next() {
        let doubled = quote == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'');
        match character {
            '\\' if quote == '"' => _ = characters.next(),
            _ if character == quote && doubled => _ = characters.next(),
            _ if character == quote => return &value[position + 1..],
            _ => {}
        }
    }
    ""
}

/// What follows a list or map in brackets; empty if it does not end.
fn after_brackets(value: &str) -> &str {
    let mut depth = 0_usize;
    let mut rest = value;
    while let Some(character) = rest.chars().next() {
        match character {
            '"' | '\'' => {
                rest = after_quotes(rest, character);
                continue;
            }
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        rest = &rest[character.len_utf8()..];
        if depth == 0 {
            return rest;
        }
    }
    ""
}

/// A block that is one map in braces, written again on one line; `None` for other blocks.
fn flow_map(yaml: &str, edits: &[Edit], line_end: &str) -> Option<String> {
    let is_before = |line: &&str| is_blank(line) || is_comment(line);
    let before: String = yaml.split_inclusive('\n').take_while(is_before).collect();
    if !yaml[before.len()..].starts_with('{') {
        return None;
    }
    let file = format!("---\n{yaml}---\n");
    let mut keys = FrontMatter::find(&file)?.read(&file).ok()?;
    for edit in edits {
        let value = match &edit.value {
            Some(NewValue::Text(text)) => Value::from(text.as_str()),
            Some(NewValue::List(items)) => Value::from(items.clone()),
            None => {
                keys.shift_remove(edit.key);
                continue;
            }
        };
        keys.insert(edit.key.to_owned(), value);
    }
    // JSON is YAML.
    Some(format!("{before}{}{line_end}", Value::Object(keys)))
}

fn indent_of(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches(' ').len()]
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with('#')
}

fn is_item(line: &str) -> bool {
    let item = line.trim_start().strip_prefix('-');
    item.is_some_and(|rest| rest.starts_with([' ', '\t', '\r', '\n']))
}
