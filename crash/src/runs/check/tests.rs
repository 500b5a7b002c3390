//! A checker that finds nothing proves nothing: each fault is made once.

use super::*;

/// Two managers and three runs. The first manager was killed just after one answer,
/// which came again; of its second run a chunk went down with it.
fn story(counts_anew: bool) -> Vec<Note> {
    let third = if counts_anew { "1" } else { "3" };
    let asked = |id: &str, nonce: &str, chunks, fails| What::Asked {
        id: id.into(),
        nonce: nonce.into(),
        chunks,
        fails,
    };
    let chunk =
        |id: &str, nonce: &str, number| What::Chunk { id: id.into(), nonce: nonce.into(), number };
    let mut notes = vec![
        (10, 1, asked("1", "a", 1, false)),
        (10, 1, asked("2", "b", 3, true)),
        (20, 1, What::State { id: "1".into() }),
        (30, 1, chunk("1", "a", 0)),
        (30, 1, chunk("2", "b", 0)),
        (40, 1, answer("1", "a", false)),
        (50, 1, What::Killed),
        (60, 2, asked(third, "c", 1, false)),
    ];
    if !counts_anew {
        notes.push((70, 2, answer("1", "a", false)));
        notes.push((70, 2, chunk("2", "b", 2)));
        notes.push((80, 2, answer("2", "b", true)));
    }
    notes.push((90, 2, chunk(third, "c", 0)));
    notes.push((95, 2, answer(third, "c", false)));
    notes.into_iter().map(|(at, process, what)| Note { at, process, what }).collect()
}

fn answer(id: &str, nonce: &str, failed: bool) -> What {
    What::Answer { id: id.into(), nonce: nonce.into(), failed }
}

fn begun() -> Vec<Note> {
    let began = |nonce: &str| What::Began { nonce: nonce.into() };
    ["a", "b", "c"].map(|nonce| Note { at: 15, process: 0, what: began(nonce) }).into()
}

fn faults(notes: &[Note]) -> Vec<String> {
    check(notes, &begun()).faults
}

#[test]
fn effects_of_a_kill_are_not_faults() {
    let findings = check(&story(false), &begun());
    assert_eq!(findings.faults, [] as [&str; 0]);
    assert!(findings.is_good());
    assert_eq!((findings.answered, findings.failed, findings.repeated), (2, 1, 1));

    let findings = check(&story(true), &begun());
    assert_eq!(findings.faults, [] as [&str; 0]);
    assert_eq!((findings.answered, findings.orphaned, findings.kills), (2, 1, 1));
}

#[test]
fn a_request_may_be_undelivered_only_just_before_a_kill() {
    let mut notes = story(true);
    let but_b: Vec<_> = begun().into_iter().filter(|note| note.what != begun()[1].what).collect();
    notes.retain(|note| !matches!(&note.what, What::Chunk { nonce, .. } if nonce == "b"));
    assert_eq!(check(&notes, &but_b).undelivered, 1);
    for note in &mut notes {
        note.at += if note.at >= 50 { 2000 } else { 0 };
    }
    assert_eq!(check(&notes, &but_b).faults, ["lost: b was not begun"]);
}

#[test]
fn each_fault_is_found() {
    let check = |change: fn(&mut Vec<Note>), expected: &str| {
        let mut notes = story(false);
        change(&mut notes);
        assert_eq!(faults(&notes), [expected]);
    };
    check(|notes| _ = notes.remove(10), "lost: b was begun and not answered");
    check(|notes| notes[6].at = 5000, "doubled: the answer of a");
    check(|notes| notes.insert(3, notes[2].clone()), "doubled: the state of a");
    check(|notes| notes.insert(5, notes[4].clone()), "doubled: chunk 0 of b");
    check(|notes| notes.insert(9, notes[4].clone()), "doubled: chunk 0 of b");
    check(
        |notes| notes[12].what = answer("3", "a", false),
        "mixed: c was answered with a, failed: false",
    );
    check(
        |notes| notes.push(Note { at: 99, process: 2, what: answer("9", "c", false) }),
        "mixed: 9 was never requested",
    );
}

#[test]
fn planted_faults_are_found() {
    for (fault, expected) in [
        ("lost", "lost: c was begun and not answered"),
        ("gap", "lost: c has 1 chunks, 0 arrived"),
        ("doubled", "doubled: the answer of c"),
        ("mixed", "mixed: c was answered with c0, failed: false"),
    ] {
        let mut notes = story(false);
        planted::plant(fault, &mut notes).unwrap();
        assert_eq!(faults(&notes), [expected]);
    }
}

#[test]
fn an_old_result_never_answers_a_new_request() {
    let mut notes = story(true);
    let old = Note { at: 80, process: 2, what: answer("1", "a", false) };
    notes.insert(8, old);
    assert!(faults(&notes)[0].starts_with("mixed: c was answered with a"));
}
