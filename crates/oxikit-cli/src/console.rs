//! Shows the lines of the application and of the developer tools, each with a prefix.
//!
//! A separate thread writes the lines. A stopped terminal (Ctrl-S) or a pipe without a reader
//! blocks only that thread: callers never wait, and lines that do not fit into the queue are
//! dropped and counted.

mod queue;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;

use crate::terminal::{self, Text, pad};
use queue::Queue;

/// The prefix of lines of the developer tools.
const OWN_NAME: &str = "oxikit";
/// Maximum number of columns of a prefix. A longer application name is cut.
const MAX_PREFIX: usize = 32;
/// Maximum number of bytes that are collected before they are written in one call.
const BATCH_BYTES: usize = 32 << 10;

/// The output of a process that a line came from, or that a line is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pipe {
    Out,
    Err,
}

/// A handle to the console. Clones refer to the same console.
#[derive(Debug, Clone)]
pub(crate) struct Console(Arc<Handle>);

/// Closes the queue, and thereby ends the thread, when the last handle is dropped.
#[derive(Debug)]
struct Handle(Arc<Queue<Entry>>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[derive(Debug)]
enum Entry {
    App(Pipe, String),
    /// A line of the application that was already shown.
    AppRepeated(String),
    Own(String),
    Warning(String),
    Flush(oneshot::Sender<()>),
}

impl Console {
    /// Starts the thread. Lines of the application get this name as their prefix. With
    /// `is_json` each line is written as `{"process","stream","line"}`.
    pub(crate) fn start(app_name: &str, is_json: bool) -> Self {
        Self::start_with(app_name, if is_json { as_json } else { as_text })
    }

    /// Starts the thread with text output to the standard error only, for commands that use
    /// the standard output for something else.
    pub(crate) fn start_on_stderr(app_name: &str) -> Self {
        Self::start_with(app_name, as_text_on_stderr)
    }

    fn start_with(app_name: &str, render: Render) -> Self {
        let queue = Arc::new(Queue::default());
        let (entries, app_name) = (queue.clone(), terminal::cut(app_name, MAX_PREFIX));
        std::thread::spawn(move || write_all(&entries, &app_name, render));
        Self(Arc::new(Handle(queue)))
    }

    /// Shows a line of the application.
    pub(crate) fn app_line(&self, pipe: Pipe, line: String) {
        self.0.0.push(line.len(), Entry::App(pipe, line));
    }

    /// Shows a line of the application again, among the lines of the developer tools.
    pub(crate) fn repeat_app_line(&self, line: String) {
        self.0.0.push_own(line.len(), Entry::AppRepeated(line));
    }

    /// Shows a line of the developer tools.
    pub(crate) fn info(&self, line: impl Into<String>) {
        let line = line.into();
        self.0.0.push_own(line.len(), Entry::Own(line));
    }

    /// Shows a line of the developer tools, highlighted.
    pub(crate) fn warn(&self, line: impl Into<String>) {
        let line = line.into();
        self.0.0.push_own(line.len(), Entry::Warning(line));
    }

    /// A writer for the log of the developer tools.
    pub(crate) fn log_writer(&self) -> LogWriter {
        LogWriter(self.clone())
    }

    /// Waits until all lines so far are written, at most for this time.
    pub(crate) async fn flush(&self, within: Duration) {
        let (tx, rx) = oneshot::channel();
        self.0.0.push_always(Entry::Flush(tx));
        _ = tokio::time::timeout(within, rx).await;
    }
}

/// See [`Console::log_writer`].
#[derive(Debug)]
pub(crate) struct LogWriter(Console);

impl Write for LogWriter {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(text).lines() {
            self.0.info(line);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Renders a line and selects the output to write it to.
type Render = fn(&Line<'_>) -> (Pipe, Text);

struct Line<'a> {
    process: &'a str,
    /// The width of the prefixes.
    width: usize,
    pipe: Pipe,
    kind: Kind,
    text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    App,
    AppRepeated,
    Own,
    Warning,
}

fn write_all(entries: &Queue<Entry>, app_name: &str, render: Render) {
    let width = terminal::width(app_name).max(OWN_NAME.len());
    let mut batch = Batch::default();
    let line = |batch: &mut Batch, process, pipe, kind, text: &str| {
        let (pipe, text) = render(&Line { process, width, pipe, kind, text });
        batch.add(pipe, text);
    };
    while let Some((dropped, waiting)) = entries.take() {
        for entry in waiting {
            match entry {
                Entry::App(pipe, text) => line(&mut batch, app_name, pipe, Kind::App, &text),
                Entry::AppRepeated(text) => {
                    line(&mut batch, OWN_NAME, Pipe::Out, Kind::AppRepeated, &text);
                }
                Entry::Own(text) => line(&mut batch, OWN_NAME, Pipe::Out, Kind::Own, &text),
                Entry::Warning(text) => line(&mut batch, OWN_NAME, Pipe::Out, Kind::Warning, &text),
                Entry::Flush(done) => {
                    batch.write();
                    _ = done.send(());
                }
            }
        }
        if dropped > 0 {
            let text = format!(
                "… {dropped} lines not shown: the application wrote them faster than they could be displayed"
            );
            line(&mut batch, OWN_NAME, Pipe::Out, Kind::Warning, &text);
        }
        batch.write();
    }
}

/// Rendered lines for one output, written with one call.
#[derive(Debug)]
struct Batch {
    pipe: Pipe,
    text: Text,
    bytes: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self { pipe: Pipe::Out, text: Text::new(), bytes: 0 }
    }
}

impl Batch {
    fn add(&mut self, pipe: Pipe, line: Text) {
        if pipe != self.pipe || self.bytes > BATCH_BYTES {
            self.write();
        }
        self.pipe = pipe;
        self.bytes += line.bytes();
        self.text = std::mem::take(&mut self.text).then(line);
    }

    fn write(&mut self) {
        self.bytes = 0;
        let text = std::mem::take(&mut self.text);
        match self.pipe {
            // A closed output is not an error.
            Pipe::Out => _ = terminal::write_out(&text),
            Pipe::Err => terminal::write_err(&text),
        }
    }
}

fn as_text(line: &Line<'_>) -> (Pipe, Text) {
    let Line { process, width, pipe, kind, text } = *line;
    let prefix = format!("{} |", pad(process, width));
    let shown = match kind {
        Kind::App => Text::new().cyan(prefix).plain(" ").application(text),
        Kind::AppRepeated => Text::new().green(prefix).plain(" ").application(text),
        Kind::Own => Text::new().green(prefix).plain(" ").plain(text),
        Kind::Warning => Text::new().green(prefix).plain(" ").yellow(text),
    };
    (pipe, shown.end())
}

fn as_text_on_stderr(line: &Line<'_>) -> (Pipe, Text) {
    (Pipe::Err, as_text(line).1)
}

fn as_json(line: &Line<'_>) -> (Pipe, Text) {
    let stream = match line.pipe {
        Pipe::Out => "stdout",
        Pipe::Err => "stderr",
    };
    let value = json!({"process": line.process, "stream": stream, "line": line.text});
    (Pipe::Out, Text::new().lines(value).end())
}
