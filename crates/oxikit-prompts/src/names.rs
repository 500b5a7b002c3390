//! Ids that people choose for documents, and the paths of files that they become.

use oxikit_wire::prompts::is_reserved;

use crate::document::{DOTPROMPT, Kind, MARKDOWN, kind_of, stem};
use crate::error::PromptsError;

/// Maximum length of an id in bytes. The name of its file is an id with an extension.
const MAX_ID: usize = 240;
/// Maximum number of folders of an id.
const MAX_FOLDERS: usize = 8;
/// Characters with a meaning in paths, in inclusions or in some file systems.
const FORBIDDEN: [char; 14] =
    ['\\', ':', '*', '?', '"', '<', '>', '|', '[', ']', '@', '{', '}', '%'];

/// The path of a new document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewPath {
    /// The path of the file below its directory.
    pub(crate) path: String,
    /// The id without extension, as it was asked for, with spaces replaced.
    pub(crate) id: String,
    /// How the id differs from the one that was asked for.
    pub(crate) message: Option<String>,
}

/// The path for a new document of this kind.
///
/// # Errors
///
/// [`Reserved`](PromptsError::Reserved), or [`Invalid`](PromptsError::Invalid) if it cannot be the
/// name of a file.
pub(crate) fn new_path(wanted: &str, kind: Kind) -> Result<NewPath, PromptsError> {
    let (name, extension) = split_extension(wanted);
    let (folder, name) = split_fragments(name, kind);
    let id = clean(name)?;
    let is_plain_fragment = kind == Kind::Fragment && kind_of(&id) == Kind::Prompt;
    let folder = if is_plain_fragment { "fragments/" } else { folder };
    let path = format!("{folder}{id}{extension}");
    check_kind(&path, kind)?;
    Ok(NewPath { message: message(name, &id), path, id })
}

/// The path for a document that gets another id. Without a folder it stays in its own.
///
/// # Errors
///
/// As [`new_path`].
pub(crate) fn renamed_path(old: &str, wanted: &str) -> Result<NewPath, PromptsError> {
    let (name, _) = split_extension(wanted);
    let (folder, name) = split_fragments(name, kind_of(old));
    let id = clean(name)?;
    let extension = if old.ends_with(DOTPROMPT) { DOTPROMPT } else { MARKDOWN };
    let folder = match old.rsplit_once('/') {
        Some((own, _)) if folder.is_empty() && !id.contains('/') => format!("{own}/"),
        _ => folder.to_owned(),
    };
    let path = format!("{folder}{id}{extension}");
    check_kind(&path, kind_of(old))?;
    Ok(NewPath { message: message(name, &id), path, id })
}

/// The folder of fragments may be named, although the id of a prompt must not begin so.
fn split_fragments(name: &str, kind: Kind) -> (&'static str, &str) {
    match name.strip_prefix("fragments/") {
        Some(rest) if kind == Kind::Fragment => ("fragments/", rest),
        _ => ("", name),
    }
}

fn split_extension(id: &str) -> (&str, &'static str) {
    let id = id.trim();
    match id.strip_suffix(DOTPROMPT) {
        Some(id) => (id, DOTPROMPT),
        None => (id.strip_suffix(MARKDOWN).unwrap_or(id), MARKDOWN),
    }
}

/// The id with `_` in place of white space.
fn clean(id: &str) -> Result<String, PromptsError> {
    let id: String = id.trim().chars().map(|c| if c.is_whitespace() { '_' } else { c }).collect();
    let invalid =
        |message: &str| PromptsError::Invalid(format!("'{id}' cannot be an id: {message}"));
    if id.is_empty() {
        return Err(PromptsError::Invalid("the id is empty: choose a name".to_owned()));
    }
    if id.len() > MAX_ID {
        return Err(invalid("it has more than 240 bytes"));
    }
    if let Some(bad) = id.chars().find(|c| FORBIDDEN.contains(c) || c.is_control()) {
        return Err(invalid(&format!("it contains {bad:?}")));
    }
    if id.split('/').any(|name| name.is_empty() || name.starts_with('.') || name.ends_with('.')) {
        return Err(invalid("its parts must not be empty, nor begin or end with a dot"));
    }
    if id.split('/').count() > MAX_FOLDERS + 1 {
        return Err(invalid("it has more than 8 folders"));
    }
    if is_reserved(&id) || is_reserved(stem(&id)) {
        return Err(PromptsError::Reserved(id));
    }
    Ok(id)
}

fn check_kind(path: &str, kind: Kind) -> Result<(), PromptsError> {
    let message = match (kind, kind_of(path)) {
        (Kind::Prompt, Kind::Fragment) => {
            "this would be a fragment: the names of prompts do not begin with `_`, and they are in \
             no folder `fragments`"
        }
        (Kind::Fragment, Kind::Prompt) => {
            "this would be a prompt: the names of fragments begin with `_`, or they are in a folder \
             `fragments`"
        }
        _ => return Ok(()),
    };
    Err(PromptsError::Invalid(message.to_owned()))
}

fn message(wanted: &str, id: &str) -> Option<String> {
    (wanted != id).then(|| format!("The name '{wanted}' was changed to '{id}'."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_becomes_the_path_of_a_file() {
        for (id, kind, path) in [
            ("joke", Kind::Prompt, "joke.md"),
            ("joke.md", Kind::Prompt, "joke.md"),
            ("jokes/dad.prompt", Kind::Prompt, "jokes/dad.prompt"),
            ("My first  joke", Kind::Prompt, "My_first__joke.md"),
            ("Grüße", Kind::Prompt, "Grüße.md"),
            ("tone", Kind::Fragment, "fragments/tone.md"),
            ("fragments/tone", Kind::Fragment, "fragments/tone.md"),
            ("_tone", Kind::Fragment, "_tone.md"),
            ("team/fragments/tone", Kind::Fragment, "team/fragments/tone.md"),
            ("team/tone", Kind::Fragment, "fragments/team/tone.md"),
        ] {
            assert_eq!(new_path(id, kind).unwrap().path, path, "{id}");
        }
        let message = new_path("a b", Kind::Prompt).unwrap().message;
        assert_eq!(message.as_deref(), Some("The name 'a b' was changed to 'a_b'."));
        assert_eq!(new_path("a.md", Kind::Prompt).unwrap().message, None);
    }

    #[test]
    fn ids_that_cannot_be_names_are_refused() {
        for id in [
            "",
            " ",
            ".",
            "..",
            "../a",
            "a/../b",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a\\b",
            "a\0b",
            "a\nb\u{7}",
            "a[b",
            "a@b",
            "C:a",
            "a|b",
            "{{a}}",
            ".md",
            "_a",
            "a/_b",
            "x/fragments/y",
            "a/b/c/d/e/f/g/h/i/j",
        ] {
            let error = new_path(id, Kind::Prompt).unwrap_err();
            assert!(matches!(error, PromptsError::Invalid(_)), "{id:?}: {error}");
        }
        assert!(new_path(&"x".repeat(300), Kind::Prompt).is_err());
        for id in ["all", "ws", "Rename", "fragments/a", "x/all", "openapi.json"] {
            let error = new_path(id, Kind::Prompt).unwrap_err();
            assert!(matches!(error, PromptsError::Reserved(_)), "{id:?}: {error}");
        }
    }

    #[test]
    fn a_renamed_document_keeps_its_extension_and_folder() {
        for (old, wanted, path) in [
            ("a.md", "b", "b.md"),
            ("x/a.prompt", "b", "x/b.prompt"),
            ("x/a.md", "y/b", "y/b.md"),
            ("fragments/a.md", "b", "fragments/b.md"),
            ("fragments/x/a.md", "fragments/b", "fragments/b.md"),
            ("a.md", "b.prompt", "b.md"),
        ] {
            assert_eq!(renamed_path(old, wanted).unwrap().path, path, "{old} {wanted}");
        }
        assert!(renamed_path("a.md", "_b").is_err());
        assert!(renamed_path("fragments/a.md", "x/b").is_err());
    }
}
