//! The search for mistakes in all documents.

use std::collections::BTreeSet;

use oxikit_dotprompt::{Environment, Prompt};
use oxikit_wire::prompts::{Finding, FindingCode, LintReport, Severity};

use super::lookup::read_text;
use crate::Prompts;
use crate::error::PromptsError;
use crate::files::blocking;
use crate::lint::{self, Pin};
use crate::partials::partials;
use crate::requests::Problem;

impl Prompts {
    /// The mistakes in all documents: files that cannot be read, front matter, templates,
    /// inclusions and names.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("joke", "A joke.\n[[tone]]")).await?;
    /// let report = prompts.lint().await?;
    /// assert_eq!((report.findings.len(), report.findings[0].line), (1, Some(2)));
    /// assert!(report.has_errors());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// If the history cannot be read.
    pub async fn lint(&self) -> Result<LintReport, PromptsError> {
        let mut missing = BTreeSet::new();
        for (key, pin) in lint::pins(&self.index()) {
            if read_text(&self.state, &key, &pin).await?.is_none() {
                missing.insert((key, pin));
            }
        }
        self.lint_with(missing).await
    }

    /// As [`lint`](Self::lint), for files without a history: revisions and labels that inclusions
    /// are pinned to are not checked.
    ///
    /// # Errors
    ///
    /// If the library is being closed.
    pub async fn lint_files(&self) -> Result<LintReport, PromptsError> {
        self.lint_with(BTreeSet::new()).await
    }

    async fn lint_with(&self, missing_pins: BTreeSet<Pin>) -> Result<LintReport, PromptsError> {
        let index = self.index();
        let checked = blocking(move || {
            let mut environment = Environment::new();
            for (name, document) in partials(&index) {
                let prompt = Prompt::parse(document.text());
                let template = prompt.map(|prompt| prompt.template().to_owned());
                let template = template.unwrap_or_else(|_| document.body().to_owned());
                environment = environment.partial(name, template);
            }
            let findings = lint::check(&index, &environment, &missing_pins);
            Ok((index.documents().count(), findings))
        });
        let (documents, mut findings) =
            checked.await.map_err(|error| PromptsError::File(error.to_string()))?;
        let unreadable = self.problems().into_iter().map(|problem| self.unreadable(problem));
        findings.splice(0..0, unreadable);
        Ok(LintReport { documents, findings })
    }

    fn unreadable(&self, problem: Problem) -> Finding {
        let registry = self.state.registry();
        let place = registry.split_key(&problem.key);
        let place = place.map(|(directory, path)| (directory.path.clone(), path.to_owned()));
        let (directory, file) = place.unwrap_or_else(|| {
            let directory = registry.find(&problem.key).map(|directory| directory.path.clone());
            (directory.unwrap_or_else(|_| std::path::Path::new(&problem.key).into()), String::new())
        });
        Finding {
            directory: directory.display().to_string(),
            file,
            id: None,
            line: None,
            severity: Severity::Error,
            code: FindingCode::Unreadable,
            message: problem.message,
        }
    }
}
