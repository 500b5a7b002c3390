//! A draft with its numbers: what is written where.

use crate::documents::NewCustom;
use crate::draft::{Draft, NewArtifact};
use crate::known::{Content, Custom, Document, Head, Known, Messages};

/// All rows of a write.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) number: i64,
    pub(super) revision: i64,
    pub(super) head: Head,
    /// As it will be. If messages are added, which segment has them is decided by the
    /// write.
    pub(super) content: Content,
    /// The segment of which messages are kept, and how many.
    pub(super) segment: Option<i64>,
    pub(super) kept: Option<i64>,
    pub(super) added: Option<Vec<String>>,
    /// The number of the segment that is begun if the other one cannot grow.
    pub(super) new_segment: i64,
    pub(super) documents: NewDocuments,
    /// The segment that the row had.
    pub(super) former_segment: Option<i64>,
    /// Documents that the row had and has no more.
    pub(super) former: Vec<i64>,
    /// By how much the session grows.
    pub(super) growth: i64,
}

/// Documents to be written.
#[derive(Debug, Default)]
pub(super) struct NewDocuments {
    pub(super) numbers: Vec<i64>,
    pub(super) bases: Vec<Option<i64>>,
    pub(super) texts: Vec<String>,
}

impl NewDocuments {
    fn add(&mut self, number: i64, base: Option<i64>, text: String) -> i64 {
        self.numbers.push(number);
        self.bases.push(base);
        self.texts.push(text);
        number
    }
}

impl Plan {
    /// So many numbers are needed at most.
    pub(super) fn numbers(draft: &Draft) -> usize {
        3 + draft.artifacts.as_ref().map_or(0, Vec::len)
    }

    /// Takes the numbers that it needs out of `numbers`.
    pub(super) fn new(
        draft: Draft,
        former: Option<&Known>,
        numbers: impl IntoIterator<Item = i64>,
    ) -> Self {
        let mut numbers = numbers.into_iter();
        let mut next = || numbers.next().expect("as many as were asked for");
        let head_bytes = draft.head.bytes() as i64;
        let growth =
            draft.added_bytes() + head_bytes - former.map_or(0, |known| known.content.head_bytes);
        let (number, new_segment) = (next(), next());
        let mut documents = NewDocuments::default();
        let custom = draft.custom.map(|custom| {
            let bytes = custom.bytes();
            match custom {
                NewCustom::Same(custom) => custom,
                NewCustom::Whole(text) => {
                    Custom { document: documents.add(next(), None, text), depth: 0, bytes }
                }
                NewCustom::Patch { base, patch, .. } => Custom {
                    document: documents.add(next(), Some(base.document), patch),
                    depth: base.depth + 1,
                    bytes,
                },
            }
        });
        let artifacts = draft.artifacts.map(|all| {
            let document = |artifact| match artifact {
                NewArtifact::Same(document) => document,
                NewArtifact::New(json) => {
                    let bytes = json.len() as i64;
                    Document { number: documents.add(next(), None, json), bytes }
                }
            };
            all.into_iter().map(document).collect::<Vec<_>>()
        });
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
            number: former.map_or(number, |known| known.place.number),
            // Never used again, also not by a row of this name after a deletion.
            revision: number,
            former_segment: former
                .and_then(|known| known.content.messages)
                .filter(|messages| messages.length > 0)
                .map(|messages| messages.segment),
            former: former.map(|known| lost(&known.content, &content)).unwrap_or_default(),
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

/// The documents of one that the other has not.
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
