//! The only place that writes to the standard output and the standard error.
//!
//! Names, results and messages come from applications and files that others have
//! written. All text is escaped on its way out, so that no control character of theirs
//! reaches a terminal; colours of our own are added to a [`Text`] after that. The
//! functions of the standard library that write past this module are disallowed in the
//! crate's `clippy.toml`.

mod columns;
mod text;
mod visible;

use std::io::{self, IsTerminal, Write};

pub(crate) use columns::{cut, pad, width};
pub(crate) use text::Text;
pub(crate) use visible::{json_line, json_lines, line};

/// Writes text to the standard output and flushes it.
pub(crate) fn write_out(text: &Text) -> io::Result<()> {
    write_all(out(), text.rendered().as_bytes())
}

/// Writes JSON to the standard output on one line.
pub(crate) fn write_json(json: &str) -> io::Result<()> {
    let mut line = json_line(json).into_owned();
    line.push('\n');
    write_all(out(), line.as_bytes())
}

/// Writes text to the standard error. A failure is ignored: the text is an addition
/// that no caller depends on.
pub(crate) fn write_err(text: &Text) {
    _ = write_all(err(), text.rendered().as_bytes());
}

/// Replaces the current line of the terminal on the standard error; if that is not a
/// terminal, nothing is written.
pub(crate) fn write_progress(text: &str) {
    if is_err_terminal() {
        // `ESC [ K` erases the rest of the previous text.
        _ = write_all(err(), format!("\r\x1b[K{}", line(text)).as_bytes());
    }
}

/// Whether the standard output is a terminal.
pub(crate) fn is_out_terminal() -> bool {
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    io::stdout().is_terminal()
}

/// Whether the standard error is a terminal.
pub(crate) fn is_err_terminal() -> bool {
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    io::stderr().is_terminal()
}

/// The width of the terminal on the standard output; `None` if it is not a terminal.
pub(crate) fn out_columns() -> Option<usize> {
    if !is_out_terminal() {
        return None;
    }
    #[expect(clippy::disallowed_methods, reason = "nothing is written")]
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

fn write_all(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// The standard output. Colours are removed if it is not a terminal, or with `NO_COLOR`.
#[expect(clippy::disallowed_methods, reason = "this is the place that all output goes through")]
fn out() -> impl Write {
    anstream::stdout()
}

/// The standard error, see [`out`].
#[expect(clippy::disallowed_methods, reason = "this is the place that all output goes through")]
fn err() -> impl Write {
    anstream::stderr()
}
