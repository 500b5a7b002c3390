//! The commands that can be typed while `oxikit start` runs: `r` and `q`.

use std::io::{self, BufRead, IsTerminal};

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

/// A typed command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyCommand {
    Restart,
    Quit,
    /// Any other text.
    Unknown,
}

/// Reads commands from the terminal; `None` if the standard input is not a terminal.
pub(super) fn key_commands() -> Option<mpsc::Receiver<KeyCommand>> {
    if !io::stdin().is_terminal() || is_in_background() {
        return None;
    }
    let (tx, rx) = mpsc::channel(4);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(key_command) = parse(&line)
                && tx.blocking_send(key_command).is_err()
            {
                return;
            }
        }
    });
    Some(rx)
}

/// Whether this process is in the background. The operating system stops background processes
/// that read from the terminal.
fn is_in_background() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group != getpgrp())
}

fn parse(line: &str) -> Option<KeyCommand> {
    match line.trim() {
        "" => None,
        "r" | "restart" => Some(KeyCommand::Restart),
        "q" | "quit" | "exit" => Some(KeyCommand::Quit),
        _ => Some(KeyCommand::Unknown),
    }
}
