//! Every package of `crates/` can be published: it says what it is, has its licence and a
//! README, and has no unused dependencies. Packages of other folders are private.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use proc_macro2::TokenTree;

use crate::metadata::{Listing, Package};
use crate::structure::Crate;
use crate::tools;

/// Compiles the examples of all READMEs, relative to the root.
const README_TESTS: &str = "examples/readmes.rs";

/// Maximum number of categories and of keywords that a registry accepts.
const MAX_TERMS: usize = 5;

/// The packages that cannot be published yet, with the reasons.
pub(super) fn check(members: &[Package]) -> Result<Vec<String>> {
    let tested = std::fs::read_to_string(tools::root().join(README_TESTS))
        .with_context(|| format!("cannot read {README_TESTS}"))?;
    let mut wrong = Vec::new();
    for member in members {
        let listing = &member.listing;
        if !member.is_library() {
            if !listing.is_private {
                wrong.push(format!("`{}` needs `publish = false`", member.name));
            }
            continue;
        }
        let mut missing = missing_keys(&member.name, listing);
        for file in ["README.md", "LICENSE"] {
            if !member.dir.join(file).is_file() {
                missing.push(format!("a file {file}"));
            }
        }
        if !tested.contains(&format!("crates/{}/README.md", member.name)) {
            missing.push(format!("a line in {README_TESTS}, which compiles its README"));
        }
        if !missing.is_empty() {
            wrong.push(format!(
                "`{}` cannot be published without {}",
                member.name,
                missing.join(", ")
            ));
        }
    }
    Ok(wrong)
}

fn missing_keys(name: &str, listing: &Listing) -> Vec<String> {
    let documentation = format!("https://docs.rs/{name}");
    let terms = 1..=MAX_TERMS;
    let keys = [
        (listing.description.is_some(), "a `description`".to_owned()),
        (listing.repository.is_some(), "`repository.workspace = true`".to_owned()),
        (listing.readme.as_deref() == Some("README.md"), "`readme = \"README.md\"`".to_owned()),
        (
            listing.documentation.as_ref() == Some(&documentation),
            format!("`documentation = \"{documentation}\"`"),
        ),
        (terms.contains(&listing.categories), "1 to 5 `categories`".to_owned()),
        (terms.contains(&listing.keywords), "1 to 5 `keywords`".to_owned()),
        (
            listing.documents_features,
            "`[package.metadata.docs.rs]` with `all-features = true` and \
             `rustdoc-args = [\"--cfg\", \"docsrs\"]`"
                .to_owned(),
        ),
        (!listing.is_private, "being public: `publish = false` is for other folders".to_owned()),
    ];
    keys.into_iter().filter(|(holds, _)| !holds).map(|(_, key)| key).collect()
}

/// Dependencies that the sources do not use. Those of tests must be dev-dependencies.
pub(super) fn unused_dependencies(members: &[Package], crates: &[Crate]) -> Vec<String> {
    let mut wrong = Vec::new();
    for krate in crates {
        let mut names = BTreeSet::new();
        for file in &krate.files {
            collect_names(&file.tokens, &mut names);
        }
        // A package is found by its folder, which has its name.
        let package = members.iter().find(|member| member.name == krate.name);
        for dependency in package.into_iter().flat_map(|package| &package.dependencies) {
            let used = names.contains(&dependency.name.replace('-', "_"));
            if !dependency.is_dev && !used {
                let (name, dependency) = (&krate.name, &dependency.name);
                wrong.push(format!("`{name}` depends on `{dependency}`, which it does not use"));
            }
        }
    }
    wrong
}

fn collect_names(tokens: &[TokenTree], names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => _ = names.insert(ident.to_string()),
            TokenTree::Group(group) => {
                collect_names(&group.stream().into_iter().collect::<Vec<_>>(), names);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata;
    use std::path::Path;

    #[test]
    fn every_missing_key_is_named_with_what_to_write() {
        let missing = missing_keys("oxikit-x", &Listing::default());
        assert_eq!(missing.len(), 7, "{missing:?}");
        assert!(missing.contains(&"`documentation = \"https://docs.rs/oxikit-x\"`".to_owned()));
        let members = metadata::members().unwrap();
        let wire = members.iter().find(|member| member.name == "oxikit-wire").unwrap();
        assert!(missing_keys("oxikit-wire", &wire.listing).is_empty());
        assert_eq!(missing_keys("oxikit-other", &wire.listing).len(), 1);
    }

    #[test]
    fn a_dependency_that_only_tests_name_is_unused() {
        let text = "use serde::Serialize;\n#[cfg(test)]\nmod tests { use bytes::Bytes; }\n";
        let files = vec![("lib.rs".into(), text.to_owned())];
        let sample =
            Crate::from_texts("oxikit-wire".to_owned(), Path::new("crates/x/src"), files).unwrap();
        let mut members = metadata::members().unwrap();
        let wire = members.iter_mut().find(|member| member.name == "oxikit-wire").unwrap();
        wire.dependencies = ["serde", "bytes", "proptest"]
            .map(|name| metadata::Dependency {
                name: name.to_owned(),
                is_dev: name == "proptest",
                is_published: true,
            })
            .to_vec();
        assert_eq!(
            unused_dependencies(&members, &[sample]),
            ["`oxikit-wire` depends on `bytes`, which it does not use"]
        );
    }
}
