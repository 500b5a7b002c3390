//! What `oxikit start` shows: lines of the application and its own, one prefix each.
//!
//! A thread of its own writes, so that a terminal that is stopped does not stop the
//! tools. What nobody reads is dropped quietly.

use std::io::{self, Write};

use owo_colors::OwoColorize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

/// The name of the tools among the prefixes.
const OWN_NAME: &str = "oxikit";
/// So many lines wait for a slow terminal; then the writers wait.
const QUEUE: usize = 256;

/// Which of its two outputs a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pipe {
    Out,
    Err,
}

/// Where lines are shown. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Console(mpsc::Sender<Entry>);

#[derive(Debug)]
enum Entry {
    App(Pipe, String),
    Own(String),
    Warning(String),
    Flush(oneshot::Sender<()>),
}

impl Console {
    /// Starts to show; lines of the application begin with this name. As JSON each
    /// line is `{"process","stream","line"}`.
    pub(crate) fn start(app_name: String, is_json: bool) -> Self {
        Self::start_with(app_name, if is_json { write_json } else { write_text })
    }

    fn start_with(app_name: String, write: WriteLine) -> Self {
        let (tx, rx) = mpsc::channel(QUEUE);
        std::thread::spawn(move || write_all(rx, &app_name, write));
        Self(tx)
    }

    /// The same as text, with nothing on the standard output: it is somebody else's.
    pub(crate) fn start_beside(app_name: String) -> Self {
        Self::start_with(app_name, write_beside)
    }

    /// A line of the application. Waits while too many are waiting.
    pub(crate) async fn app_line(&self, pipe: Pipe, line: String) {
        self.send(Entry::App(pipe, line)).await;
    }

    /// A line of our own.
    pub(crate) async fn say(&self, line: impl Into<String>) {
        self.send(Entry::Own(line.into())).await;
    }

    /// A line of our own that should be noticed.
    pub(crate) async fn warn(&self, line: impl Into<String>) {
        self.send(Entry::Warning(line.into())).await;
    }

    /// Takes lines of the log of the tools. It cannot wait: lines that do not fit are
    /// left out.
    pub(crate) fn log_writer(&self) -> LogWriter {
        LogWriter(self.clone())
    }

    /// Returns when all lines so far are written.
    pub(crate) async fn flush(&self) {
        let (tx, rx) = oneshot::channel();
        self.send(Entry::Flush(tx)).await;
        _ = rx.await;
    }

    async fn send(&self, entry: Entry) {
        // The thread lives as long as we do.
        _ = self.0.send(entry).await;
    }
}

/// See [`Console::log_writer`].
#[derive(Debug)]
pub(crate) struct LogWriter(Console);

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(text).lines() {
            _ = self.0.0.try_send(Entry::Own(line.to_owned()));
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line of a process, padded to a width.
type WriteLine = fn(&Line<'_>) -> io::Result<()>;

struct Line<'a> {
    process: &'a str,
    /// The width of the prefixes.
    width: usize,
    pipe: Pipe,
    is_warning: bool,
    text: &'a str,
}

fn write_all(mut entries: mpsc::Receiver<Entry>, app_name: &str, write: WriteLine) {
    let width = app_name.chars().count().max(OWN_NAME.len());
    let line = |process, pipe, is_warning, text: &str| {
        // A reader who has left misses nothing.
        _ = write(&Line { process, width, pipe, is_warning, text });
    };
    while let Some(entry) = entries.blocking_recv() {
        match entry {
            Entry::App(pipe, text) => line(app_name, pipe, false, &text),
            Entry::Own(text) => line(OWN_NAME, Pipe::Out, false, &text),
            Entry::Warning(text) => line(OWN_NAME, Pipe::Out, true, &text),
            Entry::Flush(done) => _ = done.send(()),
        }
    }
}

fn write_text(line: &Line<'_>) -> io::Result<()> {
    let Line { process, width, text, .. } = line;
    let prefix = format!("{process:width$} |");
    match (*process == OWN_NAME, line.is_warning, line.pipe) {
        (true, true, _) => writeln!(anstream::stdout(), "{} {}", prefix.green(), text.yellow()),
        (true, false, _) => writeln!(anstream::stdout(), "{} {text}", prefix.green()),
        (false, _, Pipe::Out) => writeln!(anstream::stdout(), "{} {text}", prefix.cyan()),
        (false, _, Pipe::Err) => writeln!(anstream::stderr(), "{} {text}", prefix.cyan()),
    }
}

fn write_beside(line: &Line<'_>) -> io::Result<()> {
    let Line { process, width, text, .. } = line;
    writeln!(anstream::stderr(), "{process:width$} | {text}")
}

fn write_json(line: &Line<'_>) -> io::Result<()> {
    let stream = match line.pipe {
        Pipe::Out => "stdout",
        Pipe::Err => "stderr",
    };
    let value = json!({"process": line.process, "stream": stream, "line": line.text});
    writeln!(io::stdout(), "{value}")
}
