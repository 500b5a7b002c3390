//! The shape all suites share.

use std::path::PathBuf;

use serde_json::Value;

/// A suite by name; add a module with a `run` and a line in `main`.
pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) run: fn(&Places) -> anyhow::Result<Outcome>,
}

pub(crate) enum Outcome {
    Ran(Report),
    /// The data or a tool is not there, and why.
    Skipped(String),
    /// The suite was run in several ways, each with a line of its own: `suite/name`.
    Several(Vec<(String, Outcome)>),
}

/// What a suite found. The last line it prints is `name passed/total`.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) passed: usize,
    pub(crate) failures: Vec<Failure>,
    /// Said in brackets after the numbers, such as a seed.
    pub(crate) note: String,
}

pub(crate) struct Failure {
    pub(crate) case: String,
    /// What was expected and what came.
    pub(crate) detail: String,
}

/// Where data is found.
pub(crate) struct Places {
    /// This crate.
    pub(crate) here: PathBuf,
    /// The published data: `OXIKIT_SPEC`, `shared` beside the workspace, or what
    /// `cargo xtask spec` has fetched.
    pub(crate) spec: PathBuf,
}

impl Places {
    pub(crate) fn find() -> Self {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let spec = match std::env::var_os("OXIKIT_SPEC") {
            Some(spec) => spec.into(),
            None => here.join("../../shared"),
        };
        Self { here, spec }
    }

    /// Says that this part of the official data is missing, and how many cases it has.
    pub(crate) fn missing(&self, part: &str, cases: usize) -> Outcome {
        Outcome::Skipped(format!(
            "no official data: {cases} cases not run, as there is no `{part}` in `{}`; \
             `cargo xtask spec` fetches it",
            self.spec.display()
        ))
    }
}

impl Report {
    pub(crate) fn total(&self) -> usize {
        self.passed + self.failures.len()
    }

    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    pub(crate) fn fail(&mut self, case: impl Into<String>, detail: impl Into<String>) {
        self.failures.push(Failure { case: case.into(), detail: detail.into() });
    }

    /// Counts a case by its problem, if it has one.
    pub(crate) fn case(&mut self, case: impl Into<String>, result: Result<(), String>) {
        match result {
            Ok(()) => self.pass(),
            Err(detail) => self.fail(case, detail),
        }
    }
}

/// Compares two values; 3 and 3.0 are the same number.
pub(crate) fn expect_same(what: &str, expected: &Value, actual: &Value) -> Result<(), String> {
    if same(expected, actual) {
        return Ok(());
    }
    Err(format!("{what}\n- expected: {}\n+ actual:   {}", pretty(expected), pretty(actual)))
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let found = |key: &String, a: &Value| b.get(key).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(|(key, a)| found(key, a))
        }
        _ => a == b,
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|error| error.to_string())
}
