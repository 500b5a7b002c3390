use proptest::prelude::*;

use super::*;

/// Front matter with everything that a rewrite would lose.
const FULL: &str = "---\n\
    # Maintained by the shop team.\n\
    owner: Ada   # ask her first\n\
    description: Old --- words\n\
    \n\
    notes: |\n  \
      first\n  \
      ---\n  \
      last\n\
    tags:\n\
    - jokes # the first\n\
    # for the summer\n\
    - tea\n\
    'x-list': [1, 0x10,\n  \
      three]\n\
    ---\n\n\
    Tell a joke.\n";

fn described(text: &str) -> MetadataChange {
    MetadataChange { description: Some(text.into()), ..Default::default() }
}

fn tagged(tags: &[&str]) -> MetadataChange {
    let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    MetadataChange { tags: Some(tags), ..Default::default() }
}

fn typed(prompt_type: PromptType) -> MetadataChange {
    MetadataChange { prompt_type: Some(prompt_type), ..Default::default() }
}

#[track_caller]
fn check_change(text: &str, change: &MetadataChange, expected: &str) {
    let source = Source::markdown(text);
    let changed = source.with_metadata(change).unwrap();
    assert_eq!(changed.text(), expected);
    assert_eq!(changed.metadata(), &source.metadata().changed(change));
    assert_eq!(changed.body(), source.body());
}

#[track_caller]
fn check_content(text: &str, expected: &str) {
    assert_eq!(Source::markdown(text).content(), expected);
}

#[test]
fn front_matter_is_not_content() {
    check_content("Hello\n", "Hello\n");
    check_content("---\ndescription: x\n---\nHello\n", "Hello\n");
    check_content("---\n---\nHello", "Hello");
    check_content("---\ndescription: x\n---", "");
    check_content("", "");
}

#[test]
fn content_is_not_trimmed() {
    check_content("---\ntype: user\n---\n\n  Hello  \n\n", "\n  Hello  \n\n");
    check_content("\n\nHello\n ", "\n\nHello\n ");
}

#[test]
fn a_rule_of_markdown_is_not_front_matter() {
    check_content("# Title\n---\ntext\n---\n", "# Title\n---\ntext\n---\n");
    check_content("\n---\na: 1\n---\n", "\n---\na: 1\n---\n");
    check_content("---\nnever closed\n", "---\nnever closed\n");
    check_content("----\na: 1\n----\n", "----\na: 1\n----\n");
}

#[test]
fn dashes_in_a_value_do_not_end_front_matter() {
    let source = Source::markdown(FULL);
    assert_eq!(source.metadata().description.as_deref(), Some("Old --- words"));
    assert_eq!(source.metadata().tags, ["jokes", "tea"]);
    assert_eq!(source.content(), "\nTell a joke.\n");
    assert_eq!(source.warning(), None);
}

#[test]
fn metadata_is_read_from_its_keys() {
    let read = |yaml: &str| Source::markdown(format!("---\n{yaml}\n---\n")).metadata().clone();
    let all = read("description: 'It''s tea'\ntags: [a, 7]\ntype: system");
    let description = Some("It's tea".to_owned());
    let tags = vec!["a".to_owned(), "7".to_owned()];
    assert_eq!(all, Metadata { description, tags, prompt_type: PromptType::System });
    assert_eq!(read("description:\ntags:\ntype:"), Metadata::default());
    assert_eq!(read("tags: a, b").tags, ["a", "b"]);
    assert_eq!(read("type: agentic").prompt_type, PromptType::Custom);
    assert_eq!(read(""), Metadata::default());
}

#[test]
fn a_change_of_the_description_alters_only_its_line() {
    let expected = FULL.replace("description: Old --- words\n", "description: New words\n");
    check_change(FULL, &described("New words"), &expected);
    let expected = FULL.replace("Old --- words\n", "\"a: b\"\n");
    check_change(FULL, &described("a: b"), &expected);
}

#[test]
fn a_change_of_the_tags_keeps_the_lines_of_the_tags_that_stay() {
    let expected = FULL.replace("- tea\n", "- tea\n- new one\n");
    check_change(FULL, &tagged(&["jokes", "tea", "new one"]), &expected);
    let expected = FULL.replace("- jokes # the first\n", "");
    check_change(FULL, &tagged(&["tea"]), &expected);
    let expected = FULL.replace(
        "- jokes # the first\n# for the summer\n- tea\n",
        "# for the summer\n- tea\n- jokes # the first\n",
    );
    check_change(FULL, &tagged(&["tea", "jokes"]), &expected);
}

#[test]
fn an_empty_value_removes_the_key() {
    let expected = FULL.replace("description: Old --- words\n", "");
    check_change(FULL, &described(""), &expected);
    let expected = FULL.replace("tags:\n- jokes # the first\n# for the summer\n- tea\n", "");
    check_change(FULL, &tagged(&[]), &expected);
    check_change("---\na: 1\ntype: user\n---\n", &typed(PromptType::Standard), "---\na: 1\n---\n");
}

#[test]
fn a_new_key_is_added_at_the_end_of_the_block() {
    let expected = FULL.replace("three]\n---\n", "three]\ntype: system\n---\n");
    check_change(FULL, &typed(PromptType::System), &expected);
    check_change(
        "---\na: 1\n---\nHi",
        &tagged(&["x", "y z"]),
        "---\na: 1\ntags: [x, y z]\n---\nHi",
    );
}

#[test]
fn a_file_without_front_matter_gets_a_block_and_loses_it_again() {
    let blocked = "---\ndescription: Greets\n---\nHi\n";
    check_change("Hi\n", &described("Greets"), blocked);
    check_change(blocked, &described(""), "Hi\n");
    check_change("", &typed(PromptType::User), "---\ntype: user\n---\n");
    check_change("---\nopen", &described("x"), "---\ndescription: x\n---\n---\nopen");
}

#[test]
fn a_change_to_the_same_value_changes_nothing() {
    let same = MetadataChange {
        description: Some("Old --- words".into()),
        tags: Some(vec!["jokes".into(), "tea".into()]),
        prompt_type: Some(PromptType::Standard),
    };
    check_change(FULL, &same, FULL);
    check_change(FULL, &MetadataChange::default(), FULL);
}

#[test]
fn line_ends_and_byte_order_mark_stay() {
    let text = format!("\u{feff}{}", FULL.replace('\n', "\r\n"));
    let expected = text.replace("description: Old --- words", "description: New");
    check_change(&text, &described("New"), &expected);
    let expected = text.replace("- tea\r\n", "- tea\r\n- new\r\n");
    check_change(&text, &tagged(&["jokes", "tea", "new"]), &expected);
    let expected = text.replace("three]\r\n---", "three]\r\ntype: user\r\n---");
    check_change(&text, &typed(PromptType::User), &expected);
    let source = Source::markdown(text.as_str());
    assert_eq!(source.content(), "\r\nTell a joke.\r\n");
    let expected = text.replace("\r\nTell a joke.\r\n", "New");
    assert_eq!(source.with_content("New").text(), expected);
    let created = "\u{feff}---\r\ndescription: x\r\n---\r\na\r\nb";
    check_change("\u{feff}a\r\nb", &described("x"), created);
}

#[test]
fn every_form_of_a_value_can_be_replaced() {
    for old in [
        "description: plain",
        "description: \"in quotes\"",
        "description: 'it''s # no comment'",
        "\"description\": x",
        "description :  spaced",
        "description: |\n  a\n\n  b",
        "description: >-\n    folded\n    text",
        "description: plain\n  continued",
        "description:\n  below",
        "description: \"two\n  lines\"",
        "description: [a, b]",
        "description: {a: 1,\n  b: 2}",
        "description:\n  a: 1\n  b:\n  - 2",
        "description:",
    ] {
        let text = format!("---\na: 1\n{old}\nz: 2 # end\n---\nHi");
        let key = &old[..old.find(':').unwrap()];
        let expected = format!("---\na: 1\n{key}: new text\nz: 2 # end\n---\nHi");
        check_change(&text, &described("new text"), &expected);
    }
}

#[test]
fn the_comment_after_a_value_stays() {
    for (old, new) in [
        ("description: plain # why", "description: new # why"),
        ("description: a#b  # why", "description: new  # why"),
        ("description: \"a # \\\" b\" # why", "description: new # why"),
        ("description: 'a '' # b' # why", "description: new # why"),
        ("description: [\"]\", b] # why", "description: new # why"),
        ("description: # why\n  below", "description: new # why"),
    ] {
        let text = |line: &str| format!("---\n{line}\n---\nHi");
        check_change(&text(old), &described("new"), &text(new));
    }
    let text = "---\ntags: [a] # why\n---\n";
    check_change(text, &tagged(&["a", "b"]), "---\ntags: [a, b] # why\n---\n");
}

#[test]
fn a_description_of_several_lines_is_a_block() {
    let text = "---\na: 1\n---\n";
    let expected = "---\na: 1\ndescription: |-\n  one\n\n    two: # three\n---\n";
    check_change(text, &described("one\n\n  two: # three"), expected);
    check_change(text, &described("x\ny\n"), "---\na: 1\ndescription: |\n  x\n  y\n---\n");
    check_change(text, &described(" x\ny"), "---\na: 1\ndescription: \" x\\ny\"\n---\n");
}

#[test]
fn an_indented_block_and_a_map_in_braces_can_be_changed() {
    check_change(
        "---\n  description: x\n  tags:\n  - a\n  z: 1\n---\n",
        &described("new"),
        "---\n  description: new\n  tags:\n  - a\n  z: 1\n---\n",
    );
    check_change(
        "---\n  z: 1\n---\n",
        &described("a\nb"),
        "---\n  z: 1\n  description: |-\n    a\n    b\n---\n",
    );
    check_change(
        "---\n# keep\n{description: x, z: [1, 2.50]}\n---\n",
        &tagged(&["a"]),
        "---\n# keep\n{\"description\":\"x\",\"z\":[1,2.5],\"tags\":[\"a\"]}\n---\n",
    );
}

#[test]
fn broken_front_matter_is_kept_as_it_is() {
    let deep = format!("---\na: {}1{}\n---\nHi", "[".repeat(40), "]".repeat(40));
    let large = format!("---\na: {}\n---\nHi", "x".repeat(70_000));
    for (text, reason) in [
        ("---\ntags: [a\n---\nHi", "the front matter is not valid YAML"),
        ("---\na: 1\na: 2\n---\nHi", "duplicate"),
        ("---\na: &x 1\nb: *x\n---\nHi", "the front matter is not valid YAML"),
        ("---\njust text\n---\nHi", "the front matter has to be a map"),
        (deep.as_str(), "the front matter is not valid YAML"),
        (large.as_str(), "the front matter is longer than 65536 bytes"),
    ] {
        let source = Source::markdown(text);
        let warning = source.warning().unwrap();
        assert!(warning.contains(reason), "{warning}");
        assert_eq!((source.content(), source.metadata()), ("Hi", &Metadata::default()));
        assert_eq!(source.text(), text);
        let error = source.with_metadata(&described("x")).unwrap_err();
        assert!(matches!(error, SourceError::Unreadable(_)));
        let expected = text.replace("\nHi", "\nHello");
        assert_eq!(source.with_content("Hello").text(), expected);
    }
}

#[test]
fn metadata_that_would_become_too_large_is_refused() {
    let source = Source::markdown("---\na: 1\n---\nHi");
    let error = source.with_metadata(&described(&"x".repeat(70_000))).unwrap_err();
    assert!(error.to_string().ends_with("longer than 65536 bytes (line 2, column 1)"), "{error}");
}

#[test]
fn content_that_begins_like_front_matter_stays_content() {
    let source = Source::markdown("Hi");
    for content in ["---\na: 1\n---\nrest", "---\n---\n", "---\n\n---", "\u{feff}x"] {
        let changed = source.with_content(content);
        assert_eq!(changed.text(), format!("---\n---\n{content}"));
        let loaded = Source::markdown(changed.text());
        assert_eq!((loaded.content(), loaded.warning()), (content, None));
        let changed = loaded.with_metadata(&described("x")).unwrap();
        assert_eq!(changed.content(), content);
        let cleared = changed.with_metadata(&described("")).unwrap();
        assert_eq!(cleared.content(), content);
    }
    assert_eq!(source.with_content("---\nopen").text(), "---\nopen");
}

#[test]
fn content_after_a_closing_line_without_a_line_end_begins_on_a_new_line() {
    let source = Source::markdown("---\r\na: 1\r\n---");
    assert_eq!(source.with_content("Hi").text(), "---\r\na: 1\r\n---\r\nHi");
    assert_eq!(source.with_content("").text(), "---\r\na: 1\r\n---");
}

#[test]
fn the_content_of_a_dotprompt_file_is_the_whole_file() {
    let text = "\u{feff}# Licence\n\n---\nmodel: echo/model\ninput:\n  schema:\n    a: string\n---\nHi {{a}}\n";
    let source = Source::dotprompt(text);
    assert_eq!(source.content(), &text[3..]);
    assert_eq!(source.body(), "Hi {{a}}\n");
    let changed = source.with_metadata(&described("Greets")).unwrap();
    let expected = text.replace("a: string\n", "a: string\ndescription: Greets\n");
    assert_eq!(changed.text(), expected);
    let changed = source.with_content("---\nmodel: other\n---\nHey\n");
    assert_eq!(changed.text(), "\u{feff}---\nmodel: other\n---\nHey\n");
    assert_eq!(changed.body(), "Hey\n");
}

#[test]
fn a_standard_document_with_inclusions_is_composite() {
    let prompt_type = |text: &str| Source::markdown(text).prompt_type();
    assert_eq!(prompt_type("[[a]]"), PromptType::Composite);
    assert_eq!(prompt_type("---\ntype: system\n---\n[[a]]"), PromptType::System);
    assert_eq!(prompt_type("---\nlist: [[1]]\n---\nHi"), PromptType::Standard);
}

/// Lines that may be in front matter, with each key once.
fn yaml() -> impl Strategy<Value = String> {
    let line = |forms: &'static [&'static str]| prop::sample::select(forms);
    let lines = (
        line(&["", "# comment\n", "\n"]),
        line(&["", "a: 1\n", "a: |+\n  x\n\n", "'a b': {c: d}\n"]),
        line(&["", "description: x # y\n", "description: >\n  a\n  b\n", "description:\n"]),
        line(&["", "# tags\n", "list:\n- a\n- b\n", "list:\n  # c\n  - a: 1\n    b: 2\n"]),
        line(&["", "tags: [a, b]\n", "tags:\n- a\n- b # x\n", "tags: a, b\n", "tags:\n  - a\n"]),
        line(&["", "type: user\n", "\"type\": 'system'\n"]),
        line(&["", "z: \"---\"\n", "z: 'a\n  # b'\n"]),
    );
    let joined = lines.prop_map(|(a, b, c, d, e, f, g)| [a, b, c, d, e, f, g].concat());
    (joined, any::<bool>()).prop_map(|(yaml, is_windows)| match is_windows {
        true => yaml.replace('\n', "\r\n"),
        false => yaml,
    })
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z:#'\" \\[\\]{},&*!|>%@`\\\\~-]{0,8}",
        "([a-z#: -]{0,4}\n){0,3}[a-z]{0,2}",
        "\\PC{0,6}",
        ".{0,6}",
        prop::sample::select(vec!["true", "null", "1", "0x1", "~", "2020-01-01", "---", "No"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn a_change_has_the_meaning_that_was_asked_for(
        yaml in yaml(),
        description in prop::option::of(value()),
        tags in prop::option::of(prop::collection::vec(value(), 0..3)),
        prompt_type in prop::option::of(prop::sample::select(vec![
            PromptType::Standard, PromptType::System, PromptType::Custom,
        ])),
    ) {
        let line_end = if yaml.contains('\r') { "\r\n" } else { "\n" };
        let source = Source::markdown(format!("---{line_end}{yaml}---{line_end}[[Body]]"));
        prop_assert_eq!(source.warning(), None);
        let change = MetadataChange { description, tags, prompt_type };
        let changed = source.with_metadata(&change).unwrap();
        prop_assert_eq!(changed.metadata(), &source.metadata().changed(&change));
        prop_assert_eq!(changed.body(), source.body());
        // All lines that belong to no changed key are there.
        for line in ["# comment", "a: 1", "'a b': {c: d}", "- a: 1", "z: \"---\"", "  # b'"] {
            prop_assert_eq!(yaml.contains(line), changed.yaml().contains(line));
        }
    }

    #[test]
    fn content_is_read_back_as_it_was_written(
        text in "(---\n|a: 1\n|x|\u{feff}|\r\n|#|\n| ){0,8}",
        content in "(---\n|a: 1\n|x|\u{feff}|---\r\n|#|\n| ){0,8}",
    ) {
        for source in [Source::markdown(text.as_str()), Source::dotprompt(text.as_str())] {
            let changed = source.with_content(&content);
            prop_assert_eq!(changed.content(), &content);
            let loaded = match source.is_dotprompt() {
                true => Source::dotprompt(changed.text()),
                false => Source::markdown(changed.text()),
            };
            prop_assert_eq!(loaded, changed);
            let same = source.with_content(source.content());
            prop_assert_eq!(same.content(), source.content());
        }
    }

    #[test]
    fn any_text_can_be_read_and_described(text in ".{0,40}", description in value()) {
        let source = Source::markdown(text.as_str());
        prop_assert!(text.ends_with(source.content()));
        if let Ok(changed) = source.with_metadata(&described(&description)) {
            prop_assert_eq!(changed.body(), source.body());
        }
    }
}
