//! Random templates, rendered by us and by the npm package `handlebars`.
//!
//! The same templates every time, so that a red run is about the change it tests;
//! `OXIKIT_SEED=clock` searches on, a number repeats what it found, and
//! `OXIKIT_CASES` sets how many templates there are.

use std::env;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, SyncSender};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail};
use oxikit_dotprompt::{Environment, Limits, RenderInput};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::random::Random;
use crate::suite::{Outcome, Places, Report};
use crate::templates::{Sample, sample};

const CASES: u64 = 10_000;
const SEED: u64 = 574_507;
/// With raised limits, debug builds need more stack than a thread has.
const STACK: usize = 64 << 20;

/// What the reference made of a template.
#[derive(Deserialize)]
struct Answer {
    plain: Rendered,
    /// With every value printed before it is joined to the next one.
    printed: Option<Rendered>,
}

#[derive(Debug, Deserialize)]
struct Rendered {
    text: Option<String>,
    error: Option<String>,
}

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let directory = places.here.join("oracle");
    if let Err(why) = install(&directory) {
        return Ok(Outcome::Skipped(format!("no Handlebars.js: {why:#}")));
    }
    let seed = match env::var("OXIKIT_SEED").as_deref() {
        Ok("clock") => clock(),
        _ => number("OXIKIT_SEED")?.unwrap_or(SEED),
    };
    let cases = number("OXIKIT_CASES")?.unwrap_or(CASES);
    let only = number("OXIKIT_CASE")?;
    let range = only.map_or(0..cases, |case| case..case + 1);
    Ok(Outcome::Ran(compare(&directory, seed, range)?))
}

fn compare(directory: &Path, seed: u64, cases: std::ops::Range<u64>) -> anyhow::Result<Report> {
    let mut node = Command::new("node")
        .arg("render.mjs")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start node")?;
    let result = exchange(&mut node, seed, cases);
    // Its input is closed by now, so it ends on its own.
    node.wait()?;
    result
}

fn exchange(node: &mut Child, seed: u64, cases: std::ops::Range<u64>) -> anyhow::Result<Report> {
    let (Some(stdin), Some(stdout)) = (node.stdin.take(), node.stdout.take()) else {
        bail!("node has no pipes");
    };
    // We render while node does; the channel's bound keeps us close together.
    let (tx, rx) = mpsc::sync_channel(256);
    let worker = std::thread::Builder::new().stack_size(STACK);
    let writer = worker.spawn(move || write_requests(stdin, seed, cases, &tx))?;
    let mut answers = BufReader::new(stdout).lines();
    let mut report = Report::default();
    let (mut added, mut failing) = (0, 0);
    for Rendering { case, sample, ours } in rx {
        let line = answers.next().context("node ended early")??;
        let answer: Answer = serde_json::from_str(&line)?;
        failing += usize::from(ours.is_err());
        match judge(&ours, &answer) {
            Verdict::Same => report.pass(),
            Verdict::SameButForAddition => {
                added += 1;
                report.pass();
            }
            Verdict::Different => {
                let case = format!("case {case} of seed {seed}");
                report.fail(case, describe(&sample, &ours, &answer));
            }
        }
    }
    match writer.join() {
        Ok(result) => result?,
        Err(_) => bail!("our renderer panicked after {} cases of seed {seed}", report.total()),
    }
    report.note = format!("seed {seed}, {failing} fail on both sides, {added} add numbers");
    Ok(report)
}

/// A sample and what we made of it.
struct Rendering {
    case: u64,
    sample: Sample,
    ours: Result<String, String>,
}

fn write_requests(
    stdin: ChildStdin,
    seed: u64,
    cases: std::ops::Range<u64>,
    tx: &SyncSender<Rendering>,
) -> anyhow::Result<()> {
    let mut requests = BufWriter::new(stdin);
    for case in cases {
        let sample = sample(&mut Random::of_case(seed, case));
        let ours = render(&sample);
        writeln!(requests, "{}", request(&sample, &ours))?;
        requests.flush()?;
        // The reader only goes away when it has failed itself.
        if tx.send(Rendering { case, sample, ours }).is_err() {
            break;
        }
    }
    Ok(())
}

enum Verdict {
    Same,
    /// The reference added adjacent numbers instead of printing them.
    SameButForAddition,
    Different,
}

fn judge(ours: &Result<String, String>, answer: &Answer) -> Verdict {
    let ours = ours.as_ref().ok();
    if ours == answer.plain.text.as_ref() {
        return Verdict::Same;
    }
    match &answer.printed {
        Some(printed) if ours == printed.text.as_ref() => Verdict::SameButForAddition,
        _ => Verdict::Different,
    }
}

pub(crate) fn environment() -> Environment {
    let mut limits = Limits::default();
    // The reference has no limits; what never ends fails on both sides.
    limits.partial_depth = 60;
    limits.depth = 400;
    Environment::new().limits(limits).helper("tag", tag)
}

fn render(sample: &Sample) -> Result<String, String> {
    let mut environment = environment();
    for (name, source) in &sample.partials {
        environment = environment.partial(name, source.as_str().unwrap_or_default());
    }
    let input = RenderInput::new(&sample.input).with_context(&sample.data);
    environment
        .compile_template(&sample.template)
        .and_then(|template| template.render_text(&input))
        .map_err(|error| error.to_string())
}

/// Shows what a helper is given; the oracle has the same one.
fn tag(args: &[Value], hash: &oxikit_wire::JsonObject) -> Result<String, String> {
    let template =
        Environment::new().compile_template("{{json value}}").map_err(|error| error.to_string())?;
    let show = |value: &Value| {
        let input = json!({ "value": value });
        let input = input.as_object().cloned().unwrap_or_default();
        template.render_text(&RenderInput::new(&input)).map_err(|error| error.to_string())
    };
    let mut parts = args.iter().map(show).collect::<Result<Vec<_>, _>>()?;
    let mut keys: Vec<_> = hash.keys().collect();
    keys.sort();
    for key in keys {
        parts.push(format!("{key}={}", show(&hash[key])?));
    }
    Ok(format!("<{}>", parts.join(" ")))
}

fn request(sample: &Sample, ours: &Result<String, String>) -> Value {
    json!({
        "template": sample.template,
        "input": sample.input,
        "data": sample.data,
        "partials": sample.partials,
        "ours": ours.as_ref().ok(),
    })
}

fn describe(sample: &Sample, ours: &Result<String, String>, answer: &Answer) -> String {
    let best = answer.printed.as_ref().unwrap_or(&answer.plain);
    format!(
        "template: {:?}\ninput: {}\ndata: {}\npartials: {}\n- expected: {:?} {}\n+ actual:   {ours:?}",
        sample.template,
        json!(sample.input),
        json!(sample.data),
        json!(sample.partials),
        best.text,
        best.error.as_deref().unwrap_or_default(),
    )
}

fn install(directory: &Path) -> anyhow::Result<()> {
    if directory.join("node_modules/handlebars").is_dir() {
        return Ok(());
    }
    let output = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund"])
        .current_dir(directory)
        .output()
        .context("cannot start npm")?;
    if !output.status.success() {
        bail!("`npm ci` failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn number(variable: &str) -> anyhow::Result<Option<u64>> {
    match env::var(variable) {
        Ok(text) => Ok(Some(text.parse().with_context(|| format!("{variable} is no number"))?)),
        Err(_) => Ok(None),
    }
}

fn clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Random::new(now.map_or(0, |now| now.as_nanos() as u64)).next() % 1_000_000
}
