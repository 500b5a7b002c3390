//! The output of a render: a list of pieces with a limit of bytes.

use oxikit_wire::Role;

use crate::error::{Error, Result};

/// A piece of a rendered template. Only helpers make the other kinds, so text
/// can never be mistaken for them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    /// `{{role "…"}}`: a message of this role starts.
    Role(Role),
    /// `{{history}}`: the place of the conversation so far.
    History,
    /// `{{media url=… contentType=…}}`.
    Media {
        url: String,
        content_type: Option<String>,
    },
    /// `{{section "…"}}`: a placeholder of this name.
    Section(String),
}

/// The pieces so far, and the number of bytes that may still be written.
#[derive(Debug)]
pub(crate) struct Output {
    pieces: Vec<Piece>,
    bytes_left: usize,
    /// The limit of the whole render, for the message of the error.
    limit: usize,
}

impl Output {
    pub(crate) fn new(limit: usize) -> Self {
        Self { pieces: Vec::new(), bytes_left: limit, limit }
    }

    pub(crate) fn into_pieces(self) -> Vec<Piece> {
        self.pieces
    }

    /// Appends text. Adjacent texts become one piece, so that they become one part of a message.
    ///
    /// # Errors
    ///
    /// If the output exceeds its limit.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        self.charge(text.len())?;
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
        Ok(())
    }

    /// Appends a piece.
    ///
    /// # Errors
    ///
    /// If the output exceeds its limit. A marker counts with its size in memory, so that a loop
    /// of markers ends too.
    pub(crate) fn piece(&mut self, piece: Piece) -> Result<()> {
        let size = match &piece {
            Piece::Text(text) => return self.text(text),
            Piece::Media { url, .. } => url.len(),
            Piece::Section(name) => name.len(),
            Piece::Role(_) | Piece::History => 0,
        };
        self.charge(size + size_of::<Piece>())?;
        self.pieces.push(piece);
        Ok(())
    }

    /// Removes and returns the pieces so far, so that only the pieces that follow are indented.
    /// Pass them to [`Output::indent`] afterwards.
    pub(crate) fn set_aside(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pieces)
    }

    /// Puts `before` back in front, and `indent` at the start of each line
    /// written since. An empty last line stays empty.
    ///
    /// # Errors
    ///
    /// If the output exceeds its limit by the indentation.
    pub(crate) fn indent(&mut self, before: Vec<Piece>, indent: &str) -> Result<()> {
        let written = std::mem::replace(&mut self.pieces, before);
        let mut at_line_start = true;
        for piece in written {
            let Piece::Text(text) = piece else {
                if at_line_start {
                    self.text(indent)?;
                }
                at_line_start = false;
                self.pieces.push(piece);
                continue;
            };
            for line in text.split_inclusive('\n') {
                if at_line_start {
                    self.text(indent)?;
                }
                // The line was counted when it was first written.
                self.bytes_left += line.len();
                self.text(line)?;
                at_line_start = line.ends_with('\n');
            }
        }
        Ok(())
    }

    /// Counts bytes against the limit.
    fn charge(&mut self, bytes: usize) -> Result<()> {
        self.bytes_left = self.bytes_left.checked_sub(bytes).ok_or_else(|| {
            Error::limit(format!(
                "the template writes more than {} bytes; does it repeat itself?",
                self.limit
            ))
        })?;
        Ok(())
    }
}
