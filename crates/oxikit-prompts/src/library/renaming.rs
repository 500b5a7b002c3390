//! Other ids for documents, and the references to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::ports::RevisionKind;

use crate::Prompts;
use crate::document::{Document, is_dotprompt};
use crate::error::PromptsError;
use crate::expand::rename_inclusions;
use crate::index::Index;
use crate::names::{NewPath, renamed_path};
use crate::requests::{Rename, Renamed};
use crate::room::short_label;
use crate::source::Source;
use crate::task::{Hold, Input, MovePlan, Place, Rewrite};

impl Prompts {
    /// Gives a document another id and its file another name. Its history, its labels and its live
    /// members stay with it.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions, Rename};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("tone", "Be kind.")).await?;
    /// prompts.create(NewDocument::new("joke", "[[tone]] Tell a joke.")).await?;
    /// let mut rename = Rename::new("tone", "style");
    /// rename.updates_references = true;
    /// let renamed = prompts.rename(rename).await?;
    /// assert_eq!(renamed.updated, ["joke"]);
    /// assert_eq!(prompts.find("joke", None)?.content(), "[[style]] Tell a joke.");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Exists`](PromptsError::Exists) if there is a document or a file with the new id. After any
    /// error nothing has changed: neither the document nor the references to it.
    pub async fn rename(&self, rename: Rename) -> Result<Renamed, PromptsError> {
        let prompts = self.clone();
        // In a task of its own: a caller that leaves must not leave half a rename behind.
        let work = self.state.tracker.spawn(async move { prompts.rename_all(rename).await });
        work.await.unwrap_or(Err(PromptsError::Closed))
    }

    async fn rename_all(&self, rename: Rename) -> Result<Renamed, PromptsError> {
        if self.state.options.is_read_only {
            return Err(PromptsError::ReadOnly);
        }
        self.check_size(rename.content.as_ref().map_or(0, String::len))?;
        let index = self.index();
        let document = index.find(&rename.old_id, rename.kind)?;
        let new = renamed_path(&document.path, &rename.new_id)?;
        let (from, to) = self.places(&document, &new)?;
        if index.document(&to.key).is_some() || index.has_id(&new.id, document.kind) {
            return Err(PromptsError::Exists(new.id));
        }
        self.check_place(&to, &new.id).await?;
        let plan = match rename.updates_references {
            true => plan(&index, &document, &to),
            false => MovePlan { from: from.key.clone(), rewrites: Vec::new() },
        };
        let author = rename.author.as_deref().map(short_label).unwrap_or_default();
        let mut holds = self.hold_all(&document.key, &plan).await?;
        let own = holds.remove(&document.key);
        let own = own.ok_or_else(|| PromptsError::not_found(&rename.old_id, rename.kind))?;
        let source = changed_source(&own.document, &rename)?;
        // The log of a deleted document with the new id may be open.
        self.tasks.retire(&to.key).await;
        let renamed = own.move_to(to, source, &author, plan.to_json()).await;
        let renamed = match renamed {
            Err(PromptsError::Exists(_)) => return Err(PromptsError::Exists(new.id)),
            renamed => renamed?,
        };
        let updated = match rewrite_all(&holds, &plan, &author).await {
            Ok(updated) => updated,
            Err(Unfinished { error, rewrites }) => {
                let old = (*own.document.source).clone();
                // What could not be taken back is taken back at the next start.
                let back = MovePlan { from: renamed.key.clone(), rewrites };
                own.move_to(from, old, &author, back.to_json()).await?;
                return Err(error);
            }
        };
        let old_id = document.id.clone();
        Ok(Renamed { document: renamed, old_id, updated, sanitized_message: new.message })
    }

    fn places(&self, document: &Document, new: &NewPath) -> Result<(Place, Place), PromptsError> {
        let from = Place::of(&document.key, &self.state.registry())?;
        let to = Place::new(from.directory.clone(), &new.path);
        Ok((from, to))
    }

    /// Holds a document and those that include it, in the order of their keys, so that two renames
    /// never wait for each other.
    async fn hold_all(
        &self,
        key: &str,
        plan: &MovePlan,
    ) -> Result<BTreeMap<String, Hold>, PromptsError> {
        let mut keys: Vec<&str> =
            plan.rewrites.iter().map(|rewrite| rewrite.key.as_str()).collect();
        keys.push(key);
        keys.sort_unstable();
        keys.dedup();
        let mut holds = BTreeMap::new();
        for key in keys {
            let hold = self.tasks.ask(key, |reply| Input::Hold { reply }).await?;
            holds.insert(key.to_owned(), hold);
        }
        Ok(holds)
    }

    /// Finishes the rewriting of references that a killed process has left.
    pub(super) async fn finish_renames(&self) -> Result<(), PromptsError> {
        if self.state.options.is_read_only {
            return Ok(());
        }
        for head in self.state.store.documents().await? {
            let Some(plan) = MovePlan::of(&head.current) else { continue };
            for rewrite in plan.rewrites {
                let index = self.index();
                let Some(document) = index.document(&rewrite.key) else { continue };
                // A later change of the document may have written the old name on purpose.
                let is_open = document.inclusions().contains(&rewrite.old)
                    && document.updated_at <= head.current.at;
                if is_open {
                    let hold = self.tasks.ask(&rewrite.key, |reply| Input::Hold { reply }).await?;
                    let source = rewritten(&hold.document, &[&rewrite]);
                    hold.replace(source, RevisionKind::Edit, &head.current.author).await?;
                }
            }
        }
        Ok(())
    }
}

/// The inclusions that have to be changed for a rename.
fn plan(index: &Arc<Index>, document: &Arc<Document>, to: &Place) -> MovePlan {
    // The documents as they will be.
    let mut after = Index::clone(index);
    after.remove(&document.key, None);
    let mut moved = Document::clone(document);
    (moved.key, moved.path) = (to.key.clone(), to.path.clone());
    let (moved, _) = after.put(moved);
    let mut rewrites = Vec::new();
    for user in index.directly_referenced_by(&document.key) {
        for old in user.inclusions() {
            let meant = index.resolve(old, Some(&user)).map(|found| found.document);
            let is_meant = meant.is_some_and(|meant| meant.key == document.key);
            if is_meant && user.key != document.key {
                let new = name_in(&after, &user, &moved);
                rewrites.push(Rewrite { key: user.key.clone(), old: old.clone(), new });
            }
        }
    }
    MovePlan { from: document.key.clone(), rewrites }
}

/// The shortest name that means a document in another one.
fn name_in(index: &Index, user: &Document, document: &Document) -> String {
    let names = [&*document.id, document.path_without_extension(), &*document.key];
    let is_right = |name: &&str| {
        index.resolve(name, Some(user)).is_some_and(|found| found.document.key == document.key)
    };
    names.into_iter().find(is_right).unwrap_or(&document.key).to_owned()
}

/// A rewriting of references that has failed.
struct Unfinished {
    error: PromptsError,
    /// What has to be rewritten, because it could not be taken back.
    rewrites: Vec<Rewrite>,
}

/// Rewrites the references in all documents, or in none.
async fn rewrite_all(
    holds: &BTreeMap<String, Hold>,
    plan: &MovePlan,
    author: &str,
) -> Result<Vec<String>, Unfinished> {
    let mut done: Vec<&Hold> = Vec::new();
    let mut updated = Vec::new();
    for (key, hold) in holds {
        let own: Vec<_> = plan.rewrites.iter().filter(|rewrite| rewrite.key == *key).collect();
        let source = rewritten(&hold.document, &own);
        if source.text() == hold.document.text() {
            continue;
        }
        match hold.replace(source, RevisionKind::Edit, author).await {
            Ok(document) => {
                updated.push(document.id.clone());
                done.push(hold);
            }
            Err(error) => {
                let rewrites = undo(&done, plan, author).await;
                return Err(Unfinished { error, rewrites });
            }
        }
    }
    Ok(updated)
}

/// Gives documents their old texts back. Returns the rewriting of those where that has failed.
async fn undo(done: &[&Hold], plan: &MovePlan, author: &str) -> Vec<Rewrite> {
    let mut left = Vec::new();
    for hold in done {
        let (key, old) = (&hold.document.key, (*hold.document.source).clone());
        if let Err(error) = hold.replace(old, RevisionKind::Restore, author).await {
            tracing::error!(document = %key, %error, "a reference is still rewritten although the rename failed");
            let own = plan.rewrites.iter().filter(|rewrite| rewrite.key == *key).cloned();
            left.extend(own.map(|Rewrite { key, old, new }| Rewrite { key, old: new, new: old }));
        }
    }
    left
}

/// A document with its inclusions renamed. The front matter stays as it is.
fn rewritten(document: &Document, rewrites: &[&Rewrite]) -> Source {
    let (content, body) = (document.content(), document.body());
    let head = content.strip_suffix(body).unwrap_or_default();
    let mut text = body.to_owned();
    for Rewrite { old, new, .. } in rewrites {
        text = rename_inclusions(&text, old, new);
    }
    match is_dotprompt(&document.path) {
        true => document.source.with_content(&format!("{head}{text}")),
        false => document.source.with_content(&text),
    }
}

/// The text of a renamed document, with the changes that were asked for.
fn changed_source(document: &Document, rename: &Rename) -> Result<Source, PromptsError> {
    let mut source = (*document.source).clone();
    if let Some(content) = &rename.content {
        source = source.with_content(content);
    }
    let changed = source.with_metadata(&rename.metadata);
    changed.map_err(|error| PromptsError::Invalid(error.to_string()))
}
