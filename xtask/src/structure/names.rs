//! Which module a path of a module leads to: through `crate`, `super` and `self`, through
//! names that the module imports, and through re-exports.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenTree};

use super::source::{Crate, Module, ModulePath, child};

/// Re-exports that lead to re-exports are followed this often.
const MAX_STEPS: usize = 16;

/// A path as it is written, such as `super::a::B`, or one branch of a `use` with groups.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    pub(crate) segments: Vec<String>,
    /// The name under which a `use` brings it in; `*` for all names.
    alias: Option<String>,
    pub(crate) line: usize,
}

/// The owner of a name that a module re-exports with `pub use`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ReExports {
    /// It belongs to the module that defines it.
    Followed,
    /// It belongs to the module that re-exports it, as the path is written.
    AsWritten,
}

/// The names of every module of a crate.
#[derive(Debug)]
pub(crate) struct Names {
    modules: BTreeMap<ModulePath, Scope>,
    re_exports: ReExports,
}

#[derive(Debug, Default)]
struct Scope {
    items: BTreeSet<String>,
    imports: Vec<Path>,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Module(ModulePath),
    /// An item of this module.
    Item(ModulePath),
}

impl Names {
    pub(crate) fn of(krate: &Crate, re_exports: ReExports) -> Self {
        let mut modules: BTreeMap<ModulePath, Scope> = BTreeMap::new();
        for module in &krate.modules {
            let scope = modules.entry(module.path.clone()).or_default();
            scope.items.extend(item_names(&module.tokens));
            scope.imports.extend(imports(&module.tokens));
        }
        Self { modules, re_exports }
    }

    /// The module of this crate that the path leads into; `None` where it leads to another
    /// crate, or to something that is not known by name, such as a generic parameter.
    pub(crate) fn target(&self, module: &Module, path: &Path) -> Option<ModulePath> {
        let target = self.resolve(&module.path, &path.segments, MAX_STEPS)?;
        Some(match target {
            Target::Module(path) | Target::Item(path) => path,
        })
    }

    fn resolve(&self, from: &[String], segments: &[String], steps: usize) -> Option<Target> {
        let steps = steps.checked_sub(1)?;
        let (first, rest) = segments.split_first()?;
        let mut at = match first.as_str() {
            "crate" => ModulePath::new(),
            "self" => from.to_vec(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            name => match self.lookup(from, name, steps)? {
                Target::Module(path) => path,
                item @ Target::Item(_) => return Some(item),
            },
        };
        for segment in rest {
            if segment == "super" {
                at.pop();
                continue;
            }
            let found = match self.re_exports {
                ReExports::AsWritten if at != from => self.defined(&at, segment),
                _ => self.lookup(&at, segment, steps),
            };
            match found {
                Some(Target::Module(path)) => at = path,
                Some(item) => return Some(item),
                None => return Some(Target::Item(at)),
            }
        }
        Some(Target::Module(at))
    }

    /// The target of a name inside of a module.
    fn lookup(&self, module: &[String], name: &str, steps: usize) -> Option<Target> {
        self.defined(module, name).or_else(|| self.imported(module, name, steps))
    }

    fn defined(&self, module: &[String], name: &str) -> Option<Target> {
        let inner = child(module, name);
        if self.modules.contains_key(&inner) {
            return Some(Target::Module(inner));
        }
        let scope = self.modules.get(module)?;
        scope.items.contains(name).then(|| Target::Item(module.to_vec()))
    }

    fn imported(&self, module: &[String], name: &str, steps: usize) -> Option<Target> {
        let scope = self.modules.get(module)?;
        // `use a::a` brings in the `a` of another crate or of a parent, never itself.
        let named = scope.imports.iter().filter(|import| import.alias.as_deref() == Some(name));
        let found = named
            .filter(|import| import.segments.len() > 1 || import.segments[0] != name)
            .find_map(|import| self.resolve(module, &import.segments, steps));
        found.or_else(|| {
            let globs = scope.imports.iter().filter(|import| import.alias.as_deref() == Some("*"));
            globs.into_iter().find_map(|import| {
                match self.resolve(module, &import.segments, steps)? {
                    Target::Module(path) if path != module => {
                        self.lookup(&path, name, steps.checked_sub(1)?)
                    }
                    _ => None,
                }
            })
        })
    }
}

/// All paths with at least two segments, in code, in types, in `use` and inside of macro calls.
pub(crate) fn paths(tokens: &[TokenTree]) -> Vec<Path> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            // The name of a field or method, or a segment after `<T>::`.
            TokenTree::Ident(_)
                if !follows_a_receiver(tokens, at) && is_separator(tokens, at + 1) =>
            {
                at = read_path(tokens, at, &[], &mut found);
                continue;
            }
            TokenTree::Group(group) => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                found.extend(paths(&inside));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Reads a path with all branches of its groups. Returns the position of its end.
fn read_path(tokens: &[TokenTree], at: usize, prefix: &[String], found: &mut Vec<Path>) -> usize {
    let mut segments = prefix.to_vec();
    let mut at = at;
    let line = tokens.get(at).map_or(0, |token| token.span().start().line);
    loop {
        match tokens.get(at) {
            Some(TokenTree::Ident(name)) => {
                // `a::{self}` is `a`.
                if segments.is_empty() || name != "self" {
                    segments.push(name.to_string());
                }
                at += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                for branch in inside.split(|token| is_punct(Some(token), ',')) {
                    if !branch.is_empty() {
                        read_path(branch, 0, &segments, found);
                    }
                }
                return at + 1;
            }
            Some(token) if is_punct(Some(token), '*') => {
                found.push(Path { segments, alias: Some("*".to_owned()), line });
                return at + 1;
            }
            _ => break,
        }
        if !is_separator(tokens, at) {
            break;
        }
        at += 2;
    }
    let alias = match &tokens[at.min(tokens.len())..] {
        [TokenTree::Ident(keyword), TokenTree::Ident(alias), ..] if keyword == "as" => {
            Some(alias.to_string())
        }
        _ => segments.last().cloned(),
    };
    found.push(Path { segments, alias, line });
    at
}

fn imports(tokens: &[TokenTree]) -> Vec<Path> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(keyword) if keyword == "use" => {
                let start = if is_separator(tokens, at + 1) { at + 3 } else { at + 1 };
                read_path(tokens, start, &[], &mut found);
            }
            // Functions may have a `use` of their own.
            TokenTree::Group(group) => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                found.extend(imports(&inside));
            }
            _ => {}
        }
    }
    found
}

fn item_names(tokens: &[TokenTree]) -> impl Iterator<Item = String> {
    const NAMED: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "type", "static", "union"];
    tokens.windows(2).filter_map(|pair| match pair {
        [TokenTree::Ident(keyword), TokenTree::Ident(name)]
            if NAMED.iter().any(|named| keyword == named) =>
        {
            Some(name.to_string())
        }
        _ => None,
    })
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens.get(at), ':') && is_punct(tokens.get(at + 1), ':')
}

fn follows_a_receiver(tokens: &[TokenTree], at: usize) -> bool {
    let before = at.checked_sub(1).map(|at| &tokens[at]);
    is_punct(before, '.') || (is_punct(before, ':') && at >= 2 && is_punct(tokens.get(at - 2), ':'))
}

fn is_punct(token: Option<&TokenTree>, expected: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == expected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::source::crate_of;

    fn written(text: &str) -> Vec<String> {
        let tokens: Vec<_> =
            text.parse::<proc_macro2::TokenStream>().unwrap().into_iter().collect();
        paths(&tokens).iter().map(|path| path.segments.join("::")).collect()
    }

    /// The modules that `user` leads to, in a crate with these files.
    fn targets(user: &str, files: &[(&str, &str)], re_exports: ReExports) -> Vec<String> {
        let sample = crate_of(files);
        let names = Names::of(&sample, re_exports);
        let module = sample.modules.iter().find(|module| module.path.join("::") == user).unwrap();
        let targets = paths(&module.tokens)
            .into_iter()
            .filter_map(|path| names.target(module, &path))
            .map(|path| format!("crate::{}", path.join("::")));
        targets.collect()
    }

    #[test]
    fn groups_are_read_branch_by_branch() {
        assert_eq!(
            written("use crate::{a::{self, B as C}, d::*, E};"),
            ["crate::a", "crate::a::B", "crate::d", "crate::E"]
        );
    }

    #[test]
    fn paths_are_found_in_code_and_in_macro_calls() {
        assert_eq!(
            written(
                "fn a(b: &super::C<self::D>) -> E { f!(\"crate::g\", crate::h::i()); j.k::<l::M>(); <N as O>::p::Q }"
            ),
            ["super::C", "self::D", "crate::h::i", "l::M"]
        );
    }

    #[test]
    fn a_name_that_is_imported_or_re_exported_leads_to_its_module() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use b::Inner as Shown; pub use c::*;"),
            ("b.rs", "pub struct Inner;"),
            ("c.rs", "pub struct Star;"),
            (
                "a.rs",
                "use crate::Shown; use crate::b; fn x() { b::y(); Shown::new(); crate::Star::z(); serde::w() }",
            ),
        ];
        assert_eq!(
            targets("a", &files, ReExports::Followed),
            ["crate::b", "crate::b", "crate::b", "crate::b", "crate::c"]
        );
        assert_eq!(
            targets("a", &files, ReExports::AsWritten),
            ["crate::", "crate::b", "crate::b", "crate::", "crate::"]
        );
    }

    #[test]
    fn parents_and_children_are_found() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod b; mod c; fn x() { b::y() }"),
            ("a/b.rs", "pub fn y() { super::c::z(); super::super::w(); self::v::u() }"),
            ("a/c.rs", ""),
        ];
        assert_eq!(targets("a", &files, ReExports::Followed), ["crate::a::b"]);
        assert_eq!(
            targets("a::b", &files, ReExports::Followed),
            ["crate::a::c", "crate::", "crate::a::b"]
        );
    }
}
