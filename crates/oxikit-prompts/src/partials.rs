//! The fragments that templates of an application include by `{{> name}}`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::document::{Document, Kind};
use crate::index::Index;

/// All fragments by the names of their partials: `jokes/tone` for the file `jokes/_tone.prompt`, as
/// in a folder that an application reads itself, and the name alone, `tone`, if no other fragment
/// has it.
pub(crate) fn partials(index: &Index) -> BTreeMap<String, Arc<Document>> {
    let fragments = || index.documents().filter(|document| document.kind == Kind::Fragment);
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for document in fragments() {
        *count.entry(short_name(document)).or_default() += 1;
    }
    let mut partials = BTreeMap::new();
    for document in fragments() {
        partials.entry(path_name(document)).or_insert_with(|| document.clone());
    }
    for document in fragments().filter(|document| count[short_name(document)] == 1) {
        let name = short_name(document).to_owned();
        partials.entry(name).or_insert_with(|| document.clone());
    }
    partials
}

/// The name of the file without extension and without the `_` of partials.
fn short_name(document: &Document) -> &str {
    let name = document.name();
    name.strip_prefix('_').filter(|name| !name.is_empty()).unwrap_or(name)
}

fn path_name(document: &Document) -> String {
    match document.path_without_extension().rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{}", short_name(document)),
        None => short_name(document).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::document;

    #[test]
    fn a_fragment_has_the_name_of_its_file_and_a_short_one_if_it_is_unique() {
        let mut index = Index::default();
        for path in
            ["_sign.prompt", "a/_tone.prompt", "b/_tone.md", "fragments/kind.md", "joke.prompt"]
        {
            index.put(document(&format!("p/{path}"), "x"));
        }
        let found = partials(&index);
        let found: Vec<_> = found.iter().map(|(name, it)| (&**name, &*it.path)).collect();
        let expected = [
            ("a/tone", "a/_tone.prompt"),
            ("b/tone", "b/_tone.md"),
            ("fragments/kind", "fragments/kind.md"),
            ("kind", "fragments/kind.md"),
            ("sign", "_sign.prompt"),
        ];
        assert_eq!(found, expected);
    }
}
