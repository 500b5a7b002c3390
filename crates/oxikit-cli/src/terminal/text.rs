//! Text that is escaped and may have colours.

use std::fmt::Display;

use super::columns::{ELLIPSIS, is_wider, prefix, width};
use super::visible;

/// Text that is safe to write to a terminal: escaped pieces, each with a colour. Every method
/// that adds text escapes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// Escaped.
    text: String,
    /// The parameters of `ESC [ … m`.
    style: Option<&'static str>,
}

impl Text {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds text of one line. Line breaks are escaped.
    pub(crate) fn plain(self, text: impl Display) -> Self {
        self.with(None, text)
    }

    /// Adds text of several lines.
    pub(crate) fn lines(mut self, text: impl Display) -> Self {
        let text = visible::lines(&text.to_string()).into_owned();
        self.0.push(Piece { text, style: None });
        self
    }

    /// Adds text of several lines and indents all but the first, so that text of others cannot
    /// imitate a line of this program.
    pub(crate) fn paragraph(self, text: impl Display) -> Self {
        let text = visible::lines(&text.to_string()).replace('\n', "\n  ");
        self.lines(text)
    }

    /// Adds a line of an application and keeps its colours.
    pub(crate) fn application(mut self, text: &str) -> Self {
        let text = visible::application_line(text).into_owned();
        self.0.push(Piece { text, style: None });
        self
    }

    pub(crate) fn bold(self, text: impl Display) -> Self {
        self.with(Some("1"), text)
    }

    pub(crate) fn dimmed(self, text: impl Display) -> Self {
        self.with(Some("2"), text)
    }

    pub(crate) fn red(self, text: impl Display) -> Self {
        self.with(Some("31"), text)
    }

    pub(crate) fn bold_red(self, text: impl Display) -> Self {
        self.with(Some("1;31"), text)
    }

    pub(crate) fn green(self, text: impl Display) -> Self {
        self.with(Some("32"), text)
    }

    pub(crate) fn yellow(self, text: impl Display) -> Self {
        self.with(Some("33"), text)
    }

    pub(crate) fn cyan(self, text: impl Display) -> Self {
        self.with(Some("36"), text)
    }

    /// Appends another text.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The number of bytes, without colours.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|piece| piece.text.len()).sum()
    }

    /// Ends the line.
    pub(crate) fn end(self) -> Self {
        self.lines("\n")
    }

    /// Cuts text of one line to a maximum number of columns. Cut text ends with `…`.
    pub(crate) fn cut(self, columns: usize) -> Self {
        if !is_wider(&self.0.iter().map(|piece| &*piece.text).collect::<String>(), columns) {
            return self;
        }
        // One column is reserved for the ellipsis.
        let mut left = columns.saturating_sub(1);
        let mut pieces = Vec::with_capacity(self.0.len());
        for Piece { text, style } in self.0 {
            let kept = prefix(&text, left).to_owned();
            let is_cut = kept.len() < text.len();
            left = left.saturating_sub(width(&kept));
            pieces.push(Piece { text: kept, style });
            if is_cut {
                break;
            }
        }
        pieces.push(Piece { text: ELLIPSIS.to_string(), style: None });
        Self(pieces)
    }

    /// The text with the escape sequences of its colours.
    pub(super) fn rendered(&self) -> String {
        let mut rendered = String::new();
        for Piece { text, style } in &self.0 {
            match style.filter(|_| !text.is_empty()) {
                Some(style) => rendered.push_str(&format!("\u{1b}[{style}m{text}\u{1b}[0m")),
                None => rendered.push_str(text),
            }
        }
        rendered
    }

    /// The text without colours.
    #[cfg(test)]
    pub(crate) fn uncoloured(&self) -> String {
        self.0.iter().map(|piece| piece.text.as_str()).collect()
    }

    fn with(mut self, style: Option<&'static str>, text: impl Display) -> Self {
        let text = visible::line(&text.to_string()).into_owned();
        self.0.push(Piece { text, style });
        self
    }
}

/// Text that stays on its line, without colours.
impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new().plain(text)
    }
}

/// Text that stays on its line, without colours.
impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::new().plain(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_colours_are_rendered() {
        let text = Text::new().bold("\u{1b}[31mname").plain("\n").dimmed("").red("x").end();
        let expected = "\u{1b}[1m\\u001b[31mname\u{1b}[0m\\n\u{1b}[31mx\u{1b}[0m\n";
        assert_eq!(text.rendered(), expected);
    }

    #[test]
    fn a_row_is_cut_over_its_pieces() {
        let text = Text::new().bold("name").plain(" ").dimmed("and a long rest");
        assert_eq!(text.clone().cut(40), text);
        assert_eq!(text.clone().cut(9).uncoloured(), "name and…");
        assert_eq!(text.clone().cut(5).uncoloured(), "name…");
        assert_eq!(text.cut(3).uncoloured(), "na…");
    }
}
