//! The chores of this repository; `cargo xtask --help` lists them.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod bench;
mod build_time;
mod conformance;
mod crash;
mod dist;
mod examples;
mod features;
mod fuzz_api;
mod interop;
mod invariants;
mod licences;
mod metadata;
mod papers;
mod services;
mod spec;
mod test;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
The chores of this repository.

  cargo xtask test [--quick] [step…]
        All that must hold before a change is merged; `.ci/run` calls this and
        nothing else. --quick leaves out the slow steps and says which. With
        names of steps only those are run, such as `cargo xtask test fmt clippy`.
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
  cargo xtask crash manager [--long] [trial…]
        The real `oxikit start`: killed, its runtimes and its application killed and
        frozen, its records torn, and fed with what is deep, large or garbage. --long
        waits the usual times for frozen runtimes and unfinished messages.
  cargo xtask fuzz-api [--examples N] [--seed S] [tools] [app]
        Generated requests against the developer tools and an application, and their
        answers against their OpenAPI documents. The seed is printed; it repeats a run.
  cargo xtask bench [core] [scenario…]
        What things cost, in CPU, each beside its floor and its aim.
  cargo xtask bench http [--rounds N | --replay FILE] [--quick] [--long] [--docs] [scenario…]
        The servers, beside a Rust floor, Genkit JS and Genkit Python. --long adds
        10,000 idle streams and a million requests; --docs writes docs/benchmarks.md
        and its picture.
  cargo xtask bench reflection [--rounds N | --replay FILE] [--quick] [--docs] [scenario…]
        A server that is connected with the developer tools and tells them of every call,
        beside itself without them.
  cargo xtask bench manager [--rounds N | --replay FILE] [--quick] [--long] [--docs] [scenario…]
        The developer tools, beside the official manager and telemetry server. --long adds
        a million traces, which take a few minutes to be made.
  cargo xtask postgres [command…]
        A PostgreSQL server for tests: with a command while that runs, its address in
        OXIKIT_TEST_POSTGRES; else until standard input ends, where it is told to
        start, stop, crash, freeze and thaw.
  cargo xtask invariants
        The promises of ARCHITECTURE.md that a machine can check.
  cargo xtask licences
        Licences and second copies of dependencies, by the rules of deny.toml.
  cargo xtask dist
        The developer tools, optimised, as one file without libraries: target/dist/oxikit.
  cargo xtask build-time
        The CPU that a clean build of the library crates takes.

Under CI=true nothing may be skipped. CARGO_TARGET_DIR is honoured.";

/// The names that the README may tell people to type.
pub(crate) const COMMANDS: [&str; 12] = [
    "test",
    "conformance",
    "spec",
    "interop",
    "crash",
    "fuzz-api",
    "bench",
    "postgres",
    "invariants",
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
        "conformance" => conformance::run(rest).map(drop)?,
        "spec" => spec::run(rest)?,
        "interop" => interop::run(rest).map(drop)?,
        "crash" => crash::run(rest).map(drop)?,
        "fuzz-api" => {
            if let Err(why) = fuzz_api::run(rest)? {
                bail!("it cannot be run here: {why}");
            }
        }
        "bench" => bench::run(rest)?,
        "postgres" => services::run(rest)?,
        "invariants" => invariants::run().map(print)?,
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
