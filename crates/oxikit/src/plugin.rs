//! What extends an application as a whole.

use crate::Oxikit;

/// Something that brings its own actions: a model provider, a vector store.
///
/// It registers what it has at once, and what is made on demand through
/// [`Registry::add_resolver`](crate::Registry::add_resolver).
pub trait Plugin: Send + Sync {
    /// Adds the plugin's actions to the application.
    fn install(&self, ai: &Oxikit);
}
