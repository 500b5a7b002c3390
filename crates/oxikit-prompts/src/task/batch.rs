//! Changes that wait are handled together: planned one after the other and stored with one commit.
//! `answers` answers each by itself.

use std::sync::Arc;

use oxikit_core::ports::RevisionInfo;
use oxikit_core::timestamp::now_millis;

use super::input::{Change, Input, Wanted};
use super::job::{BaseText, Draft, Job, JobKind, Plan, SubmitJob};
use super::outcome::{Outcome, Refusal};
use super::plan::plan;
use super::{DocumentTask, Failure, MAX_ATTEMPTS};
use crate::document::Document;
use crate::error::PromptsError;
use crate::requests::{Base, Content, RevisionName, Submission, Submitted};
use crate::room::{SeenText, short_label};

/// Maximum number of changes of a batch. More wait for the next one.
const MAX_CHANGES: usize = 128;
/// Size of the contents of a batch in bytes after which it is complete.
const MAX_BYTES: usize = 8 << 20;
/// Size of the texts of a batch in bytes from which it is planned on a thread for such work.
const LARGE: usize = 64 << 10;
/// Time for which the answer to an `op` is given again, in milliseconds.
const OP_TIME: i64 = 24 * 60 * 60 * 1000;

/// A batch that was stored.
pub(super) struct Done {
    /// The document before it.
    pub(super) before: Option<Arc<Document>>,
    pub(super) plan: Plan,
    /// The revisions of the plan.
    pub(super) infos: Vec<RevisionInfo>,
}

impl DocumentTask {
    /// Handles a change and those that wait behind it.
    pub(super) async fn handle_changes(&mut self, first: Change) {
        let batch = self.collect(first);
        if let Err(error) = self.load().await {
            return self.answer_all(batch, &error);
        }
        let batch = self.answer_repeated(batch).await;
        if batch.is_empty() {
            return;
        }
        for _ in 0..MAX_ATTEMPTS {
            match self.try_changes(&batch).await {
                Ok(done) => return self.finish(batch, done).await,
                Err(Failure::Overtaken) => {
                    if let Err(Failure::Error(error)) = self.sync().await {
                        return self.answer_all(batch, &error);
                    }
                }
                Err(Failure::Error(error)) => return self.answer_all(batch, &error),
            }
        }
        self.answer_all(batch, &Failure::Overtaken.into());
    }

    /// Tells everybody about a batch, and answers. Members are answered at once, so that their next
    /// changes do not wait for the file; other callers are promised that the file is written.
    async fn finish(&mut self, batch: Vec<Change>, done: Done) {
        let answers = self.announce(&batch, done);
        let mut waiting = Vec::new();
        for (change, answer) in batch.into_iter().zip(answers) {
            match change.waits_for_file() {
                true => waiting.push((change.reply, answer)),
                // The caller may have left.
                false => _ = change.reply.send(answer),
            }
        }
        if waiting.is_empty() {
            return;
        }
        let finished = self.finish_file().await;
        let problem = match finished {
            Err(failure) => Some(PromptsError::from(failure).to_string()),
            Ok(()) => self.write_problem().cloned(),
        };
        for (reply, answer) in waiting {
            let answer = match (&problem, answer) {
                (Some(problem), Ok(Submitted { rev, .. })) => Err(PromptsError::File(format!(
                    "{problem}; the change is stored as revision {rev} and will be written later"
                ))),
                (_, answer) => answer,
            };
            _ = reply.send(answer);
        }
    }

    /// The changes that wait, up to the first other request.
    fn collect(&mut self, first: Change) -> Vec<Change> {
        let mut bytes = first.wanted.bytes();
        let mut batch = vec![first];
        while batch.len() < MAX_CHANGES && bytes < MAX_BYTES {
            match self.inbox.try_recv() {
                Ok(Input::Change(change)) => {
                    bytes += change.wanted.bytes();
                    batch.push(*change);
                }
                Ok(other) => {
                    self.postponed = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        batch
    }

    /// Answers the changes whose `op` was stored before, and returns the others.
    async fn answer_repeated(&mut self, batch: Vec<Change>) -> Vec<Change> {
        let since = now_millis() - OP_TIME;
        let mut rest = Vec::with_capacity(batch.len());
        for change in batch {
            let Some(op) = &change.op else {
                rest.push(change);
                continue;
            };
            match self.state.store.find_op(&self.place.key, op, since).await {
                Ok(Some(info)) => {
                    let outcome = info.outcome.as_deref().and_then(Outcome::from_json);
                    let outcome = outcome.unwrap_or_else(|| Outcome {
                        rev: info.number,
                        hash: info.hash.clone(),
                        ..Outcome::default()
                    });
                    let answer = outcome.answer(info.at);
                    self.reply_status(&change, &answer);
                    _ = change.reply.send(answer);
                }
                Ok(None) => rest.push(change),
                Err(error) => self.answer_all(vec![change], &error.into()),
            }
        }
        rest
    }

    async fn try_changes(&mut self, batch: &[Change]) -> Result<Done, Failure> {
        if batch.iter().any(Change::waits_for_file) {
            // Such callers also name the revision that they expect, which has to be that of the
            // file. What members send is merged with the file when it is written.
            self.import_file().await?;
        }
        let before = self.document();
        let jobs = self.jobs(batch).await?;
        let mut plan = self.plan(jobs).await?;
        let revisions = std::mem::take(&mut plan.revisions);
        if revisions.is_empty() {
            return Ok(Done { before, plan, infos: Vec::new() });
        }
        let infos = self.commit(revisions, plan.draft.source.clone()).await?;
        Ok(Done { before, plan, infos })
    }

    async fn plan(&self, jobs: Vec<Job>) -> Result<Plan, Failure> {
        let draft = self.draft().ok_or(Failure::Overtaken)?;
        let text = draft.source.as_ref().map_or(0, |source| source.text().len());
        let bytes: usize = jobs.iter().map(Job::bytes).sum();
        if bytes + text < LARGE {
            return Ok(plan(draft, &jobs));
        }
        let planned = tokio::task::spawn_blocking(move || plan(draft, &jobs)).await;
        planned.map_err(|_| Failure::Error(PromptsError::Closed))
    }

    fn draft(&self) -> Option<Draft> {
        let loaded = self.loaded.as_ref()?;
        let document = loaded.document.as_ref();
        Some(Draft {
            newest: loaded.newest,
            rev: loaded.rev,
            source: document.map(|document| (*document.source).clone()),
            path: self.place.path.clone(),
            max_content: self.state.options.max_content,
            is_read_only: self.state.options.is_read_only,
            problem: self.read_problem().cloned(),
        })
    }

    /// Reads from the store what is needed to plan the changes.
    async fn jobs(&self, batch: &[Change]) -> Result<Vec<Job>, Failure> {
        let mut jobs = Vec::with_capacity(batch.len());
        for (place, change) in batch.iter().enumerate() {
            let wanted = match &change.wanted {
                Wanted::Submit(submission) => {
                    let base = self.base(submission, &batch[..place], change).await?;
                    JobKind::Submit(SubmitJob {
                        content: submission.content.clone(),
                        metadata: submission.metadata.clone(),
                        base,
                        on_conflict: submission.on_conflict,
                        expected_rev: submission.expected_rev,
                    })
                }
                Wanted::Restore(revision) => JobKind::Restore(self.old_text(revision).await?),
                Wanted::Create(source) => JobKind::Create(source.clone()),
                Wanted::Delete => JobKind::Delete,
                Wanted::Undelete => JobKind::Undelete(self.last_text().await?),
            };
            jobs.push(Job { wanted, author: self.author(change), op: change.op.clone() });
        }
        Ok(jobs)
    }

    async fn base(
        &self,
        submission: &Submission,
        earlier: &[Change],
        change: &Change,
    ) -> Result<BaseText, Failure> {
        Ok(match (&submission.base, change.member, &self.room) {
            (Base::Rev(number), _, _) => {
                BaseText::Revision(*number, self.content_at(*number).await?)
            }
            (_, Some(member), Some(room)) => {
                let own = |(_, other): &(usize, &Change)| other.member == Some(member);
                let own = earlier.iter().enumerate().filter(own).map(|(place, _)| place);
                BaseText::Seen(room.seen(member), own.collect())
            }
            (Base::Inferred(texts), _, _) => {
                let seen = texts.iter().cloned().map(SeenText::Submitted);
                BaseText::Seen(seen.collect(), Vec::new())
            }
            (Base::Replace, _, _) => BaseText::Current,
        })
    }

    /// The content of a revision; `None` if there is none.
    async fn content_at(&self, number: u64) -> Result<Option<Arc<str>>, Failure> {
        if let Some(content) = self.loaded.as_ref().and_then(|loaded| loaded.recent.content(number))
        {
            return Ok(Some(content));
        }
        let revision = self.state.store.revision(&self.place.key, number).await?;
        Ok(revision.map(|revision| {
            let text = revision.text.unwrap_or_default();
            self.place.source(&text).content().into()
        }))
    }

    /// The whole text of a revision.
    async fn old_text(
        &self,
        revision: &RevisionName,
    ) -> Result<Result<Arc<str>, Refusal>, Failure> {
        let found = self.state.revision(&self.place.key, revision).await?;
        let text = found.and_then(|revision| revision.text);
        Ok(text.ok_or_else(|| Refusal::NoRevision(revision.to_string())))
    }

    /// The last text of a deleted document.
    async fn last_text(&self) -> Result<Option<Arc<str>>, Failure> {
        let key = &self.place.key;
        let mut before = None;
        loop {
            let log = self.state.store.log(key, before, MAX_CHANGES).await?;
            let Some(oldest) = log.last() else { return Ok(None) };
            let last = log.iter().find(|info| info.is_applied && !info.is_deletion());
            if let Some(last) = last {
                let revision = self.state.store.revision(key, last.number).await?;
                return Ok(revision.and_then(|revision| revision.text));
            }
            before = Some(oldest.number);
        }
    }

    fn author(&self, change: &Change) -> String {
        let own = change.author.as_deref().map(short_label).filter(|author| !author.is_empty());
        let label = || {
            let room = self.room.as_ref()?;
            room.label(change.member?).map(str::to_owned)
        };
        own.or_else(label).unwrap_or_default()
    }
}

impl Change {
    /// Whether the answer promises that the file is written. Only members do not wait for that.
    fn waits_for_file(&self) -> bool {
        self.member.is_none()
    }
}

impl Wanted {
    fn bytes(&self) -> usize {
        match self {
            Self::Submit(submission) => submission.content.as_ref().map_or(0, Content::bytes),
            Self::Create(source) => source.text().len(),
            Self::Restore(_) | Self::Delete | Self::Undelete => 0,
        }
    }
}
