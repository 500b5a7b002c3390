//! The answers to the changes of a batch, and what everybody else is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::timestamp::now_millis;
use oxikit_wire::prompts::{ErrorInfo, ServerMessage, UpdateStatus};

use super::DocumentTask;
use super::batch::Done;
use super::commit::reason;
use super::input::{Change, Wanted};
use super::job::{JobResult, Plan};
use super::outcome::Refusal;
use crate::document::{Document, time_text};
use crate::error::PromptsError;
use crate::requests::{Base, Submission, Submitted};
use crate::room::UpToDate;
use crate::wire_form;

impl DocumentTask {
    /// Tells everybody about a batch, and returns the answers. Authors that are sent a content are
    /// answered before it. The others are answered last: they have what they wrote, and the readers need
    /// not wait for them.
    pub(super) fn announce(
        &mut self,
        batch: &[Change],
        done: Done,
    ) -> Vec<Result<Submitted, PromptsError>> {
        let Done { before, plan, infos } = done;
        let rev = |document: &Arc<Document>| document.rev;
        if self.document().as_ref().map(rev) != before.as_ref().map(rev) {
            self.publish_to_index(before.as_ref());
        }
        let up_to_date = self.up_to_date(batch, &plan);
        let mut answers = Vec::with_capacity(batch.len());
        for (change, result) in batch.iter().zip(plan.results) {
            if let (Some(room), Some(member), Some(sent)) =
                (&self.room, change.member, &result.sent)
            {
                room.submitted(member, sent);
            }
            let at = result.revision.and_then(|place| infos.get(place)).map(|info| info.at);
            let answer = self.answer_to(change, result, at.unwrap_or_else(now_millis));
            if !up_to_date.has_content(change) {
                self.reply_status(change, &answer);
            }
            answers.push(answer);
        }
        let kind = infos.iter().rev().find(|info| info.is_applied).map(|info| info.kind);
        if let Some(kind) = kind {
            self.publish_to_room(before, reason(kind), &up_to_date);
        }
        for (change, answer) in batch.iter().zip(&answers) {
            if up_to_date.has_content(change) {
                self.reply_status(change, answer);
            }
        }
        self.resend(batch, &answers, &up_to_date, kind.is_some());
        answers
    }

    /// The members who have the new state already: their last submission is the current content, and
    /// no change of others was on its way to them.
    fn up_to_date(&self, batch: &[Change], plan: &Plan) -> UpToDate {
        let mut up_to_date = UpToDate::default();
        let (Some(room), Some(source)) = (&self.room, &plan.draft.source) else {
            return up_to_date;
        };
        let mut sent: BTreeMap<_, (bool, Option<&JobResult>)> = BTreeMap::new();
        for (change, result) in batch.iter().zip(&plan.results) {
            let Some(member) = change.member else { continue };
            let (is_direct, last) = sent.entry(member).or_insert((true, None));
            *is_direct &= result.is_direct;
            // A client that names its revision has the content of that revision.
            *is_direct &= change.wanted.names_revision() || !room.has_change_on_its_way(member);
            if result.sent.is_some() {
                *last = Some(result);
            } else if result.outcome.is_ok() {
                up_to_date.metadata.insert(member);
            }
        }
        for (member, (is_direct, last)) in sent {
            let has_content =
                last.is_some_and(|last| last.sent.as_deref() == Some(source.content()));
            if is_direct && has_content {
                up_to_date.content.insert(member);
            }
        }
        if up_to_date.metadata.len() > 1 {
            // Several have changed the metadata: each is told the result.
            up_to_date.metadata.clear();
        }
        up_to_date
    }

    /// Sends the current content to authors that do not have it, although nothing has changed for
    /// the others.
    fn resend(
        &mut self,
        batch: &[Change],
        answers: &[Result<Submitted, PromptsError>],
        up_to_date: &UpToDate,
        was_announced: bool,
    ) {
        let Some(room) = &mut self.room else { return };
        for (change, answer) in batch.iter().zip(answers) {
            let Some(member) = change.member else { continue };
            let is_needed = match answer {
                Ok(submitted) => {
                    !was_announced && submitted.merged && !up_to_date.content.contains(&member)
                }
                Err(PromptsError::Conflict { .. } | PromptsError::Changed { .. }) => true,
                Err(_) => false,
            };
            if is_needed {
                room.resend(member);
            }
        }
    }

    fn answer_to(
        &self,
        change: &Change,
        result: JobResult,
        at: i64,
    ) -> Result<Submitted, PromptsError> {
        let refusal = match result.outcome {
            Ok(outcome) => return outcome.answer(at),
            Err(refusal) => refusal,
        };
        let id =
            self.document().map_or_else(|| self.place.path.clone(), |document| document.id.clone());
        let max = self.state.options.max_content;
        Err(match (refusal, self.document()) {
            (Refusal::Conflict(conflicts), Some(document)) => {
                PromptsError::Conflict { document, conflicts }
            }
            (Refusal::Changed, Some(document)) => PromptsError::Changed { document },
            (Refusal::Exists, _) => PromptsError::Exists(id),
            (Refusal::ReadOnly, _) => PromptsError::ReadOnly,
            (Refusal::TooLarge(bytes), _) => PromptsError::TooLarge { bytes, max },
            (Refusal::NoRevision(revision), _) => PromptsError::NoRevision { id, revision },
            (Refusal::Invalid(message), _) => PromptsError::Invalid(message),
            (Refusal::File(message), _) => PromptsError::File(message),
            (Refusal::NotFound | Refusal::Conflict(_) | Refusal::Changed, _) => {
                tracing::debug!(document = %self.place.key, op = ?change.op, "change of a deleted document refused");
                self.not_found()
            }
        })
    }

    /// Answers all changes with the same error.
    pub(super) fn answer_all(&mut self, batch: Vec<Change>, error: &PromptsError) {
        tracing::warn!(document = %self.place.key, %error, "changes of a document not stored");
        for change in batch {
            let answer =
                Err(PromptsError::Repeated { code: error.code(), message: error.to_string() });
            self.reply_status(&change, &answer);
            _ = change.reply.send(answer);
        }
    }

    /// Sends `update_status` to the member that has sent a change.
    pub(super) fn reply_status(
        &mut self,
        change: &Change,
        answer: &Result<Submitted, PromptsError>,
    ) {
        let (Some(room), Some(member)) = (&mut self.room, change.member) else { return };
        let op = change.op.clone();
        let status = match answer {
            Ok(submitted) => UpdateStatus {
                success: true,
                timestamp: time_text(submitted.at),
                rev: Some(submitted.rev),
                hash: Some(submitted.hash.clone()),
                op,
                merged: Some(submitted.merged),
                conflicts: submitted.conflicts.iter().cloned().map(wire_form::conflict).collect(),
                error: None,
            },
            Err(error) => UpdateStatus {
                success: false,
                timestamp: time_text(now_millis()),
                op,
                error: Some(ErrorInfo { code: error.code(), message: error.to_string() }),
                ..UpdateStatus::default()
            },
        };
        room.reply(member, &ServerMessage::UpdateStatus(status));
        if let Ok(Submitted { rev, merged: false, .. }) = answer {
            room.acknowledged(member, *rev);
        }
    }
}

impl UpToDate {
    /// Whether the author of a change has the content after it.
    fn has_content(&self, change: &Change) -> bool {
        change.member.is_some_and(|member| self.content.contains(&member))
    }
}

impl Wanted {
    /// Whether the author has named the revision that it has changed.
    fn names_revision(&self) -> bool {
        matches!(self, Self::Submit(Submission { base: Base::Rev(_), .. }))
    }
}
