//! [`RevisionStore`] for the file of a project.
//!
//! A log is a short row with its newest number, and a row per revision. A write is refused if the
//! newest number is not the one that its caller has seen. In a damaged file, reads that meet a
//! damaged page are made again around it (`damaged`).

mod damaged;
mod rows;
mod salvage;

use std::collections::BTreeMap;

use async_trait::async_trait;
use oxikit_core::ports::{
    DocumentHead, NewRevision, Notifier, Revision, RevisionInfo, RevisionStore, StoreError,
    check_revision_name,
};
use rusqlite::Connection;

use super::SqliteProject;
use crate::tasks::column_number;
use oxikit_sqlite::damage::{REPAIR, Reason};
use oxikit_sqlite::failure::{Failure, Outcome};
use oxikit_sqlite::writer::{Durability, Txn};

pub(super) use salvage::save;

#[async_trait]
impl RevisionStore for SqliteProject {
    async fn append(
        &self,
        document: &str,
        expected: u64,
        revisions: Vec<NewRevision>,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        check_revision_name(document)?;
        let revisions = NewRevision::number_all(expected, revisions)?;
        let infos = revisions.iter().map(|revision| revision.info.clone()).collect();
        let (name, expected) = (document.to_owned(), column_number(expected));
        self.write(document, move |txn| rows::append(txn, &name, expected, &revisions)).await?;
        Ok(infos)
    }

    async fn head(&self, document: &str) -> Result<Option<(u64, Revision)>, StoreError> {
        self.read(document, rows::head, damaged::head).await
    }

    async fn revision(&self, document: &str, number: u64) -> Result<Option<Revision>, StoreError> {
        let number = column_number(number);
        let read = move |file: &Connection, name: &str| rows::revision(file, name, number);
        let rest = move |file: &Connection, name: &str| damaged::revision(file, name, number);
        self.read(document, read, rest).await
    }

    async fn log(
        &self,
        document: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        let before = before.map_or(i64::MAX, column_number);
        let read = move |file: &Connection, name: &str| {
            rows::log(file, name, before, column_number(limit as u64))
        };
        let rest = move |file: &Connection, name: &str| damaged::log(file, name, before, limit);
        self.read(document, read, rest).await
    }

    async fn find_op(
        &self,
        document: &str,
        op: &str,
        since: i64,
    ) -> Result<Option<RevisionInfo>, StoreError> {
        let (op, of_rest) = (op.to_owned(), op.to_owned());
        let read = move |file: &Connection, name: &str| rows::find_op(file, name, &op);
        let rest = move |file: &Connection, name: &str| damaged::find_op(file, name, &of_rest);
        let found = self.read(document, read, rest).await?;
        Ok(found.filter(|info| info.at >= since))
    }

    async fn documents(&self) -> Result<Vec<DocumentHead>, StoreError> {
        let read = |file: &Connection, _: &str| rows::documents(file);
        let rest = |file: &Connection, _: &str| damaged::documents(file);
        self.read("the documents", read, rest).await
    }

    async fn rename(
        &self,
        from: &str,
        to: &str,
        expected: u64,
        revision: NewRevision,
    ) -> Result<RevisionInfo, StoreError> {
        check_revision_name(to)?;
        let revisions = NewRevision::number_all(expected, vec![revision])?;
        let info = revisions[0].info.clone();
        let (old, new, expected) = (from.to_owned(), to.to_owned(), column_number(expected));
        let rename = move |txn: &Txn<'_>| rows::rename(txn, &old, &new, expected, &revisions);
        match self.0.writer.run(Durability::Synced, rename).await {
            // Of the two names, this one is affected.
            Err(Failure::Exists) => Err(StoreError::Exists(to.to_owned())),
            done => done.map(|()| info).map_err(|failure| self.revision_error(from, failure)),
        }
    }

    async fn set_label(
        &self,
        document: &str,
        label: &str,
        number: Option<u64>,
    ) -> Result<(), StoreError> {
        check_revision_name(label)?;
        let (name, label) = (document.to_owned(), label.to_owned());
        let Some(number) = number else {
            return self.write(document, move |txn| rows::remove_label(txn, &name, &label)).await;
        };
        let of_column = column_number(number);
        let set = move |txn: &Txn<'_>| rows::set_label(txn, &name, &label, of_column);
        self.write(&format!("{document}@{number}"), set).await
    }

    async fn labels(&self, document: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        let rest = |_: &Connection, _: &str| Err(Failure::Damaged("a page of the labels"));
        self.read(document, rows::labels, rest).await
    }

    fn notifier(&self) -> &dyn Notifier {
        &*self.0.notifier
    }
}

impl SqliteProject {
    /// Reads about a document. `rest` reads around damaged pages, if `read` has met one.
    async fn read<T: Send + 'static>(
        &self,
        document: &str,
        read: impl FnOnce(&Connection, &str) -> Outcome<T> + Send + 'static,
        rest: impl FnOnce(&Connection, &str) -> Outcome<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (name, health) = (document.to_owned(), self.0.health.clone());
        let read =
            move |file: &Connection| health.or_else(&name, read(file, &name), || rest(file, &name));
        let done = self.0.readers.run(read).await;
        done.map_err(|failure| self.revision_error(document, failure))
    }

    /// Writes in a transaction that is on the disk when it is answered.
    async fn write(
        &self,
        what: &str,
        work: impl FnMut(&Txn<'_>) -> Outcome<()> + Send + 'static,
    ) -> Result<(), StoreError> {
        let done = self.0.writer.run(Durability::Synced, work).await;
        done.map_err(|failure| self.revision_error(what, failure))
    }

    /// The failure as an error of the port. Damage is logged the first time.
    fn revision_error(&self, what: &str, failure: Failure) -> StoreError {
        if !failure.is_damage() {
            return failure.about(what);
        }
        self.0.health.record_damage(what, &Reason(&failure));
        let text = format!("the database of the project is damaged; {REPAIR}");
        StoreError::Damaged(what.to_owned(), text.into())
    }
}
