//! Commands on a terminal.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::cli::kit::{PATIENCE, ended, oxikit};

/// What a command writes to a terminal, without the colours and the line ends that are
/// ours.
pub(super) fn on_terminal(dir: &Path, words: &[String]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let mut command = oxikit(dir);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").args(words);
    let mut child = command.stdout(slave()).stderr(slave()).spawn().unwrap();
    // Its ends of the terminal are closed with it.
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut master, mut bytes, mut buffer) = (File::from(master), Vec::new(), [0; 4096]);
        // A terminal whose other end is closed fails to be read.
        while let Ok(count @ 1..) = master.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(bytes).unwrap()
    });
    ended(&mut child, PATIENCE).expect("the command hangs");
    without_ours(&reader.join().unwrap())
}

/// Removes the styles that this program has, and what the terminal adds to a line end.
fn without_ours(text: &str) -> String {
    const STYLES: [&str; 10] = ["0", "1", "2", "31", "32", "33", "36", "1;31", "4", "1;4"];
    let mut text = text.replace("\r\n", "\n").replace("\r\u{1b}[K", "");
    for style in STYLES {
        text = text.replace(&format!("\u{1b}[{style}m"), "");
    }
    text
}
