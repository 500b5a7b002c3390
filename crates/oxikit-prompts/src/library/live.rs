//! Live editing and the feed of changes.

use super::member::{JoinOptions, Member};
use crate::Prompts;
use crate::changes::Changes;
use crate::document::Kind;
use crate::error::PromptsError;

impl Prompts {
    /// Opens a document for live editing. The first message of [`Member::next`] is `initial`.
    /// Dropping the member leaves.
    ///
    /// # Errors
    ///
    /// [`NotFound`](PromptsError::NotFound) or [`Ambiguous`](PromptsError::Ambiguous), for which a
    /// server closes with 4004; others if the document cannot be read, for which it closes with
    /// 1011.
    pub async fn join(
        &self,
        id: &str,
        kind: Option<Kind>,
        options: JoinOptions,
    ) -> Result<Member, PromptsError> {
        let key = self.find(id, kind)?.key.clone();
        Member::join(self.clone(), &self.tasks, &key, options).await
    }

    /// Subscribes to the changes of all documents.
    pub fn changes(&self) -> Changes {
        self.changes_from(None)
    }

    /// The changes from now on, or those after the position `last`.
    pub(crate) fn changes_from(&self, last: Option<&str>) -> Changes {
        self.state.changes.read_from(last)
    }
}
