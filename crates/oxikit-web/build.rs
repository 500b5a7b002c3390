//! Lists the files of the built page, `page/dist`, as a table of `include_bytes!`. It runs no other
//! program: `cargo xtask web` builds the page. Without it the table is empty.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    // The folder above `dist` always exists. Cargo would run this at every build if it did not.
    println!("cargo:rerun-if-changed=page");
    let dist = root.join("page").join("dist");
    let mut files = Vec::new();
    collect(&dist, &mut files)?;
    files.sort();
    let table = table(&dist, &files)?;
    fs::write(Path::new(&env::var("OUT_DIR")?).join("files.rs"), table)?;
    Ok(())
}

/// The files below a folder that may be missing.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The Rust source of the table. A compressed file, `x.js.gz`, belongs to the row of `x.js`.
fn table(dist: &Path, files: &[PathBuf]) -> Result<String, Box<dyn Error>> {
    let mut table = String::from("const FILES: &[Asset] = &[\n");
    for file in files.iter().filter(|file| !has_extension(file, "gz")) {
        let name = file.strip_prefix(dist)?.to_str().ok_or("a name is not UTF-8")?;
        let name = name.replace('\\', "/");
        let gzip = PathBuf::from(format!("{}.gz", file.display()));
        let gzip = match files.contains(&gzip) {
            true => format!("Some(include_bytes!({gzip:?}))"),
            false => "None".to_owned(),
        };
        let tag = fingerprint(&fs::read(file)?);
        writeln!(
            table,
            "    Asset {{ name: {name:?}, bytes: include_bytes!({file:?}), gzip: {gzip}, tag: \"\\\"{tag:016x}\\\"\" }},"
        )?;
    }
    table.push_str("];\n");
    Ok(table)
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

/// FNV-1a: it only tells versions of a file apart.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
