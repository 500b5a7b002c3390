//! What is typed while `oxikit start` runs.

use std::io::{self, BufRead, IsTerminal};

use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;
use tokio::sync::mpsc;

/// What somebody at the terminal wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    Restart,
    Quit,
    Unclear,
}

/// The wishes, if there is a terminal to type them on.
pub(super) fn wishes() -> Option<mpsc::Receiver<Wish>> {
    if !io::stdin().is_terminal() || is_in_background() {
        return None;
    }
    let (tx, rx) = mpsc::channel(4);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Some(wish) = wish(&line)
                && tx.blocking_send(wish).is_err()
            {
                return;
            }
        }
    });
    Some(rx)
}

/// Who reads the terminal from the background is stopped by the system.
fn is_in_background() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group != getpgrp())
}

fn wish(line: &str) -> Option<Wish> {
    match line.trim() {
        "" => None,
        "r" | "restart" => Some(Wish::Restart),
        "q" | "quit" | "exit" => Some(Wish::Quit),
        _ => Some(Wish::Unclear),
    }
}
