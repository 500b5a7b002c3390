//! Shows the mistakes in prompt files.

use std::path::{Path, PathBuf};

use oxikit_wire::prompts::{Finding, LintReport, Severity};
use serde_json::json;

use super::failure::{Exit, Failure};
use super::output::Output;
use crate::terminal::Text;

/// Writes one line for each mistake. The exit code is 1 if one of them is an error.
pub(super) fn show(report: &LintReport, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        output.value(report)?;
    } else {
        for finding in &report.findings {
            output.line(line(finding))?;
        }
        output.remark(summary(report));
    }
    match report.has_errors() {
        true => Err(Failure::AlreadyShown(Exit::Failed)),
        false => Ok(()),
    }
}

/// `prompts/joke.prompt:4: error: … (missing_inclusion)`
fn line(finding: &Finding) -> Text {
    let path = shown_path(&Path::new(&finding.directory).join(&finding.file));
    let place = match finding.line {
        Some(line) => format!("{path}:{line}: "),
        None => format!("{path}: "),
    };
    let code = json!(finding.code);
    let text = Text::new().plain(place);
    let text = match finding.severity {
        Severity::Error => text.bold_red("error:"),
        Severity::Warning => text.yellow("warning:"),
    };
    let code = format!(" ({})", code.as_str().unwrap_or_default());
    text.plain(" ").plain(&finding.message).dimmed(code)
}

/// The path, relative to the working directory if it is below it.
fn shown_path(path: &Path) -> String {
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).unwrap_or_default();
    let relative = path.strip_prefix(&here).map(PathBuf::from);
    relative.unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn summary(report: &LintReport) -> String {
    let count = |severity: Severity| {
        report.findings.iter().filter(|finding| finding.severity == severity).count()
    };
    let plural = |number: usize, word: &str| match number {
        1 => format!("1 {word}"),
        number => format!("{number} {word}s"),
    };
    format!(
        "{} checked: {}, {}",
        plural(report.documents, "prompt"),
        plural(count(Severity::Error), "error"),
        plural(count(Severity::Warning), "warning")
    )
}

#[cfg(test)]
mod tests {
    use oxikit_wire::prompts::FindingCode;

    use super::*;

    #[test]
    fn a_mistake_is_one_line_with_its_place() {
        let finding = Finding {
            directory: "/elsewhere/prompts".to_owned(),
            file: "joke.prompt".to_owned(),
            id: None,
            line: Some(4),
            severity: Severity::Error,
            code: FindingCode::MissingInclusion,
            message: "a\nb".to_owned(),
        };
        let expected = "/elsewhere/prompts/joke.prompt:4: error: a\\nb (missing_inclusion)";
        assert_eq!(line(&finding).uncoloured(), expected);
        let report = LintReport { documents: 1, findings: vec![finding] };
        assert_eq!(summary(&report), "1 prompt checked: 1 error, 0 warnings");
    }
}
