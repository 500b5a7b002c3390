//! The result of loading prompts, and the mistakes that are reported about them.

use std::collections::BTreeMap;

use oxikit_core::Status;
use oxikit_dotprompt::{Prompt, UnknownKey};

use crate::lookup;

/// The result of [`Oxikit::load_prompts`](crate::Oxikit::load_prompts) and
/// [`Oxikit::load_prompts_from`](crate::Oxikit::load_prompts_from). It describes the first load;
/// later ones, after changes of prompts, are logged.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LoadedPrompts {
    /// The names of the prompts that can be called.
    pub loaded: Vec<String>,
    /// The errors of the other prompts, by name.
    pub broken: BTreeMap<String, Status>,
    /// Probable mistakes in prompts that can be called: keys of the front matter that nothing
    /// reads, and prompts that were defined before.
    pub warnings: Vec<String>,
}

impl LoadedPrompts {
    /// The prompts of these names, without those that are broken.
    pub(super) fn new(
        names: Vec<String>,
        broken: BTreeMap<String, Status>,
        warnings: Vec<String>,
    ) -> Self {
        let loaded = names.into_iter().filter(|name| !broken.contains_key(name)).collect();
        Self { loaded, broken, warnings }
    }
}

/// Whether the prompt only names a helper, partial or schema that may be defined later.
pub(super) fn lacks_definition(status: &Status) -> bool {
    let cause = status.cause::<oxikit_dotprompt::Error>();
    cause.is_some_and(oxikit_dotprompt::Error::is_missing_definition)
}

/// The warnings about keys of the front matter that nothing reads. A prompt that does not parse
/// is an error and gives no warning.
pub(super) fn unread_keys(place: &str, text: &str) -> Vec<String> {
    let prompt = Prompt::parse(text);
    let unknown = prompt.iter().flat_map(Prompt::unknown_keys);
    unknown.map(|key| format!("{place}: {}", unread(key))).collect()
}

/// The warning about a key of the front matter that nothing reads, with advice.
fn unread(unknown: &UnknownKey) -> String {
    let UnknownKey { parent, key, line, known, .. } = unknown;
    let place = parent.map_or_else(String::new, |parent| format!(" of `{parent}`"));
    let advice = lookup::did_you_mean(key, known).unwrap_or_else(|| {
        format!("a key of your own stands below `metadata`, or has a dot in it (`my.{key}`)")
    });
    format!("nothing reads the key `{key}`{place} (line {line}); {advice}")
}
