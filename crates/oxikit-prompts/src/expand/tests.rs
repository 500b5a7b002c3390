use std::cell::RefCell;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

/// Documents by id and body. `name@pin` is a pinned revision.
#[derive(Default)]
struct Documents {
    all: Vec<(String, Arc<str>)>,
    ambiguous: Vec<String>,
    /// Name and including document of each question.
    asked: RefCell<Vec<(String, Option<String>)>>,
}

impl Documents {
    fn of(all: &[(&str, &str)]) -> Self {
        let all = all.iter().map(|(id, body)| ((*id).to_owned(), Arc::from(*body))).collect();
        Self { all, ..Self::default() }
    }
}

impl Lookup for Documents {
    fn find(&self, name: &str, pin: Option<&str>, from: Option<&str>) -> Found {
        self.asked.borrow_mut().push((name.to_owned(), from.map(str::to_owned)));
        let key = pin.map_or(name.to_owned(), |pin| format!("{name}@{pin}"));
        let rev = match pin {
            None => 100,
            Some(pin) => pin.parse().unwrap_or(7),
        };
        match self.all.iter().find(|(id, _)| *id == key) {
            Some((_, body)) => Found::Document {
                id: name.to_owned(),
                rev,
                body: Arc::clone(body),
                ambiguous: self.ambiguous.clone(),
            },
            None => Found::Missing,
        }
    }
}

fn expand_in(root: Option<&str>, content: &str, documents: &Documents) -> Expansion {
    expand(root, content, documents, &ExpandLimits::default())
}

#[track_caller]
fn check(documents: &[(&str, &str)], content: &str, expected: &str, warnings: &[&str]) {
    let expansion = expand_in(Some("root"), content, &Documents::of(documents));
    assert_eq!((expansion.text.as_str(), expansion.warnings), (expected, owned(warnings)));
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn an_inclusion_is_replaced_in_place_by_the_body() {
    check(&[("a", "A\n")], "x[[a]]y", "xA\ny", &[]);
    check(&[("a", "[[b]]!"), ("b", "B")], "[[a]] [[b]]", "B! B", &[]);
    check(
        &[("a", "A")],
        "```\n[[a]]\n``` {{name}} {{#if x}}[[a]]{{/if}}",
        "```\nA\n``` {{name}} {{#if x}}A{{/if}}",
        &[],
    );
    check(&[("a", "")], "[[a]]", "", &[]);
    check(&[], "no inclusion", "no inclusion", &[]);
}

#[test]
fn endings_of_file_names_and_white_space_are_ignored() {
    let documents = [("folder/a", "A")];
    check(&documents, "[[folder/a.md]] [[folder/a.prompt]] [[ folder/a ]]", "A A A", &[]);
}

#[test]
fn a_document_in_its_own_chain_is_a_circular_dependency() {
    check(
        &[("a", "a[[b]]"), ("b", "b[[a]]")],
        "[[a]]",
        "ab[[CIRCULAR DEPENDENCY: a]]",
        &["circular dependency: `a` has already been included in this chain"],
    );
}

#[test]
fn the_expanded_document_itself_is_a_self_reference() {
    let warning = "self-reference: `root` would refer to itself";
    check(&[("root", "x")], "[[root]]", "[[SELF-REFERENCE: root]]", &[warning]);
    check(&[("root", ""), ("a", "[[root]]")], "[[a]]", "[[SELF-REFERENCE: root]]", &[warning]);
}

#[test]
fn an_unknown_document_is_not_found_at_each_occurrence() {
    let warning = "prompt `nope` was not found";
    let expected = "[[PROMPT NOT FOUND: nope]] [[PROMPT NOT FOUND: nope]]";
    check(&[], "[[nope]] [[nope.md]]", expected, &[warning, warning]);
    check(&[("a", "")], "[[a@3]]", "[[PROMPT NOT FOUND: a@3]]", &["prompt `a@3` was not found"]);
}

#[test]
fn the_same_document_side_by_side_is_no_warning() {
    let documents = [("a", "[[c]]"), ("b", "[[c]]"), ("c", "C")];
    check(&documents, "[[a]][[b]][[c]][[c]]", "CCCC", &[]);
}

#[test]
fn an_ambiguous_name_is_replaced_by_the_first_match() {
    let mut documents = Documents::of(&[("a", "A")]);
    documents.ambiguous = owned(&["one", "two"]);
    let expansion = expand_in(None, "[[a]]", &documents);
    assert_eq!(expansion.text, "A");
    let warning = "`a` is ambiguous, the first match is used: it is in one, two";
    assert_eq!(expansion.warnings, [warning]);
}

#[test]
fn the_eleventh_level_stays_unexpanded() {
    let documents: Vec<(String, Arc<str>)> =
        (1..=12).map(|n| (format!("d{n}"), format!("{n}[[d{}]]", n + 1).into())).collect();
    let documents = Documents { all: documents, ..Default::default() };
    let expansion = expand_in(None, "[[d1]]", &documents);
    assert_eq!(expansion.text, "12345678910[[d11]]");
    let warning = "`d11` was not expanded: the maximum depth of 10 is reached";
    assert_eq!(expansion.warnings, [warning]);
    assert_eq!(expansion.dependencies.len(), 10);
}

#[test]
fn dependencies_are_found_ones_in_the_order_of_first_use() {
    let documents = Documents::of(&[("z", "[[m]]"), ("m", ""), ("a", "[[z]]")]);
    let expansion = expand_in(None, "[[none]] [[z]] [[a]] [[z]]", &documents);
    assert_eq!(expansion.dependencies, ["z", "m", "a"]);
    let revs = ["a", "m", "z"].map(|id| (id.to_owned(), 100));
    assert_eq!(expansion.revs, BTreeMap::from(revs));
}

#[test]
fn the_including_document_is_told_to_the_lookup() {
    let documents = Documents::of(&[("a", "[[b]]"), ("b", "")]);
    expand_in(Some("root"), "[[a]]", &documents);
    let asked = |name: &str, from: &str| (name.to_owned(), Some(from.to_owned()));
    assert_eq!(*documents.asked.borrow(), [asked("a", "root"), asked("b", "a")]);
}

#[test]
fn a_pinned_inclusion_takes_that_revision() {
    let documents = Documents::of(&[
        ("a", "new"),
        ("a@12", "twelve"),
        ("a@production", "label"),
        ("b@home", "B"),
    ]);
    let expansion = expand_in(None, "[[a@12]] [[a@production]] [[a.md@12]] [[a]]", &documents);
    assert_eq!(expansion.text, "twelve label twelve new");
    assert_eq!(expansion.dependencies, ["a"]);
    assert_eq!(expansion.revs["a"], 12);
}

#[test]
fn a_name_may_contain_an_at_sign() {
    struct At;
    impl Lookup for At {
        fn find(&self, name: &str, pin: Option<&str>, _: Option<&str>) -> Found {
            match (name, pin) {
                ("me@home", None) => Found::document("me@home", 1, "hi"),
                _ => Found::Missing,
            }
        }
    }
    let expansion = expand(None, "[[me@home]]", &At, &ExpandLimits::default());
    assert_eq!((expansion.text.as_str(), expansion.warnings.len()), ("hi", 0));
}

#[test]
fn spans_are_utf_16_units_and_a_part_precedes_its_parts() {
    let documents = Documents::of(&[("a", "👍[[b]]é"), ("b", "B")]);
    let expansion = expand_in(None, "👍 [[a]][[none]][[b]]", &documents);
    assert_eq!(expansion.text, "👍 👍Bé[[PROMPT NOT FOUND: none]]B");
    let span = |start, end, id: &str| Span { start, end, id: id.to_owned() };
    assert_eq!(expansion.spans, [span(3, 7, "a"), span(5, 6, "b"), span(33, 34, "b")]);
}

#[test]
fn brackets_that_are_no_inclusion_stay() {
    let documents = Documents::of(&[("a", "A")]);
    for text in ["[[]]", "[[ ]]", "[[a]", "[a]]", "[[a] ]", "[[", "]]", "[ [a]]", "[[a\n"] {
        let expansion = expand_in(None, text, &documents);
        assert_eq!((expansion.text.as_str(), expansion.warnings.len()), (text, 0));
    }
    for (text, expected) in
        [("[[[a]]]", "[A]"), ("[[x [[a]]", "[[x A"), ("[[a]]]]", "A]]"), ("[[[[a]]]]", "[[A]]")]
    {
        assert_eq!(expand_in(None, text, &documents).text, expected);
    }
}

#[test]
fn an_inclusion_bomb_ends_quickly() {
    let fan = |n: usize| format!("[[d{n}]]").repeat(10);
    let mut all: Vec<(String, Arc<str>)> =
        (1..9).map(|n| (format!("d{n}"), fan(n + 1).into())).collect();
    all.push(("d9".into(), "x".into()));
    let start = Instant::now();
    let expansion = expand_in(None, &fan(1), &Documents { all, ..Default::default() });
    assert!(start.elapsed() < Duration::from_secs(2));
    assert_eq!(expansion.warnings, ["expansion stopped: more than 10000 inclusions"]);
    assert!(expansion.text.len() < 100_000);
}

#[test]
fn a_text_does_not_grow_beyond_its_limit() {
    let large = "x".repeat(1024 * 1024);
    let tail = format!("[[large]]{}", "y".repeat(1024 * 1024));
    let documents = Documents::of(&[
        ("large", large.as_str()),
        ("tail", tail.as_str()),
        ("two", "[[tail]][[tail]]"),
    ]);
    let expansion = expand_in(None, &"[[two]]".repeat(1000), &documents);
    assert_eq!(expansion.warnings, ["expansion stopped: more than 8388608 bytes of text"]);
    assert!(expansion.text.len() <= ExpandLimits::default().bytes);
    assert!(expansion.text.ends_with("[[two]]"));
}

#[test]
fn warnings_are_bounded_too() {
    let start = Instant::now();
    let expansion = expand_in(None, &"[[a]]".repeat(500_000), &Documents::default());
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(expansion.warnings.len(), 10_001);
    expand_in(None, &"[".repeat(1_000_000), &Documents::default());
}

#[test]
fn names_and_references_are_listed_once() {
    let text = "[[b]] [[a.md]] [[b@1]] [[b]] [[b.prompt]] [[b@x]]";
    assert_eq!(inclusions(text), ["b", "a"]);
    let found: Vec<_> = references(text).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["b", "a", "b@1", "b@x"]);
}

#[test]
fn renaming_keeps_pins_endings_and_everything_else() {
    let text = "[[a]] [[ a.md ]] [[a@12]] [[a.md@prod]] [[ab]] [[x/a]] a [[b]] [[a.prompt]]";
    let expected =
        "[[f/n]] [[ f/n.md ]] [[f/n@12]] [[f/n.md@prod]] [[ab]] [[x/a]] a [[b]] [[f/n.prompt]]";
    assert_eq!(rename_inclusions(text, "a", "f/n"), expected);
    assert_eq!(rename_inclusions("[[me@home]]", "me@home", "us"), "[[us]]");
    assert_eq!(rename_inclusions("none", "a", "b"), "none");
}

proptest! {
    #[test]
    fn any_text_is_expanded_within_the_limits(
        root in "(\\[|\\]|a|b|@|1|\\.md|é|👍|\n| ){0,30}",
        a in "(\\[|\\]|\\[\\[|\\]\\]|a|b|c|x){0,20}",
        b in "(\\[|\\]|\\[\\[|\\]\\]|a|b|c|x){0,20}",
    ) {
        let documents = Documents::of(&[("a", a.as_str()), ("b", b.as_str()), ("c", "[[a]][[b]]")]);
        let limits = ExpandLimits { depth: 5, bytes: 300, inclusions: 40 };
        let expansion = expand(Some("a"), &root, &documents, &limits);
        // Notes are longer than the inclusions that they replace.
        prop_assert!(expansion.text.len() <= 300 + 40 * 40);
        prop_assert!(expansion.warnings.len() <= 41);
        let units = expansion.text.encode_utf16().count();
        for span in &expansion.spans {
            prop_assert!(span.start <= span.end && span.end <= units);
        }
        prop_assert_eq!(expansion.revs.len(), expansion.dependencies.len());
    }

    #[test]
    fn renaming_there_and_back_changes_nothing(
        text in "(\\[\\[|\\]\\]|old|@|1|\\.md| |\n){0,20}"
    ) {
        let renamed = rename_inclusions(&text, "old", "other");
        prop_assert!(!inclusions(&renamed).contains(&"old".to_owned()));
        prop_assert_eq!(rename_inclusions(&renamed, "other", "old"), text);
    }
}
