//! The development tasks of this repository: tests, conformance, benchmarks, packaging. `cargo
//! xtask --help` lists them. Nothing here is part of the published crates.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod bench;
mod build_time;
mod conformance;
mod crash;
mod demo;
mod dist;
mod examples;
mod features;
mod fuzz_api;
mod interop;
mod invariants;
mod licences;
mod metadata;
mod package;
mod papers;
mod revision;
mod services;
mod spec;
mod structure;
mod test;
mod tools;
mod web;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
The development tasks of this repository.

  cargo xtask test [--quick] [step…]
        All checks that must pass before a change is merged; `.ci/run` calls this and
        nothing else. --quick leaves out the slow steps and says which. With
        names of steps only those are run, such as `cargo xtask test fmt clippy`.
  cargo xtask demo [--open] [argument…]
        Builds the web page if its sources have changed, and runs `oxikit start --demo` with
        the arguments. --open shows the page in a browser.
  cargo xtask web [--types | --check | --pictures]
        Builds the web page, which the program embeds, with Node. --types writes the types
        of the HTTP API for it; --check checks these, type-checks the page and runs its tests;
        --pictures makes the pictures of docs/ again, in Chromium.
  cargo xtask conformance [suite…]
        The published conformance data against this code.
  cargo xtask spec [genkit=<url>] [dotprompt=<url>]
        Fetches the official conformance data, at a pinned commit, into target/spec. Where
        it is neither there nor in OXIKIT_SPEC, the suites that need it are skipped.
  cargo xtask interop [suite…]
        This code against the official clients and servers.
  cargo xtask crash sessions [--long] [--sqlite | --postgres | --files] [trial…]
        Servers that are killed in the middle of their turns, and raced by their
        writers: what was acknowledged must be in the store. --long kills 50 times,
        and freezes a server too. OXIKIT_SEED repeats a run.
  cargo xtask crash reflection [--long]
        The manager of an application is killed 100 times while 20 runs stream to it:
        every run is answered once, by its own result. --long: 400 times.
  cargo xtask crash a2a [--long] [kill] [cuts] [webhooks]
        A server of A2A agents, on SQLite and on PostgreSQL: killed while it works on
        150 tasks, 1,000 connections of its readers cut, and killed while its webhook
        receiver is away for 5 s: no event is lost or doubled, every task ends.
        --long: 500 tasks, and 60 s with 3 kills.
  cargo xtask crash prompts [--long] [--sqlite | --postgres] [--seed N] [edits] [kills] [random]
        The real `oxikit prompts`: killed right after 300 acknowledged edits, in the
        middle of a flow of edits, and in 200 random histories of clients, REST and
        programs that change the files: every answered edit is in the history, and
        clients that are quiet have the same text. --seed repeats one history.
        --long: 50 kills, 2,000 histories.
  cargo xtask crash manager [--long] [trial…]
        The real `oxikit start`: killed, its runtimes and its application killed and
        frozen, its records torn, and fed with what is deep, large or garbage. --long
        waits the usual times for frozen runtimes and unfinished messages.
  cargo xtask fuzz-api [--examples N] [--seed S] [tools] [app]
        Generated requests against the developer tools and an application, and their
        answers against their OpenAPI documents. The seed is printed; it repeats a run.
  cargo xtask bench [core] [scenario…]
        Processor time of the main operations, with their lower bounds and goals.
  cargo xtask bench http [--rounds N | --replay FILE] [--quick] [--long] [--docs] [scenario…]
        The servers, beside a Rust floor, Genkit JS and Genkit Python. --long adds
        10,000 idle streams and a million requests; --docs writes docs/benchmarks.md
        and its picture.
  cargo xtask bench sessions [--rounds N | --replay FILE] [--quick] [--long] [--docs] [scenario…]
        Turns of agents, in memory, SQLite and PostgreSQL, and lists of sessions. --long
        adds a million sessions.
  cargo xtask bench reflection [--rounds N | --replay FILE] [--quick] [--docs] [scenario…]
        A server that sends every call to the developer tools, compared with the same
        server without them.
  cargo xtask bench manager [--rounds N | --replay FILE] [--quick] [--long] [--docs] [scenario…]
        The developer tools, beside the official manager and telemetry server. --long adds
        a million traces, which take a few minutes to be made.
  cargo xtask bench a2a [--rounds N | --replay FILE] [--quick] [--docs] [scenario…]
        Agents over A2A, beside a Rust floor and the official JavaScript and Python packages.
  cargo xtask bench prompts [--rounds N | --replay FILE] [--quick] [--docs] [scenario…]
        Live editing in the prompt manager, beside a Rust floor and a FastAPI server.
  cargo xtask bench SUITE --before REVISION [--rounds N] [--quick] [--long] [scenario…]
        Any suite but `core`: only our programs, in turns with those of another commit,
        which are built in target/before. Figures that are more than 5 % worse are named.
  cargo xtask postgres [command…]
        A PostgreSQL server for tests: with a command while that runs, its address in
        OXIKIT_TEST_POSTGRES; else until standard input ends. The lines start, stop,
        crash, freeze and thaw control the server.
  cargo xtask invariants
        Checks the rules of ARCHITECTURE.md.
  cargo xtask structure [--at REVISION | --before REVISION]
        Lines, public items, documentation, module cycles, the longest functions and
        repeated passages of the crates, as Markdown tables: of the working tree, of
        another commit, or of that commit beside the working tree.
  cargo xtask licences
        Licences and second copies of dependencies, by the rules of deny.toml.
  cargo xtask dist
        The developer tools, optimised, as one file without libraries: target/dist/oxikit.
  cargo xtask build-time
        The CPU that a clean build of the library crates takes.

Under CI=true nothing may be skipped. CARGO_TARGET_DIR is honoured.";

/// The commands that the README may mention.
pub(crate) const COMMANDS: [&str; 15] = [
    "test",
    "demo",
    "web",
    "conformance",
    "spec",
    "interop",
    "crash",
    "fuzz-api",
    "bench",
    "postgres",
    "invariants",
    "structure",
    "licences",
    "dist",
    "build-time",
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = args.split_first() else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    if rest.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    }
    match command.as_str() {
        "test" => return test::run(rest),
        "demo" => return demo::run(rest),
        "web" => web::run(rest)?,
        "conformance" => conformance::run(rest).map(drop)?,
        "spec" => spec::run(rest)?,
        "interop" => interop::run(rest).map(drop)?,
        "crash" => crash::run(rest).map(drop)?,
        "fuzz-api" => {
            if let Err(why) = fuzz_api::run(rest)? {
                bail!("the API tests cannot run on this machine: {why}");
            }
        }
        "bench" => bench::run(rest)?,
        "postgres" => services::run(rest)?,
        "invariants" => invariants::run().map(print)?,
        "structure" => structure::run(rest)?,
        "licences" => licences::run().map(print)?,
        "dist" => dist::run()?,
        "build-time" => build_time::run()?,
        "help" | "--help" | "-h" => println!("{HELP}"),
        other => bail!("there is no chore `{other}`; `cargo xtask --help` lists them"),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(summary: String) {
    println!("{summary}");
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_help_names_every_command() {
        for command in super::COMMANDS {
            assert!(super::HELP.contains(&format!("cargo xtask {command}")));
        }
    }
}
