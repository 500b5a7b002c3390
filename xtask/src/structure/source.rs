//! The sources of one crate as tokens: its modules, without everything that is only built
//! for tests.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Names of modules from the root of the crate, which is the empty path.
pub(crate) type ModulePath = Vec<String>;

/// The sources of one package below `crates/`.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) files: Vec<File>,
    /// The modules of those files and the inline modules inside of them.
    pub(crate) modules: Vec<Module>,
}

/// A source file that is built without `cfg(test)`.
#[derive(Debug)]
pub(crate) struct File {
    /// Relative to the root of the repository.
    pub(crate) path: PathBuf,
    /// The lines outside of test items, with their numbers.
    pub(crate) lines: Vec<(usize, String)>,
    pub(crate) tokens: Vec<TokenTree>,
}

/// A module with the tokens that are its own: those of inline modules inside of it are not.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: ModulePath,
    pub(crate) file: PathBuf,
    pub(crate) tokens: Vec<TokenTree>,
}

impl Crate {
    /// Reads all crates of the folder `crates` below `root`, in the order of their names.
    pub(crate) fn read_all(root: &Path) -> Result<Vec<Self>> {
        let mut crates = Vec::new();
        for entry in std::fs::read_dir(root.join("crates"))? {
            let entry = entry?;
            if entry.path().join("Cargo.toml").is_file() {
                let name = entry.file_name().to_string_lossy().into_owned();
                crates.push(Self::read(root, name)?);
            }
        }
        crates.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(crates)
    }

    fn read(root: &Path, name: String) -> Result<Self> {
        let src = Path::new("crates").join(&name).join("src");
        let mut texts = Vec::new();
        for file in rust_files(&root.join(&src))? {
            let text = std::fs::read_to_string(&file)?;
            let inside = file.strip_prefix(root.join(&src)).unwrap_or(&file);
            texts.push((inside.to_owned(), text));
        }
        Self::from_texts(name, &src, texts)
    }

    /// A crate from the texts of its files; their paths are relative to `src`.
    pub(crate) fn from_texts(
        name: String,
        src: &Path,
        texts: Vec<(PathBuf, String)>,
    ) -> Result<Self> {
        let mut tests = BTreeSet::new();
        let mut parsed = Vec::new();
        for (inside, text) in texts {
            let path = src.join(&inside);
            let module = module_path(&inside);
            let stripped = Stripped::parse(&text)
                .with_context(|| format!("cannot read {}", path.display()))?;
            tests.extend(stripped.test_modules.iter().map(|name| child(&module, name)));
            parsed.push((module, path, text, stripped));
        }
        parsed.retain(|(module, ..)| !(1..=module.len()).any(|end| tests.contains(&module[..end])));
        let mut files = Vec::new();
        let mut modules = Vec::new();
        for (module, path, text, stripped) in parsed {
            split_modules(&stripped.tokens, module, &path, &mut modules);
            let lines = (1..).zip(text.lines().map(str::to_owned));
            let lines = lines.filter(|(line, _)| !stripped.is_removed(*line)).collect();
            files.push(File { path, lines, tokens: stripped.tokens });
        }
        Ok(Self { name, files, modules })
    }
}

pub(crate) fn child(module: &[String], name: &str) -> ModulePath {
    [module, &[name.to_owned()]].concat()
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// `a/b.rs` is the module `a::b`; `lib.rs` and `main.rs` are roots.
fn module_path(file: &Path) -> ModulePath {
    let parts = file.with_extension("");
    let mut path: ModulePath =
        parts.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if matches!(path.last().map(String::as_str), Some("lib" | "main")) && path.len() == 1 {
        path.clear();
    }
    path
}

/// Gives every inline module its own entry.
fn split_modules(tokens: &[TokenTree], path: ModulePath, file: &Path, modules: &mut Vec<Module>) {
    let mut own = Vec::new();
    let mut rest = tokens;
    while let Some((first, after)) = rest.split_first() {
        match rest {
            [
                TokenTree::Ident(keyword),
                TokenTree::Ident(name),
                TokenTree::Group(body),
                after @ ..,
            ] if keyword == "mod" && body.delimiter() == Delimiter::Brace => {
                let body: Vec<_> = body.stream().into_iter().collect();
                split_modules(&body, child(&path, &name.to_string()), file, modules);
                rest = after;
            }
            _ => {
                own.push(first.clone());
                rest = after;
            }
        }
    }
    modules.push(Module { path, file: file.to_owned(), tokens: own });
}

/// The tokens of a file without the items that have `#[cfg(test)]`.
#[derive(Debug, Default)]
struct Stripped {
    tokens: Vec<TokenTree>,
    removed: Vec<RangeInclusive<usize>>,
    /// Modules in files of their own that are only built for tests.
    test_modules: Vec<String>,
}

impl Stripped {
    fn parse(text: &str) -> Result<Self> {
        let tokens: TokenStream = text.parse().map_err(|error| {
            anyhow::anyhow!("these are not the tokens of a Rust program: {error}")
        })?;
        let mut stripped = Self::default();
        stripped.tokens = stripped.strip(tokens);
        Ok(stripped)
    }

    fn is_removed(&self, line: usize) -> bool {
        self.removed.iter().any(|range| range.contains(&line))
    }

    fn strip(&mut self, tokens: TokenStream) -> Vec<TokenTree> {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut kept = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            if is_test_attribute(&tokens[at..]) {
                let end = item_end(&tokens, at);
                self.remove(&tokens[at..end]);
                at = end;
                continue;
            }
            kept.push(match &tokens[at] {
                TokenTree::Group(group) => {
                    let inside = self.strip(group.stream()).into_iter().collect();
                    let mut copy = Group::new(group.delimiter(), inside);
                    copy.set_span(group.span());
                    TokenTree::Group(copy)
                }
                other => other.clone(),
            });
            at += 1;
        }
        kept
    }

    fn remove(&mut self, item: &[TokenTree]) {
        if let (Some(first), Some(last)) = (item.first(), item.last()) {
            self.removed.push(first.span().start().line..=last.span().end().line);
        }
        if let [.., TokenTree::Ident(keyword), TokenTree::Ident(name), TokenTree::Punct(end)] = item
            && keyword == "mod"
            && end.as_char() == ';'
        {
            self.test_modules.push(name.to_string());
        }
    }
}

/// Whether `#[cfg(test)]` or `#[cfg(all(test, …))]` begins here.
fn is_test_attribute(tokens: &[TokenTree]) -> bool {
    let [TokenTree::Punct(hash), TokenTree::Group(attribute), ..] = tokens else {
        return false;
    };
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    let needs_test = text == "cfg(test)"
        || text
            .strip_prefix("cfg(all(")
            .is_some_and(|list| list.split([',', ')']).any(|condition| condition == "test"));
    hash.as_char() == '#' && attribute.delimiter() == Delimiter::Bracket && needs_test
}

/// Where the item ends whose first attribute is at `start`.
fn item_end(tokens: &[TokenTree], start: usize) -> usize {
    let mut at = start;
    while let [TokenTree::Punct(hash), TokenTree::Group(_), ..] = &tokens[at..]
        && hash.as_char() == '#'
    {
        at += 2;
    }
    // A field, a variant or a match arm ends at a comma. The list of generics of an item
    // has commas too, so those of an item are passed over.
    let is_item = tokens[at..].iter().take(3).any(is_item_keyword);
    for (offset, token) in tokens[at..].iter().enumerate() {
        let is_end = match token {
            TokenTree::Punct(punct) => {
                punct.as_char() == ';' || (!is_item && punct.as_char() == ',')
            }
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        if is_end {
            return at + offset + 1;
        }
    }
    tokens.len()
}

/// Whether an item begins with this word, after its visibility.
pub(crate) fn is_item_keyword(token: &TokenTree) -> bool {
    const KEYWORDS: [&str; 14] = [
        "fn", "struct", "enum", "trait", "const", "type", "mod", "static", "union", "unsafe",
        "async", "impl", "use", "extern",
    ];
    matches!(token, TokenTree::Ident(ident) if KEYWORDS.iter().any(|keyword| ident == keyword))
}

#[cfg(test)]
pub(crate) fn crate_of(files: &[(&str, &str)]) -> Crate {
    let texts = files.iter().map(|(path, text)| (path.into(), (*text).to_owned())).collect();
    Crate::from_texts("sample".to_owned(), Path::new("crates/sample/src"), texts).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(files: &[(&str, &str)]) -> Vec<String> {
        let sample = crate_of(files);
        sample.files.iter().flat_map(|file| &file.lines).map(|(_, line)| line.clone()).collect()
    }

    #[test]
    fn test_modules_are_left_out_wherever_they_stand() {
        let lib = "fn a() {}\n#[cfg(test)]\nmod kit;\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}";
        assert_eq!(
            lines(&[("lib.rs", lib), ("kit.rs", "fn d() {}"), ("kit/deep.rs", "fn e() {}")]),
            ["fn a() {}", "fn c() {}"]
        );
    }

    #[test]
    fn only_the_test_item_is_left_out() {
        assert_eq!(
            lines(&[(
                "lib.rs",
                "impl A {\n#[cfg(test)]\n#[must_use]\npub fn a<B, C>() {}\nfn b() {}\n}"
            )]),
            ["impl A {", "fn b() {}", "}"]
        );
        assert_eq!(
            lines(&[("lib.rs", "struct A {\n#[cfg(test)]\na: u32,\nb: u32,\n}")]),
            ["struct A {", "b: u32,", "}"]
        );
        let kept = "#[cfg(any(test, feature = \"contract\"))]\nmod a {}";
        assert_eq!(lines(&[("lib.rs", kept)]).len(), 2);
        assert!(lines(&[("lib.rs", "#[cfg(all(test, unix))]\nmod a {}")]).is_empty());
    }

    #[test]
    fn inline_modules_are_modules() {
        let sample = crate_of(&[("a.rs", "mod b { mod c {} }"), ("lib.rs", "mod a;")]);
        let paths: Vec<_> = sample.modules.iter().map(|module| module.path.join("::")).collect();
        assert_eq!(paths, ["a::b::c", "a::b", "a", ""]);
    }
}
