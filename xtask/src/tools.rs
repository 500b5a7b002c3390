//! Runs other programs with timeouts, and reads their output.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Timeout of the longest commands.
pub(crate) const LONG: Duration = Duration::from_secs(20 * 60);

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask is a folder of the repository")
        .to_path_buf()
}

/// Whether this is continuous integration, where no check may be skipped.
pub(crate) fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// A cargo call at the root; `CARGO_TARGET_DIR` and the like are inherited. In continuous
/// integration nothing is built twice, and what serves the second build would only fill the disk.
pub(crate) fn cargo<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(args: I) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root());
    if is_ci() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

static BUILDS_ALL: AtomicBool = AtomicBool::new(false);

/// Makes [`build`] build the whole workspace, which has just been built. Single packages would have
/// other features, and their dependencies would be built again.
pub(crate) fn build_all_from_now_on() {
    BUILDS_ALL.store(true, Ordering::Relaxed);
}

/// Builds the programs of these packages.
pub(crate) fn build(packages: &[&str]) -> Result<()> {
    let mut build = cargo(["build", "--quiet"]);
    if BUILDS_ALL.load(Ordering::Relaxed) {
        // This program runs, so it is excluded. There are no examples with this name; asking for
        // them selects the features that packages have in tests.
        build.args(["--workspace", "--exclude", "xtask", "--bins", "--examples"]);
    } else {
        build.args(packages.iter().flat_map(|package| ["--package", package]));
    }
    run(&mut build)
}

/// Runs a program with its output shown. Fails if the program fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let mut child = spawn(command)?;
    let status = wait(&mut child, LONG)?;
    succeed(command, status)
}

/// Runs a program, shows its standard output line by line, and returns it.
pub(crate) fn run_and_read(command: &mut Command, limit: Duration) -> Result<String> {
    let (status, output) = tee(command, limit)?;
    succeed(command, status)?;
    Ok(output)
}

/// Like [`run_and_read`], but returns the status of a program that fails.
pub(crate) fn tee(command: &mut Command, limit: Duration) -> Result<(ExitStatus, String)> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    let reader = std::thread::spawn(move || {
        let mut output = String::new();
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            // A closed standard output is not an error.
            _ = writeln!(std::io::stdout(), "{line}");
            output.push_str(&line);
            output.push('\n');
        }
        output
    });
    let status = wait(&mut child, limit);
    let output = reader.join().unwrap_or_default();
    Ok((status?, output))
}

/// Runs a quick program and returns its standard output without showing it.
pub(crate) fn read(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", show(command)))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{} failed: {}", show(command), stderr.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Like [`read`], with a timeout, for a program with little output.
pub(crate) fn read_within(command: &mut Command, limit: Duration) -> Result<String> {
    let mut child = spawn(command.stdout(Stdio::piped()))?;
    let status = wait(&mut child, limit)?;
    succeed(command, status)?;
    let stdout = child.stdout.take().context("stdout is piped")?;
    Ok(std::io::read_to_string(stdout)?)
}

/// Installs a component of the toolchain with rustup, if it is missing. The error is the reason why
/// it cannot be installed.
pub(crate) fn need_component(subcommand: &str, component: &str) -> Result<()> {
    if read(&mut cargo([subcommand, "--version"])).is_ok() {
        return Ok(());
    }
    run(Command::new("rustup").args(["component", "add", component]))
        .with_context(|| format!("`cargo {subcommand}` is not installed"))
}

/// Installs the pinned packages of a folder for Node, unless they are installed.
pub(crate) fn install_npm_packages(folder: &Path) -> Result<()> {
    // npm writes this file when it is done.
    let done = folder.join("node_modules/.package-lock.json");
    if is_newer(&done, &folder.join("package-lock.json")) {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    run(npm.current_dir(folder))
}

/// Whether a file exists and is not older than the file that it was made from.
pub(crate) fn is_newer(file: &Path, source: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    changed(file).is_some_and(|time| Some(time) >= changed(source))
}

/// Installs a Debian package, if this process may. The error says what to do.
pub(crate) fn install_package(package: &str) -> Result<()> {
    // Some packages are installed in another thread, and apt-get does not run twice at a time.
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !Path::new("/usr/bin/apt-get").exists() || !is_root()? {
        bail!("`{package}` is not installed: run `sudo apt-get install {package}`");
    }
    for args in ["update --quiet", "install --quiet --yes --no-install-recommends"] {
        let mut command = Command::new("apt-get");
        command.args(args.split(' ')).env("DEBIAN_FRONTEND", "noninteractive");
        if args.starts_with("install") {
            command.arg(package);
        }
        run(&mut command).with_context(|| format!("`{package}` cannot be installed"))?;
    }
    Ok(())
}

pub(crate) fn is_root() -> Result<bool> {
    Ok(read(Command::new("id").arg("-u"))?.trim() == "0")
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.stdin(Stdio::null()).spawn().with_context(|| format!("cannot start {}", show(command)))
}

fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if began.elapsed() > limit {
            stop(child.id());
            child.wait()?;
            bail!("it did not end within {} s and was stopped", limit.as_secs());
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Ends a process and its children.
fn stop(pid: u32) {
    for child in children(pid) {
        stop(child);
    }
    // An error means that the process has already ended.
    _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
}

/// The processes that this one has started.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let list = std::fs::read_to_string(path).unwrap_or_default();
    list.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

fn succeed(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} failed ({status})", show(command));
    }
    Ok(())
}

/// The command as it would be typed.
fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let parts = std::iter::once(program).chain(command.get_args());
    let parts: Vec<_> = parts.map(|part| part.to_string_lossy()).collect();
    format!("`{}`", parts.join(" "))
}

/// The files that git knows, relative to the root.
pub(crate) fn tracked_files() -> Result<Vec<PathBuf>> {
    let list = read(Command::new("git").args(["ls-files", "-z"]).current_dir(root()))?;
    // A file that was deleted and not committed yet is still listed.
    Ok(list
        .split_terminator('\0')
        .map(PathBuf::from)
        .filter(|path| root().join(path).is_file())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_hangs_is_stopped() {
        let mut command = Command::new("sleep");
        let error = tee(command.arg("60"), Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.to_string(), "it did not end within 0 s and was stopped");
    }

    #[test]
    fn a_program_that_fails_is_named_with_its_arguments() {
        let error = run(Command::new("false").arg("x")).unwrap_err();
        assert_eq!(error.to_string(), "`false x` failed (exit status: 1)");
    }
}
