//! Every wire type reads all forms of JSON that the protocols allow, also those that few
//! runtimes write, and reads them as the same value.

mod forms;
mod members;
mod samples;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use forms::FORMS;
use samples::{Sampled, all};

/// Members whose `null` is a value, and not an absence.
const NULL_IS_A_VALUE: &[(&str, &str)] = &[
    ("ToolRequest", "input"),
    ("ToolResponse", "output"),
    ("MultipartToolResponse", "output"),
    ("Operation", "output"),
    ("PatchOperation", "value"),
    ("Part", "data"),
    ("SessionState", "custom"),
    ("EvalDataPoint", "input"),
    ("EvalDataPoint", "output"),
    ("EvalDataPoint", "reference"),
    ("ExecuteInit", "state"),
    ("ExecuteResult", "state"),
    ("RunActionParams", "input"),
    ("RunActionResult", "result"),
    ("RuntimeMessage", "result"),
    ("RunNotification", "chunk"),
    ("ActionCallText", "data"),
    ("ActionCallText", "init"),
    ("ActionReply", "message"),
    ("ActionReply", "result"),
    ("ActionReply", "error"),
    ("RawMembers", "m"),
    ("RawMembers", "o"),
    ("RankedDocumentMetadata", "other"),
    ("ScoreDetails", "n"),
];

/// Types that keep unknown members.
const KEEPS_UNKNOWN: [&str; 4] =
    ["RankedDocumentMetadata", "ScoreDetails", "RawMembers", "SecurityRequirement"];

#[test]
fn numbers_members_and_texts_may_be_written_in_any_form() {
    for sampled in all() {
        for sample in sampled.values() {
            let expected = sampled.read(&sample.to_string());
            for form in FORMS {
                let text = form.write(&sample);
                check_same(&sampled, form.name, &text, &expected);
            }
        }
    }
}

#[test]
fn unknown_members_are_passed_over() {
    for sampled in all().iter().filter(|sampled| !KEEPS_UNKNOWN.contains(&sampled.name)) {
        for sample in sampled.values().filter(Value::is_object) {
            let expected = sampled.read(&sample.to_string());
            let mut more = json!({"": null, "oxikit:unknown": {"deep": [1, null]}});
            let (members, own) = (more.as_object_mut().unwrap(), sample.as_object().unwrap());
            members.extend(own.clone());
            members.insert("another".to_owned(), json!([[]]));
            check_same(sampled, "unknown members", &more.to_string(), &expected);
        }
    }
}

#[test]
fn null_is_absence_unless_it_is_a_value() {
    let mut values = BTreeSet::new();
    for sampled in all() {
        for sample in sampled.values().filter(Value::is_object) {
            for member in sampled.members() {
                if is_another_spelling(&sampled, &sample, &member) {
                    continue;
                }
                let mut changed = sample.clone();
                changed.as_object_mut().unwrap().shift_remove(&member);
                // A member that must be there has no absence.
                let Ok(expected) = (sampled.read)(&changed.to_string()) else { continue };
                changed[&member] = Value::Null;
                let key = (sampled.name, member.as_str());
                let read = (sampled.read)(&changed.to_string());
                if NULL_IS_A_VALUE.contains(&key) {
                    if read != Ok(expected) {
                        values.insert((sampled.name, member));
                    }
                } else {
                    assert_eq!(read, Ok(expected), "{key:?} is null in {changed}");
                }
            }
        }
    }
    let unused =
        NULL_IS_A_VALUE.iter().find(|(name, member)| !values.contains(&(*name, (*member).into())));
    assert_eq!(unused, None, "its null is no value any more");
}

/// Whether the sample has the member under another of its names: together they would be one
/// member twice.
fn is_another_spelling(sampled: &Sampled, sample: &Value, member: &str) -> bool {
    let mut both = sample.clone();
    if both.get(member).is_some() {
        return false;
    }
    both[member] = Value::Null;
    (sampled.read)(&both.to_string()).is_err_and(|error| error.contains("duplicate field"))
}

#[test]
fn every_type_that_is_read_has_samples_with_all_its_members() {
    let sampled: BTreeSet<String> = all().iter().map(|sampled| sampled.name.to_owned()).collect();
    let declared = declared(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let forgotten: Vec<_> = declared.difference(&sampled).collect();
    assert!(forgotten.is_empty(), "add samples of {forgotten:?} to tolerance/samples.rs");
    for sampled in all() {
        let seen: BTreeSet<String> = sampled
            .values()
            .filter_map(|it| Some(it.as_object()?.clone()))
            .flat_map(names)
            .collect();
        let unseen: Vec<_> =
            sampled.members().into_iter().filter(|member| !seen.contains(member)).collect();
        assert!(unseen.is_empty(), "no sample of {} has {unseen:?}", sampled.name);
    }
}

#[track_caller]
fn check_same(sampled: &Sampled, form: &str, text: &str, expected: &Value) {
    match (sampled.read)(text) {
        Ok(read) => {
            assert!(forms::is_same(&read, expected), "{}, {form}: {text}: {read}", sampled.name);
        }
        Err(error) => panic!("{}, {form}: {text}: {error}", sampled.name),
    }
}

fn names(members: serde_json::Map<String, Value>) -> impl Iterator<Item = String> {
    members.into_iter().map(|(name, _)| name)
}

/// The names of all public types of these sources that can be read.
fn declared(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(declared(&path));
            continue;
        }
        let mut is_read = false;
        for line in fs::read_to_string(&path).unwrap().lines().map(str::trim) {
            is_read |= line.starts_with("#[derive(") && line.contains("Deserialize");
            if line.starts_with("impl") && line.contains("Deserialize<'de> for ") {
                found.insert(first_word(line.split(" for ").nth(1).unwrap()));
            }
            let declared = ["pub struct ", "pub enum "];
            if let Some(rest) = declared.iter().find_map(|start| line.strip_prefix(start)) {
                if is_read {
                    found.insert(first_word(rest));
                }
                is_read = false;
            } else if line.starts_with("struct ") || line.starts_with("enum ") {
                // Read by way of a public one.
                is_read = false;
            }
        }
    }
    found
}

fn first_word(text: &str) -> String {
    text.chars().take_while(|letter| letter.is_alphanumeric()).collect()
}
