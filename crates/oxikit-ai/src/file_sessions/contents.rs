//! Writing a snapshot's file in the layout of the directory.

use std::collections::HashSet;
use std::io;

use oxikit_core::ports::StoreError;
use oxikit_core::ports::delta::json_size;
use oxikit_wire::SessionSnapshot;

use super::choice::FileLayout;
use super::disk::{self, Stamp, failure};
use super::draft::Draft;
use super::files::Files;
use super::index::session_of;
use super::layout::Place;
use super::pieces::{Content, Loaded};
use super::record::Record;

/// A snapshot on its way to the disk.
#[derive(Debug)]
pub(super) enum Plan {
    /// A file with all of it.
    Whole(Vec<u8>),
    /// A file that says where its content is, and how many bytes its other members have.
    Parts(Box<Draft>, usize),
}

impl Plan {
    /// Upper bound of the bytes of the snapshot as JSON.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Parts(draft, head) => draft.bytes() + *head as u64,
        }
    }

    /// Bytes by which the session grows.
    pub(super) fn added_bytes(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Parts(draft, head) => draft.added_bytes() + *head as u64,
        }
    }

    /// The part of [`added_bytes`](Self::added_bytes) that is not in the snapshot's own file.
    pub(super) fn elsewhere(&self) -> u64 {
        match self {
            Self::Whole(_) => 0,
            Self::Parts(draft, _) => draft.added_bytes(),
        }
    }
}

impl Files {
    /// Determines the bytes to write. Nothing is written yet, so that the size limits can be
    /// checked first. `previous` is the row as it was.
    pub(super) fn plan(
        &self,
        place: &Place,
        snapshot: &SessionSnapshot,
        previous: Option<&Loaded>,
    ) -> Result<Plan, StoreError> {
        let plan = || match self.layout {
            FileLayout::Official => Ok(Plan::Whole(serde_json::to_vec_pretty(snapshot)?)),
            FileLayout::Segments => {
                let parent = self.parent(place, snapshot);
                let is_ours =
                    |base: &Loaded| session_of(&base.snapshot) == Some(place.session.as_str());
                let parent = parent.as_ref().filter(|parent| is_ours(parent));
                let bases: Vec<_> = previous.into_iter().chain(parent).collect();
                let draft = Draft::new(snapshot, &bases, &place.pieces())?;
                let head = json_size(draft.head())?;
                Ok(Plan::Parts(Box::new(draft), head))
            }
        };
        plan().map_err(|error: io::Error| match error.kind() {
            io::ErrorKind::InvalidData => {
                StoreError::Damaged(snapshot.snapshot_id.clone(), Box::new(error))
            }
            _ => failure(&snapshot.snapshot_id, error),
        })
    }

    /// The snapshot that this one names as its parent, if it can be read.
    pub(super) fn parent(&self, place: &Place, snapshot: &SessionSnapshot) -> Option<Loaded> {
        let parent = snapshot.parent_id.as_ref().filter(|id| **id != snapshot.snapshot_id)?;
        self.load(&place.folder, parent).ok().flatten()
    }

    /// Writes the content and then the file that refers to it: a crash between the two leaves
    /// content that no file refers to. Returns where the content is, if it has a file of its own.
    pub(super) fn write_snapshot(
        &self,
        place: &Place,
        id: &str,
        plan: &Plan,
        is_new: bool,
    ) -> Result<(Stamp, Option<Content>), StoreError> {
        let path = place.folder.snapshot(id)?;
        let write = || {
            let (stub, content) = match plan {
                Plan::Whole(_) => (Vec::new(), None),
                Plan::Parts(draft, _) => {
                    let pieces = place.pieces();
                    pieces.make_folder()?;
                    let content = draft.write(&pieces)?;
                    (content.stub(draft.head())?, Some(content))
                }
            };
            let bytes = if let Plan::Whole(bytes) = plan { bytes } else { &stub };
            let stamp = match is_new {
                true => self.writer.create(&path, bytes)?,
                false => self.writer.replace(&path, bytes)?,
            };
            Ok((stamp, content))
        };
        write().map_err(|error: io::Error| match error.kind() {
            // A snapshot id is unique in its folder, also among sessions.
            io::ErrorKind::AlreadyExists => StoreError::Exists(id.to_owned()),
            _ => failure(id, error),
        })
    }

    /// Removes the files of these snapshots.
    pub(super) fn remove_snapshots(
        &self,
        place: &Place,
        snapshots: &[String],
    ) -> Result<(), StoreError> {
        for id in snapshots {
            let path = place.folder.snapshot(id)?;
            disk::remove(&path).map_err(|error| failure(id, error))?;
        }
        if snapshots.is_empty() {
            return Ok(());
        }
        disk::sync_folder(&place.folder.path).map_err(|error| failure(&place.session, error))
    }

    /// Removes content that was in use before, and is not by what the record has now.
    pub(super) fn remove_pieces(
        &self,
        place: &Place,
        before: &HashSet<u64>,
        record: &Record,
    ) -> Result<(), StoreError> {
        if before.is_subset(&record.pieces()) {
            return Ok(());
        }
        // A snapshot that a dead process did not note may use it.
        let used = self.adopt(place)?.pieces();
        let removed = place.pieces().remove(before.difference(&used).copied());
        removed.map_err(|error| failure(&place.session, error))
    }
}
