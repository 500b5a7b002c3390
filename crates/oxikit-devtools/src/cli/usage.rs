//! Words that are no command: what is wrong with them, and what was probably meant.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Parser};
use oxikit_core::near::is_near;

use super::args::Cli;
use super::failure::{Exit, Failure};
use super::output::Output;
use crate::terminal;

/// Shows why the words are no command, or the help that they ask for.
pub(super) fn refused(error: clap::Error, words: &[OsString]) -> Exit {
    // An error repeats what was typed or pasted. The same words with their control
    // characters made visible are refused for the same reason.
    let visible: Vec<String> =
        words.iter().map(|word| terminal::line(&word.to_string_lossy()).into_owned()).collect();
    let shown =
        Cli::try_parse_from(&visible).err().unwrap_or_else(|| clap::Error::new(error.kind()));
    let exit = Exit::from_usage(error.exit_code());
    let shown = with_advice(shown, &visible);
    if exit == Exit::Usage && wants_json(&visible) {
        return Failure::usage(message(&shown)).report(&mut Output::new(true));
    }
    // A reader who has left needs no help.
    _ = shown.print();
    exit
}

fn wants_json(words: &[String]) -> bool {
    words.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

/// The error without the usage behind it.
fn message(error: &clap::Error) -> String {
    if is_missing(error.kind()) {
        return "a command is missing: `--help` lists them".to_owned();
    }
    let text = error.to_string();
    let text = text.split("\n\nUsage:").next().unwrap_or(&text);
    let text = text.split("\n\nFor more information").next().unwrap_or(text);
    let lines = text.trim_start_matches("error: ").lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

fn is_missing(kind: ErrorKind) -> bool {
    use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingSubcommand};
    matches!(kind, DisplayHelpOnMissingArgumentOrSubcommand | MissingSubcommand)
}

/// With the command that was probably meant, or all that there are.
fn with_advice(mut error: clap::Error, words: &[String]) -> clap::Error {
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let has_advice = error.get(ContextKind::SuggestedSubcommand).is_some();
    if has_advice || error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let names = commands_beside(asked, words);
    let near: Vec<String> = names.iter().filter(|name| is_near(asked, name)).cloned().collect();
    if near.is_empty() {
        let all = format!("the commands are: {}", names.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![all.into()]));
    } else {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

/// The commands that there are in the place of one that does not exist.
fn commands_beside(asked: &str, words: &[String]) -> Vec<String> {
    let mut command: Command = Cli::command();
    for word in words.iter().skip(1).take_while(|word| *word != asked) {
        if let Some(below) = command.find_subcommand(word) {
            command = below.clone();
        }
    }
    let visible = command.get_subcommands().filter(|below| !below.is_hide_set());
    visible.map(|below| below.get_name().to_owned()).collect()
}
