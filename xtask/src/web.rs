//! `cargo xtask web`: builds the web page of `web/` into the crate that embeds it, and checks it. No
//! build script calls npm.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::{interop, metadata, tools};

/// The HTTP APIs whose types are generated.
const APIS: [Api; 2] = [
    Api {
        command: ["prompts", "--openapi"],
        source: "the prompt manager",
        types: "src/api/types.ts",
    },
    Api {
        command: ["start", "--openapi"],
        source: "the developer tools",
        types: "src/api/tools_types.ts",
    },
];

/// An HTTP API of the program.
struct Api {
    /// The arguments with which the program prints the OpenAPI document.
    command: [&'static str; 2],
    /// The server, as the first line of the types names it.
    source: &'static str,
    /// The file of the generated types, relative to the folder of the page.
    types: &'static str,
}

/// Files and folders of the page that do not change its build.
const NOT_SOURCES: [&str; 3] = ["node_modules", "tests", "README.md"];

/// The pictures of the documentation, by the names of those that the suite of all views writes.
const PICTURES: [(&str, &str); 4] = [
    ("overview-light.png", "docs/web-overview.png"),
    ("trace-span-light.png", "docs/web-trace.png"),
    ("session-waits-light.png", "docs/web-session.png"),
    ("trace-span-dark.png", "docs/web-trace-dark.png"),
];

/// Builds the page; or writes its types (`--types`); or checks it (`--check`); or makes the pictures
/// of the documentation again (`--pictures`).
pub(crate) fn run(args: &[String]) -> Result<()> {
    need_node()?;
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => build(),
        ["--types"] => write_types(),
        ["--check"] => check().map(|summary| println!("{summary}")),
        ["--pictures"] => write_pictures(),
        _ => bail!("`cargo xtask web` takes nothing, `--types`, `--check` or `--pictures`"),
    }
}

/// Fails if Node is not installed, without which there is no page.
pub(crate) fn need_node() -> Result<()> {
    for program in ["node", "npm"] {
        tools::read(Command::new(program).arg("--version"))
            .with_context(|| format!("the program `{program}` is not installed"))?;
    }
    Ok(())
}

/// Builds the page unless the build is newer than the sources. Returns a line for the summary.
pub(crate) fn build_if_needed() -> Result<String> {
    if is_current()? {
        return Ok("the page is up to date".to_owned());
    }
    build()?;
    let files = files_below(&dist())?;
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let is_compressed = |path: &&PathBuf| path.extension().is_some_and(|it| it == "gz");
    let bytes: u64 = files.iter().filter(is_compressed).map(size).sum();
    Ok(format!("{} files, {} kB compressed", files.len(), bytes / 1000))
}

/// Checks that the types are those of the OpenAPI documents, that the page type-checks, and runs its
/// tests. Returns a line for the summary.
pub(crate) fn check() -> Result<String> {
    install()?;
    for (file, types) in types()? {
        if fs::read_to_string(sources().join(file)).unwrap_or_default() != types {
            bail!("web/{file} differs from the OpenAPI document: run `cargo xtask web --types`");
        }
    }
    npm(&["run", "--silent", "check"])?;
    npm(&["test", "--silent"])?;
    Ok("types, svelte-check and tests".to_owned())
}

/// The folder of the sources.
fn sources() -> PathBuf {
    tools::root().join("web")
}

/// The folder of the built page, inside of the crate that embeds it.
fn dist() -> PathBuf {
    tools::root().join("crates/oxikit-web/page/dist")
}

fn build() -> Result<()> {
    install()?;
    npm(&["run", "--silent", "build"])
}

fn install() -> Result<()> {
    tools::install_npm_packages(&sources())
}

fn npm(args: &[&str]) -> Result<()> {
    tools::run(Command::new("npm").args(args).current_dir(sources()))
}

/// Whether the build is newer than every source.
fn is_current() -> Result<bool> {
    let changed = |path: &Path| path.metadata().and_then(|metadata| metadata.modified()).ok();
    let Some(built) = changed(&dist().join("index.html")) else { return Ok(false) };
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in fs::read_dir(sources())? {
        let entry = entry?;
        if NOT_SOURCES.iter().any(|name| entry.file_name() == *name) {
            continue;
        }
        // A deleted file changes the time of its folder only.
        newest = newest.max(changed(&entry.path()).unwrap_or(newest));
        for path in files_below(&entry.path())? {
            newest = newest.max(changed(&path).unwrap_or(newest));
        }
    }
    Ok(newest <= built)
}

/// The files of a folder, or the file itself.
fn files_below(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        files.extend(files_below(&entry?.path())?);
    }
    Ok(files)
}

/// Runs the suite of all views and copies the chosen pictures into the documentation.
fn write_pictures() -> Result<()> {
    interop::run(&["web-page/views".to_owned()])?;
    let made = metadata::target_dir()?.join("interop/web-page");
    for (picture, page) in PICTURES {
        fs::copy(made.join(picture), tools::root().join(page))
            .with_context(|| format!("the suite has not made {picture}"))?;
        println!("{page} is written");
    }
    Ok(())
}

fn write_types() -> Result<()> {
    for (file, types) in types()? {
        fs::write(sources().join(file), types)?;
        println!("web/{file} is written");
    }
    Ok(())
}

/// The types of the OpenAPI documents that the program prints, by their files.
fn types() -> Result<Vec<(&'static str, String)>> {
    tools::build(&["oxikit-cli"])?;
    let target = metadata::target_dir()?;
    let program = target.join("debug").join("oxikit");
    let types_of = |api: &Api| {
        let document = tools::read(Command::new(&program).args(api.command))?;
        let file = target.join(format!("{}-openapi.json", api.command[0]));
        fs::write(&file, document)?;
        let mut script = Command::new("node");
        script.args(["scripts/types.mjs", api.source]).current_dir(sources());
        Ok((api.types, tools::read(script.stdin(File::open(&file)?))?))
    };
    APIS.iter().map(types_of).collect()
}
