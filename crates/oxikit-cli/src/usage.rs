//! Reports command lines that clap does not accept, with the command that was probably meant.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Parser};
use oxikit_core::near::is_near;

use super::args::Cli;
use super::failure::{Exit, Failure};
use super::output::Output;
use crate::terminal;

/// Shows why the arguments are not valid, or the help that they request.
pub(super) fn report(error: clap::Error, arguments: &[OsString]) -> Exit {
    // The text of an error repeats the arguments, which may contain control characters. The
    // escaped arguments are parsed again: they fail for the same reason, and the text of that
    // error is safe to print.
    let visible: Vec<String> = arguments
        .iter()
        .map(|argument| terminal::line(&argument.to_string_lossy()).into_owned())
        .collect();
    let shown =
        Cli::try_parse_from(&visible).err().unwrap_or_else(|| clap::Error::new(error.kind()));
    let exit = Exit::from_usage(error.exit_code());
    // Clap suggests similar commands only for some mistakes; `with_advice` covers the others.
    let shown = with_advice(shown, &visible);
    if exit == Exit::Usage && wants_json(&visible) {
        return Output::new(true).report(&Failure::usage(message(&shown)));
    }
    // A closed output is not an error.
    _ = shown.print();
    exit
}

fn wants_json(arguments: &[String]) -> bool {
    arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json")
}

/// The message of the error without the usage text.
fn message(error: &clap::Error) -> String {
    if is_missing(error.kind()) {
        return "a command is missing: `--help` lists the commands".to_owned();
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

/// Adds similar commands to the error, or the list of all commands.
fn with_advice(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let Some(ContextValue::String(asked)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let has_advice = error.get(ContextKind::SuggestedSubcommand).is_some();
    if has_advice || error.kind() != ErrorKind::InvalidSubcommand {
        return error;
    }
    let names = commands_beside(asked, arguments);
    let near: Vec<String> = names.iter().filter(|name| is_near(asked, name)).cloned().collect();
    if near.is_empty() {
        let all = format!("the commands are: {}", names.join(", "));
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![all.into()]));
    } else {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
    }
    error
}

/// The commands that exist at the position of an unknown one.
fn commands_beside(asked: &str, arguments: &[String]) -> Vec<String> {
    let mut command: Command = Cli::command();
    for argument in arguments.iter().skip(1).take_while(|argument| *argument != asked) {
        if let Some(below) = command.find_subcommand(argument) {
            command = below.clone();
        }
    }
    let visible = command.get_subcommands().filter(|below| !below.is_hide_set());
    visible.map(|below| below.get_name().to_owned()).collect()
}
