//! Ids, names and references of documents.

use std::path::Path;

use super::*;
use crate::document::source_of;

/// A document for tests, with the text of revision 1.
pub(crate) fn document(key: &str, text: &str) -> Document {
    let (directory, path) = key.split_once('/').unwrap();
    let empty = Document {
        id: String::new(),
        key: key.to_owned(),
        kind: kind_of(path),
        path: path.to_owned(),
        directory: Path::new("/srv").join(directory).into(),
        directory_name: directory.into(),
        source: Arc::new(source_of(path, "")),
        rev: 0,
        hash: String::new(),
        created_at: 0,
        updated_at: 0,
        author: String::new(),
        problem: None,
        inclusions: Arc::default(),
    };
    empty.with_text(source_of(path, text), 1, String::new())
}

fn index(documents: &[(&str, &str)]) -> Index {
    let mut index = Index::default();
    for (key, text) in documents {
        index.put(document(key, text));
    }
    index
}

fn ids(index: &Index) -> Vec<&str> {
    index.documents().map(|document| document.id.as_str()).collect()
}

#[test]
fn an_id_is_as_short_as_it_can_be() {
    let keys = ["p/a.md", "p/x/b.md", "p/y/b.md", "p/c.md", "p/c.prompt", "p/x/d.md", "q/x/d.md"];
    let index = index(&keys.map(|key| (key, "")));
    assert_eq!(ids(&index), ["a", "c.md", "c.prompt", "x/b", "p/x/d", "y/b", "q/x/d"]);
    assert_eq!(index.find("a", None).unwrap().key, "p/a.md");
    assert_eq!(index.find("a.md", None).unwrap().key, "p/a.md");
    assert_eq!(index.find("p/a.md", None).unwrap().key, "p/a.md");
    let error = index.find("b", None).unwrap_err();
    assert_eq!(error.to_string(), "'b' may be any of x/b, y/b: use one of these ids");
    assert!(matches!(index.find("z", None), Err(PromptsError::NotFound { .. })));
}

#[test]
fn an_id_grows_when_another_file_gets_the_name_and_shrinks_again() {
    let mut index = index(&[("p/x/a.md", "")]);
    assert_eq!(ids(&index), ["a"]);
    let (added, changed) = index.put(document("p/y/a.md", ""));
    assert_eq!(added.id, "y/a");
    assert_eq!((changed[0].old_id.as_str(), changed[0].document.id.as_str()), ("a", "x/a"));
    let deleted = Deleted { key: "p/y/a.md".to_owned(), rev: 2, at: 5 };
    let changed = index.remove("p/y/a.md", Some(deleted.clone()));
    assert_eq!(changed[0].document.id, "a");
    assert_eq!(index.find_deleted("y/a", None), Some(&deleted));
    assert_eq!(index.find_deleted("a", Some(Kind::Fragment)), None);
}

#[test]
fn a_reserved_name_is_no_id() {
    let index = index(&[("p/all.md", ""), ("p/ws.prompt", "")]);
    assert_eq!(ids(&index), ["all.md", "ws.prompt"]);
}

#[test]
fn prompts_and_fragments_are_asked_for_separately() {
    let index = index(&[("p/tone.md", ""), ("p/fragments/tone.md", ""), ("p/_sign.prompt", "")]);
    assert_eq!(index.find("tone", Some(Kind::Prompt)).unwrap().id, "tone");
    assert_eq!(index.find("tone", Some(Kind::Fragment)).unwrap().id, "fragments/tone");
    assert_eq!(index.find("sign", None).unwrap().id, "_sign");
}

#[test]
fn an_inclusion_means_the_document_in_the_same_folder_first() {
    let index =
        index(&[("p/x/a.md", "[[b]]"), ("p/x/b.md", ""), ("p/y/b.md", ""), ("p/z/c.md", "[[b]]")]);
    let from = |id: &str| index.find(id, None).unwrap();
    let resolved = index.resolve("b", Some(&from("a"))).unwrap();
    assert_eq!((resolved.document.id.as_str(), resolved.candidates.len()), ("x/b", 0));
    let resolved = index.resolve("b.md", Some(&from("c"))).unwrap();
    assert_eq!(resolved.candidates, ["x/b", "y/b"]);
    assert_eq!(index.resolve("y/b", Some(&from("a"))).unwrap().document.id, "y/b");
    assert!(index.resolve("none", None).is_none());
}

#[test]
fn references_are_known_in_both_directions() {
    let documents = [
        ("p/a.md", "[[b]] [[none]]"),
        ("p/b.md", "[[c@production]]"),
        ("p/c.md", "[[a]]"),
        ("p/d.md", "plain"),
    ];
    let mut index = index(&documents);
    let users = |index: &Index, key: &str| -> Vec<String> {
        index.referenced_by(key).iter().map(|document| document.id.clone()).collect()
    };
    assert_eq!(users(&index, "p/c.md"), ["a", "b"]);
    assert_eq!(users(&index, "p/d.md"), Vec::<String>::new());
    let references = index.references(&index.find("a", None).unwrap());
    let missing: Vec<_> = references.iter().map(|found| found.document.is_none()).collect();
    assert_eq!(missing, [false, true]);
    index.put(document("p/d.md", "[[b]]"));
    assert_eq!(users(&index, "p/c.md"), ["a", "b", "d"]);
}
