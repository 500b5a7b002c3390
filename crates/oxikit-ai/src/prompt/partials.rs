//! The partials of an application by their owners.
//!
//! Several owners may define a partial of the same name. The newest definition is used; when its
//! owner removes it, the one before it is used again.

use std::collections::BTreeMap;

use super::texts::{Owner, SourceText};

/// All definitions of partials, by name, the newest last.
#[derive(Default)]
pub(super) struct Partials(BTreeMap<String, Vec<(Owner, SourceText)>>);

impl Partials {
    /// The definition that is used.
    pub(super) fn get(&self, name: &str) -> Option<&SourceText> {
        self.0.get(name)?.last().map(|(_, text)| text)
    }

    /// Sets the definition of an owner. Returns whether it is new or has changed.
    pub(super) fn set(&mut self, owner: Owner, name: String, text: SourceText) -> bool {
        let definitions = self.0.entry(name).or_default();
        if definitions.iter().any(|(of, known)| *of == owner && *known == text) {
            return false;
        }
        definitions.retain(|(of, _)| *of != owner);
        definitions.push((owner, text));
        true
    }

    /// Replaces all partials of an owner. Returns the names of those that have changed or are
    /// gone.
    pub(super) fn replace(
        &mut self,
        owner: Owner,
        texts: BTreeMap<String, SourceText>,
    ) -> Vec<String> {
        let mut changed = self.remove_others(owner, &texts);
        for (name, text) in texts {
            if self.set(owner, name.clone(), text) {
                changed.push(name);
            }
        }
        changed
    }

    /// Removes the partials of an owner that are not among these, and returns their names.
    fn remove_others(&mut self, owner: Owner, kept: &BTreeMap<String, SourceText>) -> Vec<String> {
        let mut removed = Vec::new();
        for (name, definitions) in &mut self.0 {
            let count = definitions.len();
            definitions.retain(|(of, _)| *of != owner || kept.contains_key(name));
            if definitions.len() < count {
                removed.push(name.clone());
            }
        }
        self.0.retain(|_, definitions| !definitions.is_empty());
        removed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn text(text: &str) -> SourceText {
        Arc::<str>::from(text).into()
    }

    #[test]
    fn a_removed_definition_uncovers_the_one_before_it() {
        let owner = Owner::numbered(1);
        let mut partials = Partials::default();
        let used = |partials: &Partials| partials.get("tone").map(|it| it.text.to_string());
        assert!(partials.set(Owner::CODE, "tone".to_owned(), text("code")));
        let files = BTreeMap::from([("tone".to_owned(), text("file"))]);
        assert_eq!(partials.replace(owner, files.clone()), ["tone"]);
        assert_eq!(used(&partials).as_deref(), Some("file"));
        assert!(partials.replace(owner, files).is_empty(), "nothing has changed");
        assert_eq!(partials.replace(owner, BTreeMap::new()), ["tone"]);
        assert_eq!(used(&partials).as_deref(), Some("code"));
        assert!(partials.replace(owner, BTreeMap::new()).is_empty());
    }
}
