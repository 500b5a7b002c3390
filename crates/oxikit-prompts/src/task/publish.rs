//! Tells everybody about a change: the index, the feed, the members, and the documents that include
//! this one.

use std::collections::BTreeSet;
use std::sync::Arc;

use oxikit_wire::close_code;
use oxikit_wire::prompts::{ChangeKind, UpdateReason};

use super::DocumentTask;
use crate::document::Document;
use crate::error::kind_name;
use crate::index::{Deleted, NewId};
use crate::room::{Snapshot, UpToDate};

impl DocumentTask {
    /// Puts the document as it is now into the index and the feed. `before` is the one that was
    /// there.
    pub(super) fn publish_to_index(&mut self, before: Option<&Arc<Document>>) {
        let mut dependents = self.dependents(before);
        let problem = self.problem();
        let Some(loaded) = &mut self.loaded else { return };
        let new_ids = match &loaded.document {
            Some(document) => {
                let mut document = Document::clone(document);
                document.problem = problem;
                let put = self.state.change_index(|index| index.put(document));
                let (document, new_ids) = put;
                let change =
                    if before.is_some() { ChangeKind::Updated } else { ChangeKind::Created };
                self.state.changes.report(change, &document);
                loaded.document = Some(document);
                new_ids
            }
            None => {
                let (key, rev, newest) = (&self.place.key, loaded.rev, loaded.newest);
                let at = oxikit_core::timestamp::now_millis();
                let deleted = (newest > 0).then(|| Deleted { key: key.clone(), rev, at });
                let new_ids = self.state.change_index(|index| index.remove(key, deleted));
                if let Some(before) = before {
                    self.state.changes.report(ChangeKind::Deleted, before);
                }
                new_ids
            }
        };
        self.publish_ids(&new_ids);
        // A new document may be the one that others have waited for.
        dependents.extend(self.dependents(before));
        let document = self.document();
        if let Some(changed) = document.as_ref().or(before) {
            for key in &dependents {
                self.tasks.dependency_changed(key, &changed.id, changed.rev);
            }
        }
    }

    /// Other documents got other ids, because this one came or went.
    pub(super) fn publish_ids(&self, new_ids: &[NewId]) {
        for NewId { old_id, document } in new_ids {
            self.state.changes.report_rename(old_id, document);
            self.tasks.id_changed(&document.key);
        }
    }

    /// Tells the members about the document as it is now. Those of a deleted one are closed.
    pub(super) fn publish_to_room(
        &mut self,
        before: Option<Arc<Document>>,
        reason: UpdateReason,
        up_to_date: &UpToDate,
    ) {
        match (before, self.document()) {
            (Some(before), Some(document)) => {
                if let Some(room) = &mut self.room {
                    room.announce(Snapshot::after(before, document, reason), up_to_date);
                }
            }
            (Some(before), None) => {
                let reason = format!("{} '{}' not found", kind_name(before.kind), before.id);
                self.close_room(close_code::NOT_FOUND, &reason);
            }
            (None, _) => {}
        }
    }

    /// The documents that include this one, if its text has changed.
    fn dependents(&self, before: Option<&Arc<Document>>) -> BTreeSet<String> {
        let is_same = match (before, &self.document()) {
            (Some(before), Some(document)) => before.body() == document.body(),
            (None, None) => true,
            _ => false,
        };
        let index = self.state.index();
        if is_same || !index.is_referenced(&self.place.key) {
            return BTreeSet::new();
        }
        let users = index.referenced_by(&self.place.key);
        users.iter().map(|document| document.key.clone()).collect()
    }

    /// The index has another id for this document.
    pub(super) fn take_id(&mut self) {
        let index = self.state.index();
        let (Some(loaded), Some(named)) = (&mut self.loaded, index.document(&self.place.key))
        else {
            return;
        };
        let Some(document) = loaded.document.take() else { return };
        if document.id == named.id {
            loaded.document = Some(document);
            return;
        }
        let renamed = Arc::new(Document { id: named.id.clone(), ..Document::clone(&document) });
        loaded.document = Some(renamed.clone());
        if let Some(room) = &mut self.room {
            let snapshot = Snapshot::after(document, renamed.clone(), UpdateReason::Edit);
            room.announce(snapshot, &UpToDate::default());
            room.renamed(&renamed.id);
        }
    }

    /// What is wrong with the file.
    fn problem(&self) -> Option<String> {
        let disk = self.loaded.as_ref().and_then(|loaded| loaded.disk.problem.as_ref());
        disk.or(self.write_problem()).cloned()
    }

    /// Shows in the index that the file has a problem, or none any more.
    pub(super) fn publish_problem(&mut self) {
        let problem = self.problem();
        let Some(loaded) = &mut self.loaded else { return };
        if let Some(problem) = &problem {
            tracing::warn!(document = %self.place.key, %problem, "prompt file cannot be used");
        }
        match &loaded.document {
            Some(document) => {
                let document = Document { problem, ..Document::clone(document) };
                let (document, _) = self.state.change_index(|index| index.put(document));
                loaded.document = Some(document);
            }
            None => {
                let key = &self.place.key;
                self.state.change_index(|index| index.set_problem(key, problem));
            }
        }
    }
}
