//! The known models and their abilities, from the catalogue of rig.
//!
//! The catalogue only describes: models that it does not know can be called too.

use oxikit_ai::wire::{ConstrainedSupport, ModelInfo, ModelSupports};
use rig_core::catalog::{Catalog, ModelSpec};

/// The rules by which a provider's models are described to the developer tools and to the generate
/// loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// The provider's name in rig's catalogue.
    pub(crate) vendor: &'static str,
    /// The support for output schemas of models that have such support.
    pub(crate) constrained: ConstrainedSupport,
    /// Whether a call can require or forbid tools.
    pub(crate) tool_choice: bool,
    /// Whether the catalogue says which models support output schemas. If not, all are assumed to.
    pub(crate) knows_constrained: bool,
}

impl Traits {
    /// The description of a model. A model that is not in the catalogue is assumed to support
    /// everything: it is probably newer than the catalogue.
    pub(crate) fn info(&self, label: String, model: &str) -> ModelInfo {
        let spec = self.spec(model);
        let is_constrained =
            !self.knows_constrained || spec.is_none_or(|spec| spec.structured_output);
        let tools = spec.is_none_or(|spec| spec.tools);
        let media = spec.is_none_or(|spec| {
            let input = spec.input;
            input.image || input.audio || input.video || input.pdf
        });
        ModelInfo {
            label: Some(label),
            supports: Some(ModelSupports {
                multiturn: Some(true),
                media: Some(media),
                tools: Some(tools),
                system_role: Some(true),
                output: Some(vec!["text".to_owned(), "json".to_owned()]),
                constrained: Some(if is_constrained {
                    self.constrained
                } else {
                    ConstrainedSupport::None
                }),
                tool_choice: Some(self.tool_choice && tools),
                ..ModelSupports::default()
            }),
            ..ModelInfo::default()
        }
    }

    /// The names of chat models that are not deprecated.
    pub(crate) fn names(&self) -> Vec<String> {
        self.specs()
            .filter(|spec| spec.tools && !spec.deprecated)
            .map(|spec| spec.id.clone())
            .collect()
    }

    fn spec(&self, model: &str) -> Option<&'static ModelSpec> {
        self.specs().find(|spec| spec.id == model)
    }

    fn specs(&self) -> impl Iterator<Item = &'static ModelSpec> {
        let vendor = self.vendor;
        Catalog::builtin().iter().filter(move |spec| spec.provider.vendor() == vendor)
    }
}
