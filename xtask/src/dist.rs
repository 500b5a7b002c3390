//! `cargo xtask dist`: builds the developer tools as one file without dynamic libraries, with the
//! web page inside.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{metadata, tools, web};

/// Maximum size of the program in bytes, because it is downloaded.
const MAX_BYTES: u64 = 40_000_000;

/// Builds the program, checks it, and prints its path and size.
pub(crate) fn run() -> Result<()> {
    web::need_node()?;
    println!("{}", web::build_if_needed()?);
    let host = host()?;
    // With an explicit target, the flags do not apply to build scripts and macros.
    let is_static = format!("target.{host}.rustflags=['-Ctarget-feature=+crt-static']");
    let mut build = tools::cargo(["build", "--release", "--locked", "--package=oxikit-cli"]);
    tools::run(build.args(["--bin=oxikit", "--target", &host, "--config", &is_static]))?;
    let target = metadata::target_dir()?;
    let folder = target.join("dist");
    std::fs::create_dir_all(&folder)?;
    let program = folder.join("oxikit");
    std::fs::copy(target.join(&host).join("release/oxikit"), &program)?;
    tools::run(Command::new("strip").arg(&program))?;
    let bytes = check(&program)?;
    println!("{}: {:.1} MB, needs no library", program.display(), bytes as f64 / 1e6);
    Ok(())
}

/// Fails if the program does not run, needs a library, or is too large. Returns its size.
fn check(program: &Path) -> Result<u64> {
    let version = tools::read(Command::new(program).arg("--version"))?;
    ensure!(version.starts_with("oxikit "), "it says {version:?}");
    let parts =
        tools::read(Command::new("readelf").args(["--program-headers", "--wide"]).arg(program))?;
    ensure!(!parts.contains("INTERP"), "{} needs libraries", program.display());
    let bytes = std::fs::metadata(program)?.len();
    if bytes > MAX_BYTES {
        bail!("{} has {bytes} bytes, more than {MAX_BYTES}", program.display());
    }
    Ok(bytes)
}

/// The target of this machine, such as `x86_64-unknown-linux-gnu`.
fn host() -> Result<String> {
    let about = tools::read(Command::new("rustc").arg("-vV"))?;
    let host = about.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` does not print its host")
}
