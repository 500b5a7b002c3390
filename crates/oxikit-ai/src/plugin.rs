//! Plugins: sets of actions that are added to an application together, such as the models of a
//! provider.

use oxikit_core::Result;

use crate::Oxikit;

/// Adds actions to an application: a model provider, a vector store.
///
/// A plugin registers the actions that it has at once, and adds a resolver for those that
/// are made on demand ([`Registry::add_resolver`](crate::Registry::add_resolver)).
///
/// ```
/// use oxikit::prelude::*;
/// use oxikit::Plugin;
///
/// struct Weather {
///     stations: Vec<String>,
/// }
///
/// impl Plugin for Weather {
///     fn install(&self, ai: &Oxikit) -> Result<()> {
///         if self.stations.is_empty() {
///             return Err(Status::failed_precondition("there are no weather stations"));
///         }
///         let stations = self.stations.clone();
///         ai.define_flow("stations", move |_: ()| {
///             let stations = stations.clone();
///             async move { Ok(stations) }
///         });
///         Ok(())
///     }
/// }
///
/// assert!(Oxikit::builder().plugin(Weather { stations: vec![] }).build().is_err());
/// ```
pub trait Plugin: Send + Sync {
    /// The plugin's name in errors; by default the name of its type.
    fn name(&self) -> &str {
        std::any::type_name::<Self>()
    }

    /// Adds the plugin's actions to the application.
    ///
    /// # Errors
    ///
    /// If the plugin cannot work as it is set up. [`OxikitBuilder::build`](crate::OxikitBuilder::build)
    /// then fails with the name of the plugin and this error as its cause.
    fn install(&self, ai: &Oxikit) -> Result<()>;
}
