//! Runs commands on a pseudo terminal.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::kit::{TIMEOUT, ended, oxikit};

/// The output of a command on a terminal, without the colours and line ends of this program.
pub(super) fn on_terminal(dir: &Path, args: &[String]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let slave = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
    let mut command = oxikit(dir);
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR").args(args);
    let mut child = command.stdout(slave()).stderr(slave()).spawn().unwrap();
    // Dropping the command closes its end of the terminal.
    drop(command);
    let reader = std::thread::spawn(move || {
        let (mut master, mut bytes, mut buffer) = (File::from(master), Vec::new(), [0; 4096]);
        // Reading fails when the other end of the terminal is closed.
        while let Ok(count @ 1..) = master.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8(bytes).unwrap()
    });
    ended(&mut child, TIMEOUT).expect("the command hangs");
    without_ours(&reader.join().unwrap())
}

/// Removes the styles of this program, and the carriage returns that the terminal adds.
fn without_ours(text: &str) -> String {
    const STYLES: [&str; 10] = ["0", "1", "2", "31", "32", "33", "36", "1;31", "4", "1;4"];
    let mut text = text.replace("\r\n", "\n").replace("\r\u{1b}[K", "");
    for style in STYLES {
        text = text.replace(&format!("\u{1b}[{style}m"), "");
    }
    text
}
