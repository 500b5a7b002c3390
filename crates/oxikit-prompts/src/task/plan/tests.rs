//! What changes do to a document.

use super::*;
use crate::text::Patch;

fn draft(text: &str) -> Draft {
    Draft {
        newest: 3,
        rev: 3,
        source: Some(source_of("a.md", text)),
        path: "a.md".to_owned(),
        max_content: 100,
        is_read_only: false,
        problem: None,
    }
}

fn submit(content: &str, base: BaseText) -> Job {
    let submit = SubmitJob {
        content: Some(Content::Whole(content.to_owned())),
        metadata: MetadataChange::default(),
        base,
        on_conflict: OnConflict::Merge,
        expected_rev: None,
    };
    Job { wanted: JobKind::Submit(submit), author: "Ada".to_owned(), op: None }
}

fn edit(job: &mut Job, change: impl FnOnce(&mut SubmitJob)) {
    match &mut job.wanted {
        JobKind::Submit(submit) => change(submit),
        other => panic!("{other:?}"),
    }
}

fn seen(texts: &[&str]) -> BaseText {
    let seen = texts.iter().map(|text| SeenText::Submitted((*text).into()));
    BaseText::Seen(seen.collect(), Vec::new())
}

/// The revisions of a plan in short: kind, whether applied, parent, text.
fn revisions(plan: &Plan) -> Vec<(RevisionKind, bool, u64, &str)> {
    let short = |revision: &'_ NewRevision| (revision.kind, revision.is_applied, revision.parent);
    let with_text = |(kind, is_applied, parent), text| (kind, is_applied, parent, text);
    let texts = plan.revisions.iter().map(|revision| revision.text.as_deref().unwrap_or(""));
    plan.revisions.iter().map(short).zip(texts).map(|(all, text)| with_text(all, text)).collect()
}

fn rev(plan: &Plan, job: usize) -> u64 {
    plan.results[job].outcome.as_ref().unwrap().rev
}

#[test]
fn a_submission_on_the_current_text_is_stored_as_sent() {
    let plan = plan(draft("one two"), &[submit("one two three", BaseText::Current)]);
    assert_eq!(revisions(&plan), [(RevisionKind::Edit, true, 3, "one two three")]);
    assert_eq!((rev(&plan, 0), plan.draft.rev, plan.draft.newest), (4, 4, 4));
    assert!(plan.results[0].is_direct);
}

#[test]
fn a_merged_submission_is_logged_as_sent_and_merged() {
    let base = BaseText::Revision(2, Some("one two".into()));
    let plan = plan(draft("zero one two"), &[submit("one two three", base)]);
    assert_eq!(
        revisions(&plan),
        [
            (RevisionKind::Edit, false, 2, "one two three"),
            (RevisionKind::Merge, true, 3, "zero one two three"),
        ]
    );
    let outcome = plan.results[0].outcome.as_ref().unwrap();
    assert_eq!((outcome.rev, outcome.merged, plan.results[0].is_direct), (5, true, false));
}

#[test]
fn submissions_of_a_batch_are_merged_one_after_the_other() {
    let jobs = [
        submit("zero one two", seen(&["one two"])),
        submit("one two three", seen(&["one two"])),
        submit("one two", seen(&["one two"])),
    ];
    let plan = plan(draft("one two"), &jobs);
    assert_eq!(plan.draft.source.as_ref().unwrap().text(), "zero one two three");
    let kinds: Vec<_> = plan.revisions.iter().map(|revision| revision.kind).collect();
    // The third one changes nothing, but is not what the document has.
    let edit = RevisionKind::Edit;
    assert_eq!(kinds, [edit, edit, RevisionKind::Merge, edit]);
    assert!(plan.results[2].outcome.as_ref().unwrap().merged);
}

#[test]
fn a_member_may_send_a_second_submission_before_it_has_read_the_answer_to_the_first() {
    let mut second = submit("one two three four", seen(&["one two"]));
    edit(&mut second, |submit| {
        submit.base = BaseText::Seen(vec![SeenText::Submitted("one two".into())], vec![0]);
    });
    let jobs = [submit("one two three", seen(&["one two"])), second];
    let plan = plan(draft("one two"), &jobs);
    assert_eq!(plan.draft.source.unwrap().text(), "one two three four");
    assert!(plan.results.iter().all(|result| !result.outcome.as_ref().unwrap().merged));
}

#[test]
fn a_refused_submission_is_logged_as_sent() {
    let reject = |job: &mut Job| edit(job, |submit| submit.on_conflict = OnConflict::Reject);
    let base = BaseText::Revision(2, Some("one two".into()));
    let mut overlapping = submit("one 2", base.clone());
    reject(&mut overlapping);
    let mut separate = submit("1 two", base);
    reject(&mut separate);
    let mut stale = submit("new", BaseText::Current);
    edit(&mut stale, |submit| submit.expected_rev = Some(2));
    let unknown = submit("other", BaseText::Revision(99, None));
    let plan = plan(draft("one TWO"), &[overlapping, separate, stale, unknown]);
    let refused = RevisionKind::Refused;
    let logged = revisions(&plan);
    assert_eq!(logged[0], (refused, false, 2, "one 2"));
    assert_eq!((logged[1].0, logged[2].3), (RevisionKind::Edit, "1 TWO"));
    assert_eq!((logged[3].0, logged[3].3), (refused, "new"));
    assert_eq!((logged[4].0, logged[4].3), (refused, "other"));
    let refusals: Vec<_> =
        plan.results.iter().map(|result| result.outcome.as_ref().err().cloned()).collect();
    assert!(matches!(refusals[0], Some(Refusal::Conflict(_))));
    assert_eq!((&refusals[1], &refusals[2]), (&None, &Some(Refusal::Changed)));
    assert!(matches!(refusals[3], Some(Refusal::Invalid(_))));
}

#[test]
fn a_submission_to_a_deleted_document_is_refused_and_logged() {
    let mut deleted = draft("");
    deleted.source = None;
    let planned = plan(deleted.clone(), &[submit("late", BaseText::Current)]);
    assert_eq!(revisions(&planned), [(RevisionKind::Refused, false, 3, "late")]);
    assert_eq!(planned.results[0].outcome, Err(Refusal::NotFound));
    deleted.newest = 0;
    let planned = plan(deleted, &[submit("late", BaseText::Current)]);
    assert!(planned.revisions.is_empty(), "there is no document to log it with");
}

#[test]
fn a_text_that_the_document_has_makes_no_revision_unless_it_has_an_op() {
    let same = submit("one", BaseText::Current);
    let mut with_op = same.clone();
    with_op.op = Some("x".to_owned());
    let plan = plan(draft("one"), &[same, with_op.clone(), with_op]);
    assert_eq!(revisions(&plan), [(RevisionKind::Edit, false, 3, "one")]);
    assert_eq!((0..3).map(|job| rev(&plan, job)).collect::<Vec<_>>(), [3, 3, 3]);
}

#[test]
fn an_op_counts_once() {
    let mut job = submit("one two", BaseText::Current);
    job.op = Some("x".to_owned());
    let plan = plan(draft("one"), &[job.clone(), job]);
    assert_eq!(plan.revisions.len(), 1);
    assert_eq!(plan.revisions[0].op.as_deref(), Some("x"));
    let stored = Outcome::from_json(plan.revisions[0].outcome.as_deref().unwrap()).unwrap();
    assert_eq!(stored, *plan.results[1].outcome.as_ref().unwrap());
}

#[test]
fn a_patch_applies_to_its_base() {
    let mut job = submit("", BaseText::Revision(2, Some("one two".into())));
    edit(&mut job, |submit| {
        submit.content = Some(Content::Patch(Patch::between("one two", "one two three")));
    });
    let mut wrong = job.clone();
    edit(&mut wrong, |submit| submit.base = BaseText::Revision(1, Some("one".into())));
    let plan = plan(draft("zero one two"), &[job, wrong]);
    assert_eq!(plan.draft.source.as_ref().unwrap().text(), "zero one two three");
    assert!(matches!(plan.results[1].outcome, Err(Refusal::Invalid(_))));
    let kept = plan.revisions.last().unwrap();
    assert_eq!(kept.kind, RevisionKind::Refused);
    assert!(kept.text.as_deref().unwrap().contains(" three"), "what was typed is kept");
}

#[test]
fn contents_over_the_limit_are_refused_and_not_logged() {
    let plan = plan(draft("one"), &[submit(&"x".repeat(101), BaseText::Current)]);
    assert_eq!(plan.results[0].outcome, Err(Refusal::TooLarge(101)));
    assert!(plan.revisions.is_empty());
}

#[test]
fn metadata_change_beside_the_content() {
    let metadata =
        MetadataChange { description: Some("D".to_owned()), ..MetadataChange::default() };
    let mut only = submit("", BaseText::Current);
    edit(&mut only, |submit| (submit.content, submit.metadata) = (None, metadata));
    let planned = plan(draft("one"), &[only.clone()]);
    let text = "---\ndescription: D\n---\none";
    assert_eq!(revisions(&planned), [(RevisionKind::Metadata, true, 3, text)]);
    let mut both = only;
    edit(&mut both, |submit| submit.content = Some(Content::Whole("two".to_owned())));
    let planned = plan(draft("one"), &[both]);
    let text = "---\ndescription: D\n---\ntwo";
    assert_eq!(revisions(&planned), [(RevisionKind::Edit, true, 3, text)]);
    assert!(!planned.results[0].outcome.as_ref().unwrap().merged);
}

#[test]
fn a_document_is_deleted_made_and_restored() {
    let job = |wanted| Job { wanted, author: String::new(), op: None };
    let jobs = [
        job(JobKind::Undelete(Some("one".into()))),
        job(JobKind::Delete),
        job(JobKind::Delete),
        job(JobKind::Restore(Ok("old".into()))),
        job(JobKind::Undelete(Some("one".into()))),
        job(JobKind::Restore(Ok("old".into()))),
        job(JobKind::Create(source_of("a.md", "new"))),
    ];
    let plan = plan(draft("one"), &jobs);
    assert_eq!(
        revisions(&plan),
        [
            (RevisionKind::Delete, true, 3, ""),
            (RevisionKind::Restore, true, 4, "one"),
            (RevisionKind::Restore, true, 5, "old"),
        ]
    );
    let results: Vec<_> =
        plan.results.iter().map(|result| result.outcome.as_ref().err().cloned()).collect();
    let (exists, missing) = (Some(Refusal::Exists), Some(Refusal::NotFound));
    assert_eq!(results, [exists.clone(), None, missing.clone(), missing, None, None, exists]);
}

#[test]
fn nothing_changes_in_a_library_that_is_read_only_but_submissions_are_kept() {
    let mut draft = draft("one");
    draft.is_read_only = true;
    let delete = Job { wanted: JobKind::Delete, author: String::new(), op: None };
    let plan = plan(draft, &[submit("two", BaseText::Current), delete]);
    assert_eq!(revisions(&plan), [(RevisionKind::Refused, false, 3, "two")]);
    assert!(plan.results.iter().all(|result| result.outcome == Err(Refusal::ReadOnly)));
}
