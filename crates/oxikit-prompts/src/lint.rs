//! Mistakes in documents: front matter, templates, inclusions and names.
//!
//! The check reads the index and changes nothing. Revisions that inclusions are pinned to are in
//! the store; the caller looks them up.

mod cycles;
mod template;

use std::collections::{BTreeMap, BTreeSet};

use oxikit_dotprompt::{Environment, FrontMatter, Prompt};
use oxikit_wire::prompts::{Finding, FindingCode};

use crate::document::{Document, Kind};
use crate::expand::{self, ExpandLimits, Found, Lookup, Reference, placed};
use crate::index::{Index, Resolved};
use crate::partials::partials;
use cycles::Graph;
use template::Mistake;

/// A revision or label of a document that an inclusion is pinned to: the document's key, and the
/// text behind `@`.
pub(crate) type Pin = (String, String);

/// All pins of inclusions in all documents.
pub(crate) fn pins(index: &Index) -> BTreeSet<Pin> {
    let mut pins = BTreeSet::new();
    for document in index.documents() {
        for (_, reference) in placed(document.body()) {
            if let (Some(found), Some(pin)) = resolve(index, &reference, document) {
                pins.insert((found.document.key.clone(), pin));
            }
        }
    }
    pins
}

/// Checks all documents. `missing_pins` are those that the store does not have.
pub(crate) fn check(
    index: &Index,
    environment: &Environment,
    missing_pins: &BTreeSet<Pin>,
) -> Vec<Finding> {
    let documents: Vec<&Document> = index.documents().map(|document| &**document).collect();
    let lint = Lint { index, environment, missing_pins, documents };
    let mut findings = lint.findings();
    findings.sort_by(|left, right| {
        let place = |it: &Finding| (it.directory.clone(), it.file.clone(), it.line, it.code);
        place(left).cmp(&place(right))
    });
    findings
}

struct Lint<'i> {
    index: &'i Index,
    environment: &'i Environment,
    missing_pins: &'i BTreeSet<Pin>,
    documents: Vec<&'i Document>,
}

impl Lint<'_> {
    fn findings(&self) -> Vec<Finding> {
        let graph = self.graph();
        let mut findings = Vec::new();
        let mut used_partials = BTreeSet::new();
        for (number, document) in self.documents.iter().enumerate() {
            let checked = self.check_template(document);
            let mut mistakes = checked.mistakes;
            let is_compiled = checked.is_compiled;
            used_partials.extend(checked.partials);
            mistakes.extend(self.inclusions(document));
            mistakes.extend(self.circle(&graph, number));
            if graph.is_deeper(number, ExpandLimits::default().depth) {
                mistakes.push(too_deep());
            }
            if is_compiled && document.is_composite() {
                mistakes.extend(self.expanded(document));
            }
            findings.extend(mistakes.into_iter().map(|mistake| finding(document, mistake)));
        }
        findings.extend(self.shared_names());
        findings.extend(self.unused_fragments(&used_partials));
        findings
    }

    fn check_template(&self, document: &Document) -> template::Checked {
        // Dotprompt takes a heading of Markdown before a rule for a comment before front matter.
        let is_plain = document.body().len() == document.text().len();
        if is_plain && !document.is_dotprompt() && FrontMatter::find(document.text()).is_some() {
            return template::Checked::default();
        }
        template::check(document.text(), self.environment)
    }

    /// Inclusions that do not exist, or of which it is not clear what they mean.
    fn inclusions(&self, document: &Document) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (position, reference) in placed(document.body()) {
            let line = Some(line_of(document, position));
            match resolve(self.index, &reference, document) {
                (None, _) => {
                    let message = format!(
                        "there is no document `{reference}`: correct the name, or add the file"
                    );
                    mistakes.push(Mistake::error(FindingCode::MissingInclusion, line, message));
                }
                (Some(found), pin) => {
                    mistakes.extend(self.pin_mistake(&found, pin, line));
                    mistakes.extend(ambiguity(&reference, &found, line));
                }
            }
        }
        mistakes
    }

    fn pin_mistake(
        &self,
        found: &Resolved,
        pin: Option<String>,
        line: Option<u32>,
    ) -> Option<Mistake> {
        let pin = (found.document.key.clone(), pin?);
        self.missing_pins.contains(&pin).then(|| {
            let message = format!(
                "`{}` has no revision or label `{}`: set the label, or remove the `@{}`",
                found.document.id, pin.1, pin.1
            );
            Mistake::error(FindingCode::MissingInclusion, line, message)
        })
    }

    /// The documents that each document includes at their newest revisions.
    fn graph(&self) -> Graph {
        let number: BTreeMap<&str, usize> =
            self.documents.iter().enumerate().map(|(at, it)| (it.key.as_str(), at)).collect();
        let included = |document: &&Document| {
            let inclusions = placed(document.body());
            let found = inclusions.filter_map(|(_, reference)| {
                match resolve(self.index, &reference, document) {
                    // An older revision may include something else.
                    (Some(found), None) => number.get(found.document.key.as_str()).copied(),
                    _ => None,
                }
            });
            found.collect::<BTreeSet<_>>().into_iter().collect()
        };
        Graph(self.documents.iter().map(included).collect())
    }

    fn circle(&self, graph: &Graph, number: usize) -> Option<Mistake> {
        let way = graph.way_back(number)?;
        let document = self.documents[number];
        let next = self.documents[way.first().copied().unwrap_or(number)];
        let leads_there = |(_, reference): &(usize, Reference)| {
            let found = resolve(self.index, reference, document).0;
            found.is_some_and(|found| found.document.key == next.key)
        };
        let position = placed(document.body()).find(leads_there).map(|(position, _)| position);
        let line = position.map(|position| line_of(document, position));
        let names: Vec<_> = way.iter().map(|at| format!("`{}`", self.documents[*at].id)).collect();
        let message = match names.is_empty() {
            true => format!("`{}` includes itself: remove the inclusion", document.id),
            false => format!(
                "`{}` includes itself through {}: remove one of the inclusions",
                document.id,
                names.join(", ")
            ),
        };
        Some(Mistake::error(FindingCode::CircularInclusion, line, message))
    }

    /// A mistake in the template that only appears when the inclusions are replaced.
    fn expanded(&self, document: &Document) -> Option<Mistake> {
        let limits = ExpandLimits::default();
        let body =
            expand::expand(Some(&document.id), document.body(), &Newest(self.index), &limits);
        let head = document.text().len() - document.body().len();
        let text = format!("{}{}", &document.text()[..head], body.text);
        let prompt = Prompt::parse(&text).ok()?;
        let error = self.environment.compile(&prompt).err()?;
        let mistake = template::template_error(&error)?;
        // The line is one of the expanded text.
        let message = format!("after its inclusions are replaced: {}", mistake.message);
        Some(Mistake { line: None, message, ..mistake })
    }

    /// Documents that an application would know by the same name.
    fn shared_names(&self) -> Vec<Finding> {
        let mut first: BTreeMap<&str, &Document> = BTreeMap::new();
        let mut findings = Vec::new();
        for document in &self.documents {
            let name = document.path_without_extension();
            let Some(known) = first.get(name) else {
                first.insert(name, document);
                continue;
            };
            let message = format!(
                "{} has the same name, `{name}`: rename one of the files",
                known.full_path().display()
            );
            let mistake = Mistake::warning(FindingCode::AmbiguousName, None, message);
            findings.push(finding(document, mistake));
        }
        findings
    }

    fn unused_fragments(&self, used_partials: &BTreeSet<String>) -> Vec<Finding> {
        let partials = partials(self.index);
        let used = used_partials.iter().filter_map(|name| partials.get(name));
        let used_keys: BTreeSet<String> = used.map(|document| document.key.clone()).collect();
        let is_unused = |document: &&&Document| {
            let is_partial = used_keys.contains(&document.key);
            document.kind == Kind::Fragment
                && !is_partial
                && !self.index.is_referenced(&document.key)
        };
        let unused = self.documents.iter().filter(is_unused);
        unused
            .map(|document| {
                let message = "no document includes this fragment".to_owned();
                finding(document, Mistake::warning(FindingCode::UnusedFragment, None, message))
            })
            .collect()
    }
}

/// The document that an inclusion means, and the revision or label that it is pinned to. A name
/// may contain an `@` that is no pin.
fn resolve(
    index: &Index,
    reference: &Reference,
    from: &Document,
) -> (Option<Resolved>, Option<String>) {
    match index.resolve(&reference.name, Some(from)) {
        Some(found) => (Some(found), reference.pin.clone()),
        None => (index.resolve(&reference.to_string(), Some(from)), None),
    }
}

fn ambiguity(reference: &Reference, found: &Resolved, line: Option<u32>) -> Option<Mistake> {
    (!found.candidates.is_empty()).then(|| {
        let message = format!(
            "`{}` may be any of {}, and is `{}` now: use one of these ids",
            reference.name,
            found.candidates.join(", "),
            found.document.id
        );
        Mistake::warning(FindingCode::AmbiguousInclusion, line, message)
    })
}

fn too_deep() -> Mistake {
    let depth = ExpandLimits::default().depth;
    let message = format!("inclusions are nested deeper than {depth} levels: flatten them");
    Mistake::error(FindingCode::InclusionLimit, None, message)
}

/// The line of a position in the body of a document.
fn line_of(document: &Document, position: usize) -> u32 {
    let text = document.text();
    let end = text.len() - document.body().len() + position;
    text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() as u32 + 1
}

fn finding(document: &Document, mistake: Mistake) -> Finding {
    let Mistake { line, severity, code, message } = mistake;
    Finding {
        directory: document.directory.display().to_string(),
        file: document.path.clone(),
        id: Some(document.id.clone()),
        line,
        severity,
        code,
        message,
    }
}

/// Finds documents at their newest revision, whatever revision is asked for.
struct Newest<'i>(&'i Index);

impl Lookup for Newest<'_> {
    fn find(&self, name: &str, _: Option<&str>, from: Option<&str>) -> Found {
        let from = from.and_then(|id| self.0.find(id, None).ok());
        match self.0.resolve(name, from.as_deref()) {
            Some(Resolved { document, .. }) => {
                Found::document(&document.id, document.rev, document.body())
            }
            None => Found::Missing,
        }
    }
}

#[cfg(test)]
mod tests;
