//! Figures of a crate: lines, public items, documentation, comments, and its functions.

use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenTree};

use super::source::{Crate, File, is_item_keyword};

/// The figures of one crate, without its tests.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(crate) struct Figures {
    pub(crate) lines: usize,
    /// Lines that are not blank; the shares of documentation and comments are of these.
    filled: usize,
    documentation: usize,
    comments: usize,
    /// Items that are `pub` and not `pub(crate)` or the like. The lint `unreachable_pub` makes
    /// sure that they can be reached from outside.
    pub(crate) public_items: usize,
}

/// A function with a body.
#[derive(Debug, PartialEq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
    pub(crate) lines: usize,
}

impl Figures {
    pub(crate) fn of(krate: &Crate) -> Self {
        let mut figures = Self::default();
        for file in &krate.files {
            figures.add_lines(file);
            figures.public_items += public_items(&file.tokens);
        }
        figures
    }

    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> Self {
        all.fold(Self::default(), |sum, next| Self {
            lines: sum.lines + next.lines,
            filled: sum.filled + next.filled,
            documentation: sum.documentation + next.documentation,
            comments: sum.comments + next.comments,
            public_items: sum.public_items + next.public_items,
        })
    }

    /// Lines of documentation, in percent of the lines that are not blank.
    pub(crate) fn documentation_share(&self) -> f64 {
        percent(self.documentation, self.filled)
    }

    /// Lines of comments that are not documentation, in percent of the lines that are not blank.
    pub(crate) fn comment_share(&self) -> f64 {
        percent(self.comments, self.filled)
    }

    fn add_lines(&mut self, file: &File) {
        for (_, line) in &file.lines {
            let line = line.trim_start();
            self.lines += 1;
            self.filled += usize::from(!line.is_empty());
            let is_documentation = line.starts_with("///") || line.starts_with("//!");
            self.documentation += usize::from(is_documentation);
            self.comments += usize::from(line.starts_with("//") && !is_documentation);
        }
    }
}

pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    100.0 * part as f64 / whole as f64
}

fn public_items(tokens: &[TokenTree]) -> usize {
    let mut count = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(ident) if ident == "pub" => {
                let is_item = tokens
                    .get(at + 1)
                    .is_some_and(|next| is_item_keyword(next) && next.to_string() != "use");
                count += usize::from(is_item);
            }
            TokenTree::Group(group) => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                count += public_items(&inside);
            }
            _ => {}
        }
    }
    count
}

/// The functions of these crates, the longest first.
pub(crate) fn functions(crates: &[Crate]) -> Vec<Function> {
    let mut found = Vec::new();
    for file in crates.iter().flat_map(|krate| &krate.files) {
        functions_of(&file.tokens, &file.path, &mut found);
    }
    found.sort_by(|a, b| b.lines.cmp(&a.lines).then_with(|| a.name.cmp(&b.name)));
    found
}

fn functions_of(tokens: &[TokenTree], file: &Path, found: &mut Vec<Function>) {
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(keyword), Some(TokenTree::Ident(name))) if keyword == "fn" => {
                let Some(body) = body(&tokens[at..]) else {
                    continue;
                };
                let (line, end) = (keyword.span().start().line, body.span().end().line);
                let name = name.to_string();
                found.push(Function { name, file: file.to_owned(), line, lines: end - line + 1 });
            }
            (TokenTree::Group(group), _) => {
                let inside: Vec<_> = group.stream().into_iter().collect();
                functions_of(&inside, file, found);
            }
            _ => {}
        }
    }
}

/// The body of the function that begins here; a function of a trait may have none.
fn body(tokens: &[TokenTree]) -> Option<&TokenTree> {
    let end = tokens.iter().find(|token| match token {
        TokenTree::Punct(punct) => punct.as_char() == ';',
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        _ => false,
    });
    end.filter(|token| matches!(token, TokenTree::Group(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::source::crate_of;

    #[test]
    fn lines_are_counted_by_kind() {
        let text = "//! About.\n\n/// A.\npub fn a() {\n    // Why.\n    b(); // Not a line of its own.\n}\n";
        let figures = Figures::of(&crate_of(&[("lib.rs", text)]));
        let expected =
            Figures { lines: 7, filled: 6, documentation: 2, comments: 1, public_items: 1 };
        assert_eq!(figures, expected);
        assert_eq!(Figures::sum([figures, figures].into_iter()).lines, 14);
    }

    #[test]
    fn public_items_are_those_that_other_crates_see() {
        let text = "pub struct A { pub b: u32 }\npub(crate) struct C;\nimpl A { pub async fn d() {} fn e() {} pub const F: u32 = 1; }\npub use g::H;";
        assert_eq!(Figures::of(&crate_of(&[("lib.rs", text)])).public_items, 3);
    }

    #[test]
    fn functions_have_their_lines_and_the_longest_is_first() {
        let text = "trait A { fn b();\nfn c() {} }\nfn d(e: fn() -> u32)\nwhere F: G,\n{\n}\n";
        let found: Vec<_> = functions(&[crate_of(&[("lib.rs", text)])])
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        assert_eq!(found, [("d".to_owned(), 3, 4), ("c".to_owned(), 2, 1)]);
    }
}
