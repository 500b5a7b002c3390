//! Secrets that a maintained scanner knows, held against what is covered in traces.
//!
//! The samples are made out of the rules of the Python package `detect-secrets`, whose version
//! is in `secrets/requirements.txt`. Nothing of the package is kept here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use oxikit_core::redact;
use serde::Deserialize;

use crate::suite::{Outcome, Places, Report};

/// Rules that are not held against us, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("ArtifactoryDetector", "`AKC` and `AP` begin too many words; the documented form is covered"),
    ("AWSKeyDetector 1", "a name near a value, with anything between them"),
    ("CloudantDetector 0", "a name near a value; ours are in the list of names"),
    ("CloudantDetector 1", "a name near a value; ours are in the list of names"),
    ("IbmCloudIamDetector", "a name near a value; ours are in the list of names"),
    ("IbmCosHmacDetector", "a name near a value; ours are in the list of names"),
    ("SoftlayerDetector", "a name near a value, and the path of a service that has ended"),
    ("BasicAuthDetector", "the rule leaves out the scheme of the URL, which we ask for"),
    ("IPPublicDetector", "an address is no secret"),
    ("PrivateKeyDetector", "the rule is about the first line, which is no secret without the rest"),
    (
        "TwilioKeyDetector",
        "the documented form has digits of base 16 only; accounts are no secrets",
    ),
    ("TelegramBotTokenDetector", "the documented form begins with `AA` behind the colon"),
    ("JwtTokenDetector", "the rule takes two parts of any letters; ours have a header and claims"),
];

/// Where a secret is met; `§` stands for it.
const PLACES: [&str; 4] =
    ["it is § here", r#"{"text":"§"}"#, r#"{"text":"{\"a\":\"§\"}"}"#, "x-value: §\r\n"];

#[derive(Deserialize)]
struct Sample {
    rule: String,
    text: String,
    secret: String,
}

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let directory = places.here.join("secrets");
    let python = match install(&directory, &places.here.join("../target/secrets-py")) {
        Ok(python) => python,
        Err(why) => return Ok(Outcome::Skipped(format!("no detect-secrets: {why:#}"))),
    };
    let made = Command::new(python).arg(directory.join("samples.py")).output()?;
    ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut failed: BTreeMap<String, String> = BTreeMap::new();
    let mut rules: BTreeMap<String, usize> = BTreeMap::new();
    for line in String::from_utf8(made.stdout)?.lines() {
        let sample: Sample = serde_json::from_str(line)?;
        let is_left_out = |(rule, _): &(&str, &str)| {
            sample.rule == *rule || sample.rule.split(' ').next() == Some(*rule)
        };
        if LEFT_OUT.iter().any(is_left_out) {
            continue;
        }
        *rules.entry(sample.rule.clone()).or_default() += 1;
        for place in PLACES {
            let covered = redact::text(&place.replace('§', &sample.text)).into_owned();
            if covered.contains(&sample.secret) {
                failed.entry(sample.rule.clone()).or_insert(covered);
            }
        }
    }
    let note = format!("{} samples", rules.values().sum::<usize>());
    let mut report = Report { note, ..Report::default() };
    for rule in rules.into_keys() {
        report.case(&rule, failed.remove(&rule).map_or(Ok(()), Err));
    }
    ensure!(report.total() >= 15, "only {} rules were tried", report.total());
    Ok(Outcome::Ran(report))
}

/// Installs the package once; answers the interpreter that has it.
fn install(directory: &Path, venv: &Path) -> anyhow::Result<PathBuf> {
    let requirements = directory.join("requirements.txt");
    let (python, done) = (venv.join("bin/python"), venv.join("installed"));
    let wanted = fs::read(&requirements)?;
    if fs::read(&done).is_ok_and(|installed| installed == wanted) && python.exists() {
        return Ok(python);
    }
    succeed(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]);
    succeed(pip.arg(&requirements))?;
    fs::write(done, wanted)?;
    Ok(python)
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", said.lines().last().unwrap_or("it failed"));
    Ok(())
}
