//! The prompts as applications load them: with their inclusions replaced, by label.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oxikit_wire::prompts::{Export, ExportedPrompt};

use super::inclusion::RootText;
use super::lookup::{IndexLookup, read_text};
use crate::Prompts;
use crate::document::{Document, Kind, source_of, without_extension};
use crate::error::PromptsError;
use crate::partials::partials;

impl Prompts {
    /// All prompts for an application, and the fragments as partials.
    ///
    /// With a label these are the prompts that have it, at the revision that it names; what they
    /// include without a pin is taken at the same label too, or at the newest revision if it does
    /// not have the label. Without a label all are at their newest revision.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions, Submission};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
    /// prompts.set_label("joke", None, "production", Some(1)).await?;
    /// prompts.submit("joke", None, Submission::content("A draft")).await?;
    ///
    /// let released = prompts.export(Some("production")).await?;
    /// assert_eq!(released.prompts[0].source, "Tell a joke.");
    /// let newest = prompts.export(None).await?;
    /// assert_eq!((&*newest.prompts[0].source, newest.prompts[0].rev), ("A draft", 2));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the history cannot be read, or the library is being closed.
    pub async fn export(&self, label: Option<&str>) -> Result<Export, PromptsError> {
        let index = self.index();
        let mut prompts = Vec::new();
        for (name, document) in names(index.documents()) {
            match label {
                None => prompts.push((name, document.clone())),
                Some(label) => {
                    let labelled = self.at_label(document, label).await?;
                    prompts.extend(labelled.map(|document| (name, document)));
                }
            }
        }
        for (name, document) in partials(&index) {
            let labelled = match label {
                Some(label) => self.at_label(&document, label).await?,
                None => None,
            };
            prompts.push((name, labelled.unwrap_or(document)));
        }
        prompts.sort_by(|left, right| left.0.cmp(&right.0));
        let lookup = IndexLookup::at_label(index, label);
        let exported = self.repeat(lookup, move |lookup| {
            prompts.iter().map(|(name, document)| exported(name, document, lookup)).collect()
        });
        let prompts = exported.await.ok_or(PromptsError::Closed)?;
        Ok(Export { label: label.map(str::to_owned), prompts })
    }

    /// The document at the revision of a label; `None` if it does not have the label.
    async fn at_label(
        &self,
        document: &Document,
        label: &str,
    ) -> Result<Option<Arc<Document>>, PromptsError> {
        let Some((rev, text)) = read_text(&self.state, &document.key, label).await? else {
            return Ok(None);
        };
        let source = source_of(&document.path, &text);
        Ok(Some(Arc::new(document.with_text(source, rev, String::new()))))
    }
}

/// The prompts by the names that applications use. The path of a file is its name, unless a file of
/// another directory or with another extension has it; that file keeps the name then.
fn names<'d>(
    documents: impl Iterator<Item = &'d Arc<Document>>,
) -> BTreeMap<String, &'d Arc<Document>> {
    let mut names = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for document in documents.filter(|document| document.kind == Kind::Prompt) {
        let possible =
            [document.path_without_extension(), without_extension(&document.key), &document.key];
        let free = possible.into_iter().find(|name| !taken.contains(*name));
        let name = free.unwrap_or(&document.key).to_owned();
        taken.insert(name.clone());
        names.insert(name, document);
    }
    names
}

fn exported(name: &str, document: &Document, lookup: &Arc<IndexLookup>) -> ExportedPrompt {
    let expansion = RootText::of_file(document, document.content()).expand(lookup);
    ExportedPrompt {
        name: name.to_owned(),
        kind: document.kind,
        id: document.id.clone(),
        rev: document.rev,
        source: expansion.text,
        fragments: expansion.revs,
        warnings: expansion.warnings,
    }
}
