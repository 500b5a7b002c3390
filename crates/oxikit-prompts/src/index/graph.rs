//! Which documents include which others.

use std::collections::{BTreeMap, BTreeSet};

use super::Index;

/// The users of each document, by key.
#[derive(Debug, Default)]
pub(super) struct Graph {
    users: BTreeMap<String, Vec<String>>,
}

impl Graph {
    pub(super) fn of(index: &Index) -> Self {
        let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for document in index.documents() {
            let mut used = BTreeSet::new();
            for name in document.inclusions.iter() {
                let found = index.resolve(name, Some(document));
                used.extend(found.map(|found| found.document.key.clone()));
            }
            for key in used {
                users.entry(key).or_default().push(document.key.clone());
            }
        }
        Self { users }
    }

    /// The documents that name this one.
    pub(super) fn direct_users(&self, key: &str) -> &[String] {
        self.users.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// The documents that include this one, directly or through others, without itself.
    pub(super) fn users(&self, key: &str) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut open = vec![key];
        while let Some(next) = open.pop() {
            for user in self.direct_users(next) {
                if user != key && found.insert(user.as_str()) {
                    open.push(user);
                }
            }
        }
        found
    }
}
