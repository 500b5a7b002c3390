//! The packages of the workspace and their dependencies, from `cargo metadata`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::tools;

/// A package of the workspace, or a dependency.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) licence: Option<String>,
    pub(crate) rust_version: Option<String>,
    /// Folder of its manifest.
    pub(crate) dir: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    /// Names of its programs.
    pub(crate) bins: Vec<String>,
    /// Names of its features, in their order.
    pub(crate) features: Vec<String>,
    /// Whether it is a member of this workspace.
    pub(crate) is_ours: bool,
    pub(crate) listing: Listing,
}

/// The parts of a manifest that a registry and docs.rs use.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Listing {
    pub(crate) description: Option<String>,
    pub(crate) documentation: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) readme: Option<String>,
    pub(crate) categories: usize,
    pub(crate) keywords: usize,
    /// Whether `[package.metadata.docs.rs]` asks for all features and marks them.
    pub(crate) documents_features: bool,
    /// Whether the manifest says `publish = false`.
    pub(crate) is_private: bool,
}

/// A dependency of a package.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether it is only for tests and examples.
    pub(crate) is_dev: bool,
    /// Whether a published package has it. Cargo removes dev-dependencies without a version.
    pub(crate) is_published: bool,
}

impl Package {
    /// Whether it is one of the library crates, `crates/*`.
    pub(crate) fn is_library(&self) -> bool {
        self.is_ours && self.dir.parent() == Some(&tools::root().join("crates"))
    }
}

/// All packages of the lock file, which must be up to date.
pub(crate) fn packages() -> Result<Vec<Package>> {
    let json = tools::read(&mut tools::cargo(["metadata", "--format-version=1", "--locked"]))?;
    parse(&serde_json::from_str(&json)?)
}

/// The members of the workspace.
pub(crate) fn members() -> Result<Vec<Package>> {
    members_of(&tools::root())
}

/// The members of the workspace in this folder.
pub(crate) fn members_of(root: &Path) -> Result<Vec<Package>> {
    let mut cargo = tools::cargo(["metadata", "--format-version=1", "--no-deps"]);
    let json = tools::read(cargo.current_dir(root))?;
    parse(&serde_json::from_str(&json)?)
}

/// The target folder of cargo.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let json = tools::read(&mut tools::cargo(["metadata", "--format-version=1", "--no-deps"]))?;
    let json: Value = serde_json::from_str(&json)?;
    Ok(text(&json, "target_directory")?.into())
}

fn parse(metadata: &Value) -> Result<Vec<Package>> {
    let members = list(metadata, "workspace_members");
    list(metadata, "packages")
        .iter()
        .map(|package| {
            let dir = Path::new(text(package, "manifest_path")?).parent();
            let optional = |name: &str| package[name].as_str().map(str::to_owned);
            Ok(Package {
                name: text(package, "name")?.to_owned(),
                version: text(package, "version")?.to_owned(),
                licence: optional("license"),
                rust_version: optional("rust_version"),
                dir: dir.context("a manifest has a folder")?.to_owned(),
                dependencies: list(package, "dependencies")
                    .iter()
                    .map(dependency)
                    .collect::<Result<_>>()?,
                bins: list(package, "targets")
                    .iter()
                    .filter(|target| list(target, "kind").contains(&"bin".into()))
                    .map(|target| text(target, "name").map(str::to_owned))
                    .collect::<Result<_>>()?,
                features: package["features"]
                    .as_object()
                    .map(|features| features.keys().cloned().collect())
                    .unwrap_or_default(),
                is_ours: members.contains(&package["id"]),
                listing: listing(package),
            })
        })
        .collect()
}

fn dependency(dependency: &Value) -> Result<Dependency> {
    let is_dev = dependency["kind"] == "dev";
    Ok(Dependency {
        name: text(dependency, "name")?.to_owned(),
        is_dev,
        is_published: !is_dev || dependency["req"] != "*",
    })
}

fn listing(package: &Value) -> Listing {
    let optional = |name: &str| package[name].as_str().map(str::to_owned);
    let docs_rs = &package["metadata"]["docs"]["rs"];
    Listing {
        description: optional("description"),
        documentation: optional("documentation"),
        repository: optional("repository"),
        readme: optional("readme"),
        categories: list(package, "categories").len(),
        keywords: list(package, "keywords").len(),
        documents_features: docs_rs["all-features"] == true
            && list(docs_rs, "rustdoc-args") == ["--cfg", "docsrs"],
        is_private: package["publish"].as_array().is_some_and(Vec::is_empty),
    }
}

fn text<'a>(object: &'a Value, name: &str) -> Result<&'a str> {
    object[name].as_str().with_context(|| format!("cargo's metadata has no `{name}` here"))
}

fn list<'a>(object: &'a Value, name: &str) -> &'a [Value] {
    object[name].as_array().map_or(&[], Vec::as_slice)
}
