//! Words that spans are found by.
//!
//! They are made here, for the index and for what is looked for alike: no text that
//! a person types can be anything else to the index than words.

use rusqlite::OptionalExtension;
use serde::Deserialize;

use super::super::failure::Outcome;
use super::super::writer::Txn;
use super::members::{Members, shown};

/// So much of a value can be searched; what is longer is data rather than text.
const MAX_VALUE_BYTES: usize = 16 * 1024;
/// A word of more bytes is none: most are pictures, written as letters.
const MAX_WORD_BYTES: usize = 40;
/// So many words can be looked for at once.
const MAX_WANTED: usize = 32;

/// What the index is asked; `None` if there is no word in the text.
pub(super) fn wanted(text: &str) -> Option<String> {
    let mut wanted: Vec<String> = Vec::new();
    for part in text.split_whitespace() {
        each_word(part, |word| wanted.push(format!("\"{word}\"")));
        if let Some(last) =
            wanted.last_mut().filter(|last| part.ends_with('*') && last.ends_with('"'))
        {
            last.push('*');
        }
    }
    wanted.truncate(MAX_WANTED);
    (!wanted.is_empty()).then(|| wanted.join(" AND "))
}

/// Puts spans into the index whose words are not there yet, so many at most, and
/// answers how many there were.
pub(super) fn index(txn: &Txn<'_>, limit: usize) -> Outcome<usize> {
    let numbers: Vec<i64> = txn
        .sql("SELECT number FROM fresh ORDER BY number LIMIT ?1")?
        .query_map([limit as i64], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut text = String::new();
    for number in &numbers {
        let mut select = txn.sql("SELECT json FROM spans WHERE number = ?1")?;
        let mut rows = select.query([number])?;
        text.clear();
        if let Some(row) = rows.next()? {
            collect(row.get_ref(0)?.as_str().unwrap_or_default(), &mut text);
        }
        // It may have ended twice.
        txn.sql("INSERT OR REPLACE INTO words (rowid, text) VALUES (?1, ?2)")?
            .execute((number, &text))?;
    }
    if let Some(last) = numbers.last() {
        txn.sql("DELETE FROM fresh WHERE number <= ?1")?.execute([last])?;
    }
    Ok(numbers.len())
}

/// Whether all spans are in the index.
pub(super) fn is_complete(connection: &rusqlite::Connection) -> Outcome<bool> {
    let sql = "SELECT 1 FROM fresh LIMIT 1";
    let found = connection.prepare_cached(sql)?.query_row([], |_| Ok(())).optional()?;
    Ok(found.is_none())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpanText<'a> {
    #[serde(default)]
    display_name: String,
    #[serde(borrow, default)]
    attributes: Members<'a>,
    #[serde(default)]
    status: StatusText,
}

#[derive(Default, Deserialize)]
struct StatusText {
    #[serde(default)]
    message: Option<String>,
}

/// The words of a span, with spaces between.
fn collect(json: &str, text: &mut String) {
    let Ok(span) = serde_json::from_str::<SpanText<'_>>(json) else { return };
    let mut add = |value: &str| {
        let value = &value[..value.floor_char_boundary(MAX_VALUE_BYTES)];
        each_word(value, |word| {
            text.push_str(word);
            text.push(' ');
        });
    };
    add(&span.display_name);
    span.status.message.iter().for_each(|message| add(message));
    for (name, value) in &span.attributes.0 {
        // These say the same of nearly every span.
        let is_usual = matches!(
            &**name,
            "genkit:type" | "genkit:isRoot" | "genkit:path" | "genkit:state" | "genkit:name"
        );
        if !is_usual {
            add(&shown(value));
        }
    }
}

/// Calls `take` with each word of a text: letters and digits, in lower case. Signs of
/// scripts without spaces are a word each.
fn each_word(text: &str, mut take: impl FnMut(&str)) {
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if (1..=MAX_WORD_BYTES).contains(&word.len()) {
            take(word);
        }
        word.clear();
    };
    for character in text.chars() {
        if !character.is_alphanumeric() {
            end(&mut word);
        } else if character.is_ascii() {
            word.push(character.to_ascii_lowercase());
        } else {
            let is_sign = character >= '\u{2e80}';
            if is_sign {
                end(&mut word);
            }
            // What is no letter any more, such as a dot above, would split the word.
            word.extend(character.to_lowercase().filter(|lower| lower.is_alphanumeric()));
            if is_sign {
                end(&mut word);
            }
        }
    }
    end(&mut word);
}
