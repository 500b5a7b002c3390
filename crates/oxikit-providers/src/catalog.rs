//! What is known about models before they are called.

use oxikit::wire::{ConstrainedSupport, ModelInfo, ModelSupports};
use rig_core::catalog::{Catalog, ModelSpec};

/// How a provider's models are described.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// The provider's name in rig's catalogue.
    pub(crate) vendor: &'static str,
    /// When models that can be held to a schema are.
    pub(crate) constrained: ConstrainedSupport,
    pub(crate) tool_choice: bool,
    /// Whether the catalogue says which models can be held to a schema.
    pub(crate) knows_constrained: bool,
}

impl Traits {
    /// A model that the catalogue does not know is taken as able: it is newer
    /// than the catalogue.
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

    /// Chat models that are not on their way out.
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
