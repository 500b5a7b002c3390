//! Options of the store of a project.

use std::path::PathBuf;
use std::sync::Arc;

use oxikit_core::ports::{LocalNotifier, Notifier};

/// Options of a [`SqliteProject`](crate::SqliteProject).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SqliteProjectOptions {
    /// The database of the traces in which earlier versions kept documents, which are moved as
    /// [`open_beside`](crate::SqliteProject::open_beside) says. By default none.
    pub traces: Option<PathBuf>,
    /// Publishes the changes that this store makes; a [`LocalNotifier`] unless another one
    /// is given. Changes by other processes are found without it, within half a second.
    pub notifier: Arc<dyn Notifier>,
}

impl Default for SqliteProjectOptions {
    fn default() -> Self {
        Self { traces: None, notifier: Arc::new(LocalNotifier::default()) }
    }
}

impl SqliteProjectOptions {
    /// Moves the documents that earlier versions kept in this database of traces.
    ///
    /// ```
    /// use oxikit_sql::SqliteProjectOptions;
    ///
    /// let options = SqliteProjectOptions::default().with_traces(".oxikit/traces.db");
    /// # assert!(options.traces.is_some());
    /// ```
    #[must_use]
    pub fn with_traces(mut self, traces: impl Into<PathBuf>) -> Self {
        self.traces = Some(traces.into());
        self
    }

    /// Publishes changes by this notifier.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxikit_core::ports::LocalNotifier;
    /// use oxikit_sql::SqliteProjectOptions;
    ///
    /// let notifier = Arc::new(LocalNotifier::default());
    /// let options = SqliteProjectOptions::default().with_notifier(notifier);
    /// ```
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = notifier;
        self
    }
}
