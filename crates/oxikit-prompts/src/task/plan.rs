//! Decides what changes do to a document: which revisions they make and what is answered.
//!
//! This is a pure function of the document and the changes. Reading what it needs, storing what it
//! makes and telling members is done by others, so that it can run on any thread and be repeated if
//! another process was faster.

use std::collections::HashMap;
use std::sync::Arc;

use oxikit_core::ports::{NewRevision, RevisionKind, text_hash};
use oxikit_wire::prompts::OnConflict;

use super::job::{BaseText, Draft, Job, JobKind, JobResult, Plan, SubmitJob};
use super::outcome::{Outcome, Refusal};
use crate::document::{Kind, kind_of, source_of};
use crate::requests::Content;
use crate::room::SeenText;
use crate::source::{MetadataChange, Source};
use crate::text::{Conflict, infer_base, merge};

/// Plans the changes of a batch, one after the other.
pub(super) fn plan(draft: Draft, jobs: &[Job]) -> Plan {
    let mut planner = Planner { draft, revisions: Vec::new(), results: Vec::new() };
    let mut by_op: HashMap<&str, usize> = HashMap::new();
    for (place, job) in jobs.iter().enumerate() {
        let repeated = job.op.as_deref().and_then(|op| by_op.get(op));
        let result = match repeated.and_then(|first| planner.results.get(*first)).cloned() {
            Some(first) => first,
            None => planner.run(job),
        };
        planner.results.push(result);
        if let Some(op) = &job.op {
            by_op.entry(op).or_insert(place);
        }
    }
    let Planner { draft, revisions, results } = planner;
    Plan { revisions, results, draft }
}

struct Planner {
    draft: Draft,
    revisions: Vec<NewRevision>,
    results: Vec<JobResult>,
}

impl Planner {
    fn run(&mut self, job: &Job) -> JobResult {
        match &job.wanted {
            JobKind::Submit(submit) => self.submit(job, submit),
            _ if self.draft.is_read_only => refused(Refusal::ReadOnly),
            JobKind::Restore(Err(refusal)) => refused(refusal.clone()),
            JobKind::Restore(Ok(text)) => match self.draft.source {
                Some(_) => self.replace(job, RevisionKind::Restore, text),
                None => refused(Refusal::NotFound),
            },
            JobKind::Create(source) => match self.draft.source {
                Some(_) => refused(Refusal::Exists),
                None => self.replace(job, RevisionKind::Edit, &source.shared_text()),
            },
            JobKind::Undelete(text) => match (&self.draft.source, text) {
                (Some(_), _) => refused(Refusal::Exists),
                (None, Some(text)) => self.replace(job, RevisionKind::Restore, text),
                (None, None) => refused(Refusal::NotFound),
            },
            JobKind::Delete => self.delete(job),
        }
    }

    /// A text becomes the current one as it is.
    fn replace(&mut self, job: &Job, kind: RevisionKind, text: &Arc<str>) -> JobResult {
        let source = source_of(&self.draft.path, text);
        if !self.is_new(&source) && job.op.is_none() {
            return self.unchanged(None);
        }
        self.apply(job, kind, source, Outcome::default(), None)
    }

    fn delete(&mut self, job: &Job) -> JobResult {
        if self.draft.source.take().is_none() {
            return refused(Refusal::NotFound);
        }
        let outcome = Outcome { rev: self.draft.newest + 1, ..Outcome::default() };
        self.push(job, RevisionKind::Delete, None, true, self.draft.rev, Some(&outcome));
        self.draft.rev = self.draft.newest;
        self.done(outcome, None, true)
    }

    fn submit(&mut self, job: &Job, submit: &SubmitJob) -> JobResult {
        let base = match self.base(submit) {
            Ok(base) => base,
            Err(refusal) => return self.refuse(job, submit, 0, refusal),
        };
        let sent: Option<Arc<str>> = match &submit.content {
            None => None,
            Some(Content::Whole(content)) => Some(content.as_str().into()),
            Some(Content::Patch(patch)) => match patch.apply(&base.text) {
                Ok(content) => Some(content.into()),
                Err(error) => {
                    let refusal = Refusal::Invalid(error.to_string());
                    return self.refuse(job, submit, base.number, refusal);
                }
            },
        };
        match self.merged(submit, &base, sent.as_deref()) {
            Ok(merged) => self.accept(job, &base, sent, merged),
            Err(refusal) => {
                let text = sent.as_ref().map(|content| self.as_sent(content));
                self.refuse_text(job, base.number, text, sent, refusal)
            }
        }
    }

    /// The text after a submission.
    fn merged(
        &self,
        submit: &SubmitJob,
        base: &Base,
        sent: Option<&str>,
    ) -> Result<Merged, Refusal> {
        if self.draft.is_read_only {
            return Err(Refusal::ReadOnly);
        }
        let current = self.draft.source.as_ref().ok_or(Refusal::NotFound)?;
        if let Some(problem) = &self.draft.problem {
            return Err(Refusal::File(problem.clone()));
        }
        if submit.expected_rev.is_some_and(|expected| expected != self.draft.rev) {
            return Err(Refusal::Changed);
        }
        let mut merged = Merged { source: current.clone(), conflicts: Vec::new() };
        if let Some(sent) = sent {
            let result = merge(&base.text, current.content(), sent);
            if submit.on_conflict == OnConflict::Reject && !result.conflicts.is_empty() {
                return Err(Refusal::Conflict(result.conflicts));
            }
            let longest = sent.len().max(result.text.len());
            if longest > self.draft.max_content {
                return Err(Refusal::TooLarge(longest));
            }
            if result.text != current.content() {
                merged.source = current.with_content(&result.text);
            }
            merged.conflicts = result.conflicts;
        }
        let metadata = self.metadata(submit);
        if !metadata.is_empty() {
            let changed = merged.source.with_metadata(&metadata);
            merged.source = changed.map_err(|error| Refusal::Invalid(error.to_string()))?;
        }
        Ok(merged)
    }

    /// Stores a submission and the text after it.
    fn accept(
        &mut self,
        job: &Job,
        base: &Base,
        sent: Option<Arc<str>>,
        merged: Merged,
    ) -> JobResult {
        let Some(current) = &self.draft.source else { return refused(Refusal::NotFound) };
        let Merged { source, conflicts } = merged;
        let is_direct = *base.text == *current.content();
        // The metadata of a Dotprompt file are in its content, which then differs from the sent one.
        let is_merged = sent.as_deref().is_some_and(|sent| sent != source.content());
        if source.text() == current.text() && job.op.is_none() {
            // The history has this text already, unless something else was sent.
            match &sent {
                Some(content) if is_merged => {
                    let text = self.as_sent(content);
                    self.push(job, RevisionKind::Edit, Some(text), false, base.number, None);
                }
                _ => {}
            }
            return JobResult { is_direct, ..self.unchanged(sent) };
        }
        let kind = match &sent {
            Some(content) if is_merged => {
                let text = self.as_sent(content);
                let unlabelled = Job { op: None, ..job.clone() };
                self.push(&unlabelled, RevisionKind::Edit, Some(text), false, base.number, None);
                RevisionKind::Merge
            }
            Some(_) => RevisionKind::Edit,
            None => RevisionKind::Metadata,
        };
        let outcome = Outcome { merged: is_merged, conflicts, ..Outcome::default() };
        JobResult { is_direct, ..self.apply(job, kind, source, outcome, sent) }
    }

    /// Stores a text as the current one.
    fn apply(
        &mut self,
        job: &Job,
        kind: RevisionKind,
        source: Source,
        outcome: Outcome,
        sent: Option<Arc<str>>,
    ) -> JobResult {
        let text = source.shared_text();
        let is_new = self.is_new(&source);
        // A repeated text only carries its `op`.
        let rev = if is_new { self.draft.newest + 1 } else { self.draft.rev };
        let outcome = Outcome { rev, hash: text_hash(&text), ..outcome };
        self.push(job, kind, Some(text), is_new, self.draft.rev, Some(&outcome));
        if is_new {
            self.draft.rev = rev;
            self.draft.source = Some(source);
            self.draft.problem = None;
        }
        self.done(outcome, sent, true)
    }

    /// Whether a text has to become the current one. A file that cannot be read is always written.
    fn is_new(&self, source: &Source) -> bool {
        let old = self.draft.source.as_ref();
        self.draft.problem.is_some() || old.is_none_or(|old| old.text() != source.text())
    }

    /// Nothing had to be stored: the document has this text.
    fn unchanged(&self, sent: Option<Arc<str>>) -> JobResult {
        let hash = self.draft.source.as_ref().map(|source| text_hash(source.text()));
        let merged = match (&sent, &self.draft.source) {
            (Some(sent), Some(source)) => **sent != *source.content(),
            _ => false,
        };
        let hash = hash.unwrap_or_default();
        let outcome = Outcome { rev: self.draft.rev, hash, merged, ..Outcome::default() };
        JobResult { outcome: Ok(outcome), revision: None, sent, is_direct: true }
    }

    /// Refuses a submission whose content is not known because its base or patch is wrong. Its steps
    /// are kept as text.
    fn refuse(&mut self, job: &Job, submit: &SubmitJob, parent: u64, why: Refusal) -> JobResult {
        let (text, sent): (Option<Arc<str>>, Option<Arc<str>>) = match &submit.content {
            None => (None, None),
            Some(Content::Whole(content)) => {
                (Some(self.as_sent(content)), Some(content.as_str().into()))
            }
            Some(Content::Patch(patch)) => (serde_json::to_string(patch).ok().map(Arc::from), None),
        };
        self.refuse_text(job, parent, text, sent, why)
    }

    /// Refuses a submission, and keeps its text.
    fn refuse_text(
        &mut self,
        job: &Job,
        parent: u64,
        text: Option<Arc<str>>,
        sent: Option<Arc<str>>,
        why: Refusal,
    ) -> JobResult {
        let max = self.draft.max_content;
        let kept = text
            .filter(|_| self.draft.newest > 0)
            .filter(|_| sent.as_ref().is_none_or(|sent| sent.len() <= max));
        let revision = kept.map(|text| {
            let outcome = Outcome::refused(&why, max);
            self.push(job, RevisionKind::Refused, Some(text), false, parent, Some(&outcome));
            self.revisions.len() - 1
        });
        JobResult { outcome: Err(why), revision, sent, is_direct: false }
    }

    fn push(
        &mut self,
        job: &Job,
        kind: RevisionKind,
        text: Option<Arc<str>>,
        is_applied: bool,
        parent: u64,
        outcome: Option<&Outcome>,
    ) {
        let outcome = outcome.filter(|_| job.op.is_some()).map(Outcome::to_json);
        self.draft.newest += 1;
        self.revisions.push(NewRevision {
            parent: parent.min(self.draft.newest - 1),
            kind,
            author: job.author.clone(),
            text,
            is_applied,
            op: job.op.clone(),
            outcome,
        });
    }

    fn done(&self, outcome: Outcome, sent: Option<Arc<str>>, is_direct: bool) -> JobResult {
        let revision = Some(self.revisions.len() - 1);
        JobResult { outcome: Ok(outcome), revision, sent, is_direct }
    }

    /// The whole file with a content as it was sent.
    fn as_sent(&self, content: &str) -> Arc<str> {
        match &self.draft.source {
            Some(source) => source.with_content(content).shared_text(),
            None => content.into(),
        }
    }

    fn metadata(&self, submit: &SubmitJob) -> MetadataChange {
        let mut metadata = submit.metadata.clone();
        if kind_of(&self.draft.path) == Kind::Fragment {
            // Fragments have no type.
            metadata.prompt_type = None;
        }
        metadata
    }

    fn base(&self, submit: &SubmitJob) -> Result<Base, Refusal> {
        let current = || self.draft.source.as_ref().map_or("", Source::content);
        Ok(match &submit.base {
            BaseText::Current => Base { number: self.draft.rev, text: current().into() },
            BaseText::Revision(number, Some(text)) => Base { number: *number, text: text.clone() },
            BaseText::Revision(number, None) => {
                return Err(Refusal::Invalid(format!(
                    "there is no revision {number} to merge with: send the whole content again"
                )));
            }
            BaseText::Seen(seen, earlier) => {
                let sent =
                    earlier.iter().filter_map(|place| self.results.get(*place)?.sent.clone());
                let sent: Vec<_> = sent.collect();
                let seen = seen.iter().map(SeenText::as_str);
                let candidates: Vec<&str> = seen.chain(sent.iter().map(|text| &**text)).collect();
                let content = match &submit.content {
                    Some(Content::Whole(content)) => content.as_str(),
                    _ => "",
                };
                let best = infer_base(candidates.iter().copied(), content);
                let text = candidates.get(best).copied().unwrap_or_else(current);
                Base { number: self.draft.rev, text: text.into() }
            }
        })
    }
}

struct Base {
    number: u64,
    text: Arc<str>,
}

struct Merged {
    source: Source,
    conflicts: Vec<Conflict>,
}

fn refused(refusal: Refusal) -> JobResult {
    JobResult { outcome: Err(refusal), revision: None, sent: None, is_direct: false }
}

#[cfg(test)]
mod tests;
