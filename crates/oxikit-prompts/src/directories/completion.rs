//! Completion of the path of a folder, for a form that registers one.

use std::fs;
use std::path::{Path, PathBuf};

use super::Completion;

/// Maximum number of suggestions. More are left out.
const MAX_SUGGESTIONS: usize = 100;

/// Completes the beginning of a path to folders in and below the roots. It blocks.
pub(crate) fn complete(partial_path: &str, allowed_roots: &[PathBuf]) -> Completion {
    let roots: Vec<_> = allowed_roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let mut suggestions = match partial_path.rsplit_once('/') {
        Some((folder, beginning)) => inside(Path::new(&format!("{folder}/")), beginning, &roots),
        None => Vec::new(),
    };
    // A path above the roots is completed to the roots.
    let above = roots.iter().filter_map(|root| root.to_str());
    suggestions.extend(above.filter(|root| root.starts_with(partial_path)).map(str::to_owned));
    suggestions.sort();
    suggestions.dedup();
    suggestions.truncate(MAX_SUGGESTIONS);
    let completed_path = common_beginning(&suggestions).unwrap_or(partial_path).to_owned();
    let is_directory = is_allowed(Path::new(&completed_path), &roots);
    Completion { completed_path, suggestions, is_directory }
}

/// The folders in `folder` whose names begin so. Empty if it is not below a root.
fn inside(folder: &Path, beginning: &str, roots: &[PathBuf]) -> Vec<String> {
    if !is_allowed(folder, roots) {
        return Vec::new();
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let path = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let is_hidden = name.starts_with('.') && !beginning.starts_with('.');
        let is_offered = name.starts_with(beginning) && !is_hidden;
        (is_offered && is_allowed(&entry.path(), roots)).then_some(())?;
        folder.join(name).to_str().map(str::to_owned)
    };
    entries.flatten().filter_map(path).collect()
}

/// Whether this is a folder in or below one of the roots, after following symbolic links.
fn is_allowed(path: &Path, roots: &[PathBuf]) -> bool {
    let folder = path.canonicalize().ok().filter(|folder| folder.is_dir());
    folder.is_some_and(|folder| roots.iter().any(|root| folder.starts_with(root)))
}

/// The longest text that all of them begin with; `None` if there are none.
fn common_beginning(texts: &[String]) -> Option<&str> {
    let first = texts.first()?;
    let last = texts.last()?;
    // They are sorted, so the first and the last one differ most.
    let same = first.char_indices().zip(last.chars()).find(|((_, a), b)| a != b);
    let end = same.map_or(first.len().min(last.len()), |((place, _), _)| place);
    first.get(..end)
}
