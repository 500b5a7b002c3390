//! A server of one's own, which may be frozen and stopped.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::server::variable;

/// Ends with the process that reads its orders.
pub(super) struct PrivateServer {
    process: Child,
    orders: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    pub(super) url: String,
}

impl PrivateServer {
    /// `None` where it is not known how to start one.
    pub(super) fn start() -> Option<Self> {
        let mut process = Command::new(variable("OXIKIT_TEST_XTASK")?)
            .arg("postgres")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let orders = process.stdin.take();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        let url = line.strip_prefix("listening on ").unwrap().to_owned();
        Some(Self { process, orders, lines, url })
    }

    /// Returns when it is done.
    pub(super) fn order(&mut self, order: &str) {
        writeln!(self.orders.as_ref().unwrap(), "{order}").unwrap();
        assert_eq!(self.lines.next().unwrap().unwrap(), format!("done {order}"));
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        drop(self.orders.take());
        _ = self.process.wait();
    }
}
