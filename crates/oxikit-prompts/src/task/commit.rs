//! The store: appending revisions, and taking over what other processes have stored.

use std::sync::Arc;

use oxikit_core::ports::{NewRevision, Revision, RevisionInfo, RevisionKind};
use oxikit_wire::prompts::UpdateReason;

use super::{DocumentTask, Failure, Loaded, MAX_ATTEMPTS};
use crate::document::Document;
use crate::error::PromptsError;
use crate::room::UpToDate;
use crate::source::Source;

impl DocumentTask {
    /// Compares the document with the store and its file, and takes over what is new. Answers the
    /// current document.
    pub(super) async fn check(&mut self) -> Result<Option<Arc<Document>>, PromptsError> {
        self.load().await?;
        for _ in 0..MAX_ATTEMPTS {
            match self.try_check().await {
                Ok(()) => return Ok(self.document()),
                Err(Failure::Overtaken) => {}
                Err(Failure::Error(error)) => return Err(error),
            }
        }
        Err(Failure::Overtaken.into())
    }

    async fn try_check(&mut self) -> Result<(), Failure> {
        self.sync().await?;
        self.import_file().await?;
        self.finish_file().await
    }

    /// Takes over revisions that other processes have stored.
    pub(super) async fn sync(&mut self) -> Result<(), Failure> {
        let Some(loaded) = &self.loaded else { return Ok(()) };
        self.sync_at = None;
        let newest = self.state.store.log(&self.place.key, None, 1).await?;
        let newest = newest.first().map_or(0, |info| info.number);
        if newest == loaded.newest {
            return Ok(());
        }
        let mut head = self.state.store.head(&self.place.key).await?;
        if head.is_none() && self.follow_move().await? {
            head = self.state.store.head(&self.place.key).await?;
        }
        match head {
            Some((newest, revision)) => self.take_over(newest, revision),
            None => return Err(self.log_is_gone()),
        }
        Ok(())
    }

    fn take_over(&mut self, newest: u64, revision: Revision) {
        let before = self.document();
        let Some(loaded) = &mut self.loaded else { return };
        loaded.newest = newest;
        if loaded.rev == revision.info.number {
            return;
        }
        loaded.rev = revision.info.number;
        let source = revision.text.as_deref().map(|text| self.place.source(text));
        let created_at = loaded.created_at;
        let document = source.map(|source| self.place.document(source, &revision.info, created_at));
        loaded.set_document(document.map(Arc::new));
        self.publish_to_index(before.as_ref());
        self.publish_to_room(before, reason(revision.info.kind), &UpToDate::default());
    }

    /// The log was moved to a name that is not known here: this document has ended.
    fn log_is_gone(&mut self) -> Failure {
        let before = self.document();
        if let Some(loaded) = &mut self.loaded {
            (loaded.newest, loaded.rev, loaded.document) = (0, 0, None);
        }
        self.publish_to_index(before.as_ref());
        self.publish_to_room(before, UpdateReason::Edit, &UpToDate::default());
        self.not_found().into()
    }

    /// Stores revisions. `source` is the text after them; `None` if the document does not exist then.
    /// The index and the members are not told, and the file is written later; only that of a new
    /// document is prepared before.
    pub(super) async fn commit(
        &mut self,
        revisions: Vec<NewRevision>,
        source: Option<Source>,
    ) -> Result<Vec<RevisionInfo>, Failure> {
        let is_applied = revisions.iter().any(|revision| revision.is_applied);
        if let Some(source) = source.as_ref().filter(|_| is_applied) {
            self.prepare_new(source).await?;
        }
        let Some(loaded) = &mut self.loaded else { return Err(Failure::Overtaken) };
        let mark = self.subscription.mark();
        let appended = self.state.store.append(&self.place.key, loaded.newest, revisions).await;
        let infos = match appended {
            Ok(infos) => infos,
            Err(error) => {
                // The revisions may be stored although the answer was lost.
                self.sync_at.get_or_insert_with(tokio::time::Instant::now);
                // Its temporary file must not stay until the next write.
                self.saving.drop_prepared();
                return Err(error.into());
            }
        };
        self.sync_at = None;
        // The store has refused revisions that do not follow the ones which are loaded: before this
        // change there was none of others.
        self.subscription.skip_own(mark);
        loaded.take(&infos);
        let applied = infos.iter().rev().find(|info| info.is_applied);
        if let Some(info) = applied {
            let created_at = loaded.created_at;
            let document = source.map(|source| self.place.document(source, info, created_at));
            loaded.set_document(document.map(Arc::new));
            self.want_file();
        }
        Ok(infos)
    }
}

impl Loaded {
    /// Records revisions that were stored.
    fn take(&mut self, infos: &[RevisionInfo]) {
        if let Some(first) = infos.first().filter(|_| self.newest == 0) {
            self.created_at = first.at;
        }
        self.newest = infos.last().map_or(self.newest, |info| info.number);
        let applied = infos.iter().rev().find(|info| info.is_applied);
        self.rev = applied.map_or(self.rev, |info| info.number);
    }

    pub(super) fn set_document(&mut self, document: Option<Arc<Document>>) {
        if let Some(document) = &document {
            self.recent.push(document.clone());
        }
        self.document = document;
    }
}

/// The reason of a broadcast for a revision.
pub(super) fn reason(kind: RevisionKind) -> UpdateReason {
    match kind {
        RevisionKind::Merge => UpdateReason::Merge,
        RevisionKind::External => UpdateReason::External,
        RevisionKind::Restore => UpdateReason::Restore,
        RevisionKind::Edit
        | RevisionKind::Metadata
        | RevisionKind::Rename
        | RevisionKind::Delete
        | RevisionKind::Refused => UpdateReason::Edit,
    }
}
