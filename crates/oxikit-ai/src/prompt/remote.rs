//! Prompts of a [`PromptSource`], such as a prompt manager, loaded again when they change.
//!
//! A task waits for changes as long as the application lives. While the source cannot be reached
//! the prompts that were loaded before stay in use. `library` compiles the prompts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::ports::{PromptSource, PromptText, PromptTextKind};
use oxikit_core::{Registry, Result, Status, WeakRegistry, notice};
use tokio::sync::watch;
use tokio::time::sleep;

use super::files::partial_body;
use super::library::Library;
use super::loaded::{LoadedPrompts, lacks_definition, unread_keys};
use super::sources::{FirstLoad, Sources};
use super::texts::{Owner, SourceText, Texts};
use crate::Oxikit;

/// Time between a change and the load after it. Changes that follow in this time, such as those
/// of a person who types, are loaded together.
const SETTLE: Duration = Duration::from_millis(100);
/// Pause after the first failure in a row. It doubles with each further one.
const MIN_PAUSE: Duration = Duration::from_millis(250);
/// Longest pause between two tries to reach the source.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Loads all prompts of the source and follows its changes.
pub(super) async fn load(ai: &Oxikit, source: Arc<dyn PromptSource>) -> Result<LoadedPrompts> {
    let remote = Remote::new(source, &ai.library());
    let texts = remote.source.load().await?;
    let loaded = remote.apply(ai.registry(), texts);
    remote.log_broken(&ai.library(), &loaded.broken);
    let registry = ai.registry().downgrade();
    ai.registry().state::<Sources>().spawn(async move { remote.follow(&registry).await })?;
    Ok(loaded)
}

/// Loads the prompts of the source in the background, and follows its changes.
pub(super) fn load_later(ai: &Oxikit, source: Arc<dyn PromptSource>) -> Result<()> {
    let remote = Remote::new(source, &ai.library());
    let (sender, receiver) = watch::channel(FirstLoad::Pending);
    let registry = ai.registry().downgrade();
    let sources = ai.registry().state::<Sources>();
    sources.spawn(async move {
        remote.load_first(&registry, &sender).await;
        remote.follow(&registry).await;
    })?;
    sources.expect(receiver);
    Ok(())
}

/// A source and the texts that were loaded from it.
struct Remote {
    source: Arc<dyn PromptSource>,
    owner: Owner,
    loaded: Mutex<Texts>,
}

impl Remote {
    fn new(source: Arc<dyn PromptSource>, library: &Library) -> Self {
        Self { source, owner: library.new_owner(), loaded: Mutex::default() }
    }

    /// Tries to load the prompts until it succeeds, and reports the result of each try.
    async fn load_first(&self, registry: &WeakRegistry, sender: &watch::Sender<FirstLoad>) {
        let mut outage = Outage::default();
        loop {
            match self.source.load().await {
                Ok(texts) => {
                    self.load_again(registry, texts);
                    outage.end(&self.source);
                    sender.send_replace(FirstLoad::Done);
                    return;
                }
                Err(status) => {
                    sender.send_replace(FirstLoad::Failed(status.clone()));
                    outage.pause(&self.source, &status).await;
                }
            }
        }
    }

    /// Loads the prompts again whenever the source reports a change. It never returns: the task
    /// is ended with the application.
    async fn follow(&self, registry: &WeakRegistry) {
        let mut outage = Outage::default();
        loop {
            // After a failure the prompts are loaded without waiting: a change may have been
            // missed.
            let changed = match outage.is_over() {
                true => self.source.changed().await,
                false => Ok(()),
            };
            let loaded = match changed {
                Ok(()) => {
                    sleep(SETTLE).await;
                    self.source.load().await
                }
                Err(status) => Err(status),
            };
            match loaded {
                Ok(texts) => {
                    self.load_again(registry, texts);
                    outage.end(&self.source);
                }
                Err(status) => outage.pause(&self.source, &status).await,
            }
        }
    }

    fn load_again(&self, registry: &WeakRegistry, texts: Vec<PromptText>) {
        // The application is ending; this task is ended with it.
        let Some(registry) = registry.upgrade() else { return };
        if *self.loaded() == texts_of(&texts) {
            return;
        }
        let state = self.apply(&registry, texts);
        self.log_broken(&registry.state::<Library>(), &state.broken);
        let (loaded, broken) = (state.loaded.len(), state.broken.len());
        tracing::info!(loaded, broken, "prompts loaded again");
    }

    /// Replaces the prompts by these. One that worked before and is broken now stays in use.
    fn apply(&self, registry: &Registry, texts: Vec<PromptText>) -> LoadedPrompts {
        let library = registry.state::<Library>();
        let texts = texts_of(&texts);
        let previous = std::mem::replace(&mut *self.loaded(), texts.clone());
        let mut warnings = Vec::new();
        for (name, text) in &texts.prompts {
            let known = previous.prompts.get(name);
            if known.is_none() && library.has(name) {
                let duplicate = format!(
                    "two definitions of the prompt `{name}`: that of {:?} replaces the earlier one; give one of them another name",
                    self.source
                );
                registry.report_duplicate(duplicate.clone());
                warnings.push(duplicate);
            }
            if known.map(|known| &known.text) != Some(&text.text) {
                let unread = unread_keys(&format!("prompt `{name}`"), &text.text);
                unread.iter().for_each(notice::warning);
                warnings.extend(unread);
            }
        }
        let names: Vec<_> = texts.prompts.keys().cloned().collect();
        let broken = library.replace_working(registry, self.owner, texts);
        LoadedPrompts::new(names, broken, warnings)
    }

    fn log_broken(&self, library: &Library, broken: &BTreeMap<String, Status>) {
        for (name, status) in broken {
            if lacks_definition(status) {
                tracing::warn!(%name, %status, "prompt cannot be used yet");
            } else if library.get(name).is_ok() {
                tracing::warn!(%name, %status, "prompt is broken; the version before it stays in use");
            } else {
                notice::error(format_args!("the prompt is broken: {}", status.message()));
            }
        }
    }

    fn loaded(&self) -> MutexGuard<'_, Texts> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn texts_of(texts: &[PromptText]) -> Texts {
    let mut all = Texts::default();
    for PromptText { name, kind, source, origin, .. } in texts {
        let (name, origin) = (name.clone(), Some(origin.clone()));
        match kind {
            PromptTextKind::Prompt => {
                all.prompts.insert(name, SourceText { text: source.clone(), origin })
            }
            PromptTextKind::Partial => {
                all.partials.insert(name, SourceText { text: partial_body(source), origin })
            }
        };
    }
    all
}

/// A time in which the source cannot be reached. It is logged once, when it begins.
#[derive(Default)]
struct Outage {
    failures: u32,
}

impl Outage {
    fn is_over(&self) -> bool {
        self.failures == 0
    }

    /// Waits before the next try: each time twice as long, with a random part, so that many
    /// applications do not return at the same moment.
    async fn pause(&mut self, source: &Arc<dyn PromptSource>, status: &Status) {
        if self.failures == 0 {
            tracing::warn!(?source, %status, "prompts cannot be loaded; earlier ones stay in use");
        }
        let doubled = MIN_PAUSE.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        let pause = doubled.min(MAX_PAUSE);
        sleep(pause.mul_f64(0.5 + fastrand::f64() / 2.0)).await;
    }

    fn end(&mut self, source: &Arc<dyn PromptSource>) {
        if self.failures > 0 {
            tracing::info!(?source, "prompts can be loaded again");
        }
        self.failures = 0;
    }
}
