//! Mistakes in one text: its front matter and its template.

use std::collections::BTreeSet;

use oxikit_core::near::is_near;
use oxikit_dotprompt::{Environment, Error, ErrorKind, Prompt, UnknownKey};
use oxikit_wire::prompts::{FindingCode, Severity};

/// A mistake in a text. The caller knows the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    /// Counted from 1; `None` if it is not in one line.
    pub(super) line: Option<u32>,
    pub(super) severity: Severity,
    pub(super) code: FindingCode,
    pub(super) message: String,
}

impl Mistake {
    pub(super) fn error(code: FindingCode, line: Option<u32>, message: String) -> Self {
        Self { line, severity: Severity::Error, code, message }
    }

    pub(super) fn warning(code: FindingCode, line: Option<u32>, message: String) -> Self {
        Self { line, severity: Severity::Warning, code, message }
    }
}

/// What is known about a text after its check.
#[derive(Debug, Default)]
pub(super) struct Checked {
    pub(super) mistakes: Vec<Mistake>,
    /// The names of the partials that the template includes.
    pub(super) partials: BTreeSet<String>,
    /// Whether the template can be compiled.
    pub(super) is_compiled: bool,
}

/// Checks the front matter and the template of a text. Partials of the environment are checked
/// as documents of their own, so mistakes in them are left out here.
pub(super) fn check(text: &str, environment: &Environment) -> Checked {
    let mut checked = Checked::default();
    let prompt = match Prompt::parse(text) {
        Ok(prompt) => prompt,
        Err(error) => {
            let message = error.message().to_owned();
            checked.mistakes.push(Mistake::error(FindingCode::FrontMatter, error.line(), message));
            return checked;
        }
    };
    checked.mistakes.extend(prompt.unknown_keys().iter().map(unknown_key));
    match environment.compile(&prompt) {
        Ok(compiled) => {
            checked.is_compiled = true;
            checked.partials = compiled.partials().into_iter().map(str::to_owned).collect();
            let missing = compiled.missing_partials();
            checked.mistakes.extend(missing.into_iter().map(|name| missing_partial(name, text)));
        }
        Err(error) => checked.mistakes.extend(template_error(&error)),
    }
    checked
}

/// The error of a template; `None` if it is in a partial.
pub(super) fn template_error(error: &Error) -> Option<Mistake> {
    if error.partial().is_some() {
        return None;
    }
    let (line, message) = (error.line(), error.message());
    Some(match error.kind() {
        // The application may define it.
        _ if error.is_missing_definition() => Mistake::warning(
            FindingCode::Template,
            line,
            format!("{message}; the application has to define it"),
        ),
        ErrorKind::Yaml | ErrorKind::Schema => {
            Mistake::error(FindingCode::FrontMatter, line, message.to_owned())
        }
        _ => Mistake::error(FindingCode::Template, line, message.to_owned()),
    })
}

fn unknown_key(unknown: &UnknownKey) -> Mistake {
    let UnknownKey { parent, key, line, known, .. } = unknown;
    let place = parent.map_or_else(String::new, |parent| format!(" of `{parent}`"));
    let near = known.iter().find(|known| is_near(key, known));
    let advice = match near {
        Some(known) => format!("did you mean `{known}`?"),
        None => format!("put a key of your own below `metadata`, or a dot in it (`my.{key}`)"),
    };
    let message = format!("nothing reads the key `{key}`{place}; {advice}");
    Mistake::warning(FindingCode::UnknownKey, Some(*line), message)
}

fn missing_partial(name: &str, text: &str) -> Mistake {
    let uses = |line: &str| {
        let mut tags = line.split("{{").skip(1);
        tags.any(|tag| {
            let tag = tag.trim_start_matches(['~', '#', ' ']);
            tag.strip_prefix('>').is_some_and(|rest| rest.trim_start().starts_with(name))
        })
    };
    let line = text.lines().position(uses).map(|line| line as u32 + 1);
    let message = format!(
        "there is no partial `{name}`: add the file `_{name}.prompt`, or define it in the application"
    );
    Mistake::warning(FindingCode::MissingPartial, line, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: &[(FindingCode, Severity, Option<u32>)]) {
        let environment = Environment::new().partial("sign", "{{#if");
        let found: Vec<_> = check(text, &environment)
            .mistakes
            .into_iter()
            .map(|mistake| (mistake.code, mistake.severity, mistake.line))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn mistakes_have_a_kind_and_a_line() {
        use FindingCode::{FrontMatter, MissingPartial, Template, UnknownKey};
        use Severity::{Error, Warning};
        check_text("---\nmodel: a\ntags: [x]\ntype: system\n---\nHi {{name}} [[tone]]", &[]);
        check_text("---\nmodel: [\n---\nHi", &[(FrontMatter, Error, Some(2))]);
        check_text("---\nmodle: a\n---\nHi", &[(UnknownKey, Warning, Some(2))]);
        check_text("---\nmodel: a\n---\n\nHi {{#if a}}", &[(Template, Error, Some(5))]);
        check_text("Hi {{shout name}}", &[(Template, Warning, Some(1))]);
        check_text("Hi\n{{~#> box}}x{{/box}}{{> bye}}", &[(MissingPartial, Warning, Some(2))]);
        // The partial is broken, and is reported as a document of its own.
        check_text("{{> sign}}", &[]);
        check_text("---\noutput:\n  schema: Unknown\n---\nHi", &[(Template, Warning, None)]);
    }

    #[test]
    fn a_misspelt_key_is_answered_with_the_one_that_was_meant() {
        let mistakes = check("---\nmodle: a\nmine: b\n---\nHi", &Environment::new()).mistakes;
        assert!(mistakes[0].message.ends_with("did you mean `model`?"), "{mistakes:?}");
        assert!(mistakes[1].message.contains("`my.mine`"), "{mistakes:?}");
    }
}
