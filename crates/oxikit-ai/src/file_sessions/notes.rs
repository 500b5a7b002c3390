//! The files beside the snapshots of a session: its record, its pointer, and the fences of deleted
//! sessions.

use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::ports::StoreError;
use serde::{Deserialize, Serialize};

use super::disk::{self, failure};
use super::files::Files;
use super::index;
use super::layout::{FENCES, OURS, Place};
use super::locks::number_of;
use super::record::{Record, Row};

/// The content of a pointer, as official stores write it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pointer {
    current_snapshot_id: String,
    updated_at: String,
}

impl Files {
    /// The record of the session. A damaged record counts as none, but the fences of its leases
    /// must not be used again, so numbering goes on from the seconds since 1970.
    pub(super) fn record(&self, place: &Place) -> Result<Option<Record>, StoreError> {
        Ok(self.journals.read(&place.record()).map(|journal| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let lost = |()| Record { fence: now.as_secs(), ..Record::default() };
            journal.map_or_else(lost, |journal| journal.record)
        }))
    }

    pub(super) fn record_or_new(&self, place: &Place) -> Result<Record, StoreError> {
        match self.record(place)? {
            Some(record) => Ok(record),
            None => Ok(Record { fence: self.fence_floor(place), ..Record::default() }),
        }
    }

    pub(super) fn write_record(&self, place: &Place, record: &Record) -> Result<(), StoreError> {
        let written = self.journals.write(&place.record(), record, &self.writer);
        let mark = |is_added| if is_added { disk::touch(&place.folder.mark()) } else { Ok(()) };
        let marked = written.and_then(mark);
        marked.map_err(|error| failure(&place.session, error))
    }

    /// Removes the record; leases to come have greater numbers all the same.
    pub(super) fn remove_record(&self, place: &Place, record: &Record) -> Result<(), StoreError> {
        let floor = self.fence_floor(place).max(record.fence);
        let remove = || {
            self.writer.replace(&self.fence_path(place), floor.to_string().as_bytes())?;
            disk::remove(&place.record())?;
            disk::sync_folder(&place.folder.records())
        };
        remove().map_err(|error| failure(&place.session, error))
    }

    /// The snapshot that the session's pointer names.
    pub(super) fn pointer(&self, place: &Place) -> Option<String> {
        let pointer = index::read_json::<Pointer>(&place.pointer())?.ok()?;
        Some(pointer.current_snapshot_id)
    }

    /// Points to this snapshot. It is a shortcut for official readers: if it cannot
    /// be written, they look for themselves.
    pub(super) fn write_pointer(&self, place: &Place, row: &Row) {
        let pointer = Pointer {
            current_snapshot_id: row.id.clone(),
            updated_at: row.outline.updated_at().to_owned(),
        };
        let bytes = serde_json::to_vec_pretty(&pointer).map_err(io::Error::from);
        let written = bytes.and_then(|bytes| self.writer.replace(&place.pointer(), &bytes));
        if let Err(error) = written {
            tracing::warn!(session = place.session, %error, "pointer is not written");
        }
    }

    /// The greatest number of a lease of a session that is gone.
    fn fence_floor(&self, place: &Place) -> u64 {
        let read = disk::read(&self.fence_path(place));
        let text = read.ok().flatten().and_then(|found| String::from_utf8(found.bytes).ok());
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    /// Sessions share these files, as they do locks.
    fn fence_path(&self, place: &Place) -> PathBuf {
        let number = number_of(&place.folder.name, &place.session);
        self.root().join(OURS).join(FENCES).join(format!("{number:02}"))
    }
}
