//! Another program that changes the file of a document, whether the manager runs or not.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use tokio::time::{Duration, sleep};

use super::typist::Typist;

/// A program that reads a file and saves it with another word.
pub(super) struct FileEditor {
    file: PathBuf,
    pub(super) typist: Typist,
}

impl FileEditor {
    pub(super) fn new(file: PathBuf, typist: Typist) -> Self {
        Self { file, typist }
    }

    /// Edits this many times, with a pause before each.
    pub(super) async fn edit(&mut self, edits: usize, longest_pause: Duration) -> Result<()> {
        for _ in 0..edits {
            sleep(longest_pause.mul_f64(self.typist.rng.f64())).await;
            self.save()?;
        }
        Ok(())
    }

    /// Saves the file, as most editors do by a new file that is moved to its place, or as others do
    /// by overwriting it.
    fn save(&mut self) -> Result<()> {
        let text = fs::read_to_string(&self.file)?;
        let text = self.typist.edit(&text);
        if self.typist.rng.bool() {
            return Ok(fs::write(&self.file, text)?);
        }
        let temporary = self.file.with_extension("tmp");
        fs::write(&temporary, text)?;
        Ok(fs::rename(&temporary, &self.file)?)
    }
}
