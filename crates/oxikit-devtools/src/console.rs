//! What `oxikit start` shows: lines of the application and its own, one prefix each.
//!
//! A thread of its own writes. A terminal that is stopped, or a pipe that nobody reads,
//! stops that thread and nothing else: no caller ever waits for it, and lines that do
//! not fit into its queue are dropped and counted.

mod queue;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;

use crate::terminal::{self, Text, pad};
use queue::Queue;

/// The name of the tools among the prefixes.
const OWN_NAME: &str = "oxikit";
/// Maximum number of columns of a prefix. A longer name of an application is cut.
const MAX_PREFIX: usize = 32;
/// Lines are written together up to this number of bytes.
const BATCH_BYTES: usize = 32 << 10;

/// Which of its two outputs a line came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pipe {
    Out,
    Err,
}

/// Where lines are shown. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Console(Arc<Handle>);

/// The thread ends with the last console.
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
    /// A line of the application that is shown once more.
    AppAgain(String),
    Own(String),
    Warning(String),
    Flush(oneshot::Sender<()>),
}

impl Console {
    /// Starts to show; lines of the application begin with this name. As JSON each
    /// line is `{"process","stream","line"}`.
    pub(crate) fn start(app_name: &str, is_json: bool) -> Self {
        Self::start_with(app_name, if is_json { as_json } else { as_text })
    }

    /// The same as text, with nothing on the standard output: it is somebody else's.
    pub(crate) fn start_beside(app_name: &str) -> Self {
        Self::start_with(app_name, as_text_beside)
    }

    fn start_with(app_name: &str, render: Render) -> Self {
        let queue = Arc::new(Queue::default());
        let (entries, app_name) = (queue.clone(), terminal::cut(app_name, MAX_PREFIX));
        std::thread::spawn(move || write_all(&entries, &app_name, render));
        Self(Arc::new(Handle(queue)))
    }

    /// A line of the application.
    pub(crate) fn app_line(&self, pipe: Pipe, line: String) {
        self.0.0.push(line.len(), Entry::App(pipe, line));
    }

    /// A line of the application that was shown before.
    pub(crate) fn app_line_again(&self, line: String) {
        self.0.0.push_own(line.len(), Entry::AppAgain(line));
    }

    /// A line of our own.
    pub(crate) fn say(&self, line: impl Into<String>) {
        let line = line.into();
        self.0.0.push_own(line.len(), Entry::Own(line));
    }

    /// A line of our own that should be noticed.
    pub(crate) fn warn(&self, line: impl Into<String>) {
        let line = line.into();
        self.0.0.push_own(line.len(), Entry::Warning(line));
    }

    /// Takes lines of the log of the tools.
    pub(crate) fn log_writer(&self) -> LogWriter {
        LogWriter(self.clone())
    }

    /// Returns when all lines so far are written, or the time is over.
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
            self.0.say(line);
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line, and where it is written to.
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
    AppAgain,
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
                Entry::AppAgain(text) => {
                    line(&mut batch, OWN_NAME, Pipe::Out, Kind::AppAgain, &text);
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
            let text = format!("… {dropped} lines not shown: they came faster than they were read");
            line(&mut batch, OWN_NAME, Pipe::Out, Kind::Warning, &text);
        }
        batch.write();
    }
}

/// Lines for the same output, written at once.
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
            // A reader who has left misses nothing.
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
        Kind::AppAgain => Text::new().green(prefix).plain(" ").application(text),
        Kind::Own => Text::new().green(prefix).plain(" ").plain(text),
        Kind::Warning => Text::new().green(prefix).plain(" ").yellow(text),
    };
    (pipe, shown.end())
}

fn as_text_beside(line: &Line<'_>) -> (Pipe, Text) {
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
