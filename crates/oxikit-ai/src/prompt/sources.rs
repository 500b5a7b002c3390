//! The tasks that follow the prompt sources of an application, and whether each source has been
//! loaded.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::{Result, Status, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Maximum time that a call waits for the first load of the sources.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The sources of an application. It is a part of the application's registry, so the tasks end
/// with it.
#[derive(Default)]
pub(super) struct Sources(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    /// Aborted when it is dropped. It has a task for each source of the application.
    tasks: JoinSet<()>,
    expected: Vec<watch::Receiver<FirstLoad>>,
}

/// The state of the first load of a source.
#[derive(Debug, Clone)]
pub(super) enum FirstLoad {
    /// The first try has not ended.
    Pending,
    /// The last try has failed, and further ones follow.
    Failed(Status),
    /// The prompts are loaded.
    Done,
}

impl Sources {
    /// Runs a task until the application ends.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` outside of a Tokio runtime.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let runtime = Handle::try_current().map_err(|error| {
            let message = "prompts of a source are loaded in a task: build the application inside of a Tokio runtime";
            Status::failed_precondition(message).caused_by(error)
        })?;
        self.lock().tasks.spawn_on(task, &runtime);
        Ok(())
    }

    /// Lets calls wait for the first load of a source.
    pub(super) fn expect(&self, first_load: watch::Receiver<FirstLoad>) {
        self.lock().expected.push(first_load);
    }

    /// Waits until the first try of each source has ended. Returns whether a source was loaded
    /// meanwhile.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if a source has never been reached.
    pub(super) async fn first_loads(&self) -> Result<bool> {
        let expected = self.lock().expected.clone();
        let is_expected = !expected.is_empty();
        let mut failure = None;
        for mut first_load in expected {
            let tried = first_load.wait_for(|state| !matches!(state, FirstLoad::Pending));
            if let Ok(Ok(state)) = timeout(MAX_WAIT, tried).await
                && let FirstLoad::Failed(status) = &*state
            {
                failure = Some(status.clone());
            }
        }
        self.lock().expected.retain(|it| !matches!(*it.borrow(), FirstLoad::Done));
        match failure {
            Some(status) => Err(Status::new(
                StatusCode::Unavailable,
                format!("the prompts are not loaded yet: {}", status.message()),
            )
            .caused_by(status)),
            None => Ok(is_expected),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
