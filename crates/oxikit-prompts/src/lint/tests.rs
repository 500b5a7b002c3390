//! The check of a whole folder.

use super::*;
use crate::index::tests::document;

/// The findings about these files, as `file:line code`.
fn lint(files: &[(&str, &str)], missing_pins: &[(&str, &str)]) -> Vec<String> {
    let mut index = Index::default();
    for (path, text) in files {
        index.put(document(&format!("p/{path}"), text));
    }
    let mut environment = Environment::new();
    for (name, document) in partials(&index) {
        environment = environment.partial(name, document.body());
    }
    let missing = missing_pins.iter().map(|(key, pin)| (format!("p/{key}"), (*pin).to_owned()));
    let findings = check(&index, &environment, &missing.collect());
    let brief = |it: &Finding| {
        assert_eq!(it.directory, "/srv/p");
        let line = it.line.map_or_else(String::new, |line| format!(":{line}"));
        format!("{}{line} {}", it.file, serde_json::json!(it.code).as_str().unwrap())
    };
    findings.iter().map(brief).collect()
}

#[test]
fn a_correct_folder_has_no_findings() {
    let files = [
        ("joke.prompt", "---\nmodel: m\n---\n[[tone]] A joke about {{topic}}. {{> sign}}"),
        ("jokes/dad.md", "---\ntags: [fun]\n---\n[[joke]] [[tone@3]]"),
        ("fragments/tone.md", "Be {{mood}}."),
        ("_sign.prompt", "Bye"),
        ("notes.md", "# Notes\n\n---\n\n[link](x) [[tone]]\n\n---\n"),
    ];
    assert_eq!(lint(&files, &[]), Vec::<String>::new());
}

#[test]
fn inclusions_are_checked_with_their_lines() {
    let files = [
        ("a.md", "---\ntype: system\n---\none [[nobody]]\n[[b@9]] [[b@live]]\n"),
        ("b.md", "x"),
        ("x/c.md", "[[d]]"),
        ("y/d.md", "y"),
        ("z/d.md", "z"),
    ];
    let missing = [("b.md", "9")];
    let expected =
        ["a.md:4 missing_inclusion", "a.md:5 missing_inclusion", "x/c.md:1 ambiguous_inclusion"];
    assert_eq!(lint(&files, &missing), expected);
}

#[test]
fn circles_and_deep_chains_are_found() {
    let files = [
        ("a.md", "A\n[[b]]"),
        ("b.md", "[[c]]"),
        ("c.md", "[[a]] [[a@1]]"),
        ("own.md", "[[own]]"),
        ("pinned.md", "[[pinned@1]]"),
    ];
    let expected = [
        "a.md:2 circular_inclusion",
        "b.md:1 circular_inclusion",
        "c.md:1 circular_inclusion",
        "own.md:1 circular_inclusion",
    ];
    assert_eq!(lint(&files, &[]), expected);

    let names: Vec<_> = (10..22).map(|n| format!("n{n}.md")).collect();
    let texts = (11..23).map(|n| if n < 22 { format!("[[n{n}]]") } else { "end".into() });
    let texts: Vec<String> = texts.collect();
    let files: Vec<_> = names.iter().zip(&texts).map(|(name, text)| (&**name, &**text)).collect();
    assert_eq!(lint(&files, &[]), ["n10.md inclusion_limit"]);
}

#[test]
fn templates_that_break_by_an_inclusion_are_found() {
    let files = [("a.md", "{{#if x}}[[b]]{{/if}}"), ("b.md", "text {{/if}} {{#if y}}")];
    let expected = ["b.md:1 template"];
    assert_eq!(lint(&files, &[]), expected, "the text of `a` is correct again");
    let files = [("a.md", "[[fragments/open]]"), ("fragments/open.md", "{{#if y}}")];
    assert_eq!(lint(&files, &[]), ["a.md template", "fragments/open.md:1 template"]);
}

#[test]
fn names_and_unused_fragments_are_warnings() {
    let files = [
        ("a.md", "a"),
        ("a.prompt", "a {{> used}} [[kept]]"),
        ("_used.prompt", "x"),
        ("_unused.prompt", "x"),
        ("fragments/kept.md", "x"),
        ("fragments/old.md", "x"),
    ];
    let expected = [
        "_unused.prompt unused_fragment",
        "a.prompt ambiguous_name",
        "fragments/old.md unused_fragment",
    ];
    assert_eq!(lint(&files, &[]), expected);
}
