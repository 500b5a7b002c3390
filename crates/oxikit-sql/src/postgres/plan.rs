//! The rows of a write: a draft together with the numbers that its new rows get.
//!
//! Numbers are reserved before, in blocks, so that rows which refer to each other can be written
//! in one statement.

use crate::documents::{Custom, NewCustom};
use crate::draft::{Draft, NewArtifact};
use crate::known::{Content, Document, Head, Known, Messages};

/// All rows of a write.
#[derive(Debug)]
pub(super) struct Plan {
    /// The number of the snapshot's row.
    pub(super) number: i64,
    /// The new revision of the snapshot.
    pub(super) revision: i64,
    /// The columns of the snapshot's row.
    pub(super) head: Head,
    /// The content as it will be after the write. If messages are added, the write decides which
    /// segment has them.
    pub(super) content: Content,
    /// The segment of which messages are kept; `None` if none are.
    pub(super) segment: Option<i64>,
    /// Number of kept messages; `None` if the snapshot has no list of messages.
    pub(super) kept: Option<i64>,
    /// JSON of the added messages.
    pub(super) added: Option<Vec<String>>,
    /// The number of the segment that is begun if the other one cannot grow.
    pub(super) new_segment: i64,
    /// The documents to be written.
    pub(super) documents: NewDocuments,
    /// The segment that the row had before. It is removed if no other row uses it.
    pub(super) previous_segment: Option<i64>,
    /// Documents that the row had before and does not have any more.
    pub(super) previous: Vec<i64>,
    /// Number of bytes by which the session grows.
    pub(super) growth: i64,
}

/// Documents to be written, as three arrays for the statement.
#[derive(Debug, Default)]
pub(super) struct NewDocuments {
    pub(super) numbers: Vec<i64>,
    /// The document that a patch applies to; `None` for a whole text.
    pub(super) bases: Vec<Option<i64>>,
    pub(super) texts: Vec<String>,
}

impl NewDocuments {
    /// Adds a document and returns its number.
    fn add(&mut self, number: i64, base: Option<i64>, text: String) -> i64 {
        self.numbers.push(number);
        self.bases.push(base);
        self.texts.push(text);
        number
    }

    /// The custom state as the snapshot's row refers to it: a whole text, or a patch of the
    /// text of an earlier snapshot.
    fn add_custom(&mut self, custom: NewCustom, next: &mut impl FnMut() -> i64) -> Custom {
        let bytes = custom.bytes();
        match custom {
            NewCustom::Same(custom) => custom,
            NewCustom::Whole(text) => {
                Custom { document: self.add(next(), None, text), depth: 0, bytes }
            }
            NewCustom::Patch { base, patch, .. } => Custom {
                document: self.add(next(), Some(base.document), patch),
                depth: base.depth + 1,
                bytes,
            },
        }
    }

    /// The artifacts as the snapshot's row refers to them. An unchanged one shares the document
    /// of the earlier snapshot.
    fn add_artifacts(
        &mut self,
        all: Vec<NewArtifact>,
        next: &mut impl FnMut() -> i64,
    ) -> Vec<Document> {
        let document = |artifact| match artifact {
            NewArtifact::Same(document) => document,
            NewArtifact::New(json) => {
                let bytes = json.len() as i64;
                Document { number: self.add(next(), None, json), bytes }
            }
        };
        all.into_iter().map(document).collect()
    }
}

impl Plan {
    /// Maximum number of numbers that the draft needs.
    pub(super) fn numbers(draft: &Draft) -> usize {
        3 + draft.artifacts.as_ref().map_or(0, Vec::len)
    }

    /// Takes the numbers that it needs out of `numbers`.
    ///
    /// # Panics
    ///
    /// If there are fewer than [`Plan::numbers`] of them.
    pub(super) fn new(
        draft: Draft,
        previous: Option<&Known>,
        numbers: impl IntoIterator<Item = i64>,
    ) -> Self {
        let mut numbers = numbers.into_iter();
        let mut next = || numbers.next().expect("`Plan::numbers` were reserved");
        let head_bytes = draft.head.bytes() as i64;
        let growth =
            draft.added_bytes() + head_bytes - previous.map_or(0, |known| known.content.head_bytes);
        let (number, new_segment) = (next(), next());
        let mut documents = NewDocuments::default();
        let custom = draft.custom.map(|custom| documents.add_custom(custom, &mut next));
        let artifacts = draft.artifacts.map(|all| documents.add_artifacts(all, &mut next));
        // A segment of which nothing is kept is not continued.
        let kept = draft.messages.as_ref().map(|messages| messages.kept);
        let segment = kept.filter(|kept| kept.length > 0).map(|kept| kept.segment);
        let messages = draft.messages.as_ref().map(|messages| Messages {
            segment: segment.unwrap_or_default(),
            length: messages.kept.length + messages.added.len() as i64,
            bytes: messages.bytes,
        });
        let content =
            Content { has_state: draft.has_state, messages, custom, artifacts, head_bytes };
        Self {
            number: previous.map_or(number, |known| known.place.number),
            // Never used again, also not by a row of this name after a deletion.
            revision: number,
            previous_segment: previous
                .and_then(|known| known.content.messages)
                .filter(|messages| messages.length > 0)
                .map(|messages| messages.segment),
            previous: previous.map(|known| lost(&known.content, &content)).unwrap_or_default(),
            head: draft.head,
            content,
            segment,
            kept: kept.map(|kept| kept.length),
            added: draft.messages.map(|messages| messages.added),
            new_segment,
            documents,
            growth,
        }
    }
}

/// The documents that `before` refers to and `after` does not.
fn lost(before: &Content, after: &Content) -> Vec<i64> {
    let documents = |content: &Content| {
        let custom = content.custom.map(|custom| custom.document);
        custom
            .into_iter()
            .chain(content.artifacts.iter().flatten().map(|artifact| artifact.number))
            .collect::<Vec<_>>()
    };
    let kept = documents(after);
    documents(before).into_iter().filter(|document| !kept.contains(document)).collect()
}
