//! Recorded renders of Handlebars.js: `handlebars/cases.json`.

use std::collections::BTreeMap;
use std::fs;

use oxikit_dotprompt::{Environment, RenderInput};
use oxikit_wire::JsonObject;
use serde::Deserialize;
use serde_json::Value;

use crate::suite::{Outcome, Places, Report};

#[derive(Deserialize)]
struct Cases {
    inputs: BTreeMap<String, JsonObject>,
    partials: BTreeMap<String, BTreeMap<String, String>>,
    data: BTreeMap<String, JsonObject>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    template: String,
    input: String,
    #[serde(default)]
    partials: Option<String>,
    #[serde(default)]
    data: Option<String>,
    #[serde(default)]
    expect: Option<String>,
    #[serde(default)]
    error: bool,
}

pub(crate) fn run(places: &Places) -> anyhow::Result<Outcome> {
    let text = fs::read_to_string(places.here.join("handlebars/cases.json"))?;
    let cases: Cases = serde_json::from_str(&text)?;
    let mut report = Report::default();
    for case in &cases.cases {
        report.case(&case.name, check(&cases, case));
    }
    Ok(Outcome::Ran(report))
}

fn check(cases: &Cases, case: &Case) -> Result<(), String> {
    let mut environment = stand_ins();
    let partials = case.partials.as_ref().and_then(|set| cases.partials.get(set));
    for (name, source) in partials.into_iter().flatten() {
        environment = environment.partial(name, source.as_str());
    }
    let input = RenderInput {
        input: cases.inputs.get(&case.input),
        context: case.data.as_ref().and_then(|data| cases.data.get(data)),
        ..RenderInput::default()
    };
    let rendered = environment
        .compile_template(&case.template)
        .and_then(|template| template.render_text(&input));
    match (rendered, case.error) {
        (Err(_), true) => Ok(()),
        (Ok(text), false) if Some(&text) == case.expect.as_ref() => Ok(()),
        (Ok(text), _) => {
            Err(format!("{:?}\n- expected: {:?}\n+ actual:   {text:?}", case.template, case.expect))
        }
        (Err(error), false) => Err(format!("{:?}\n+ failed: {error}", case.template)),
    }
}

/// The helpers that the file describes.
fn stand_ins() -> Environment {
    fn text(value: Option<&Value>) -> &str {
        value.and_then(Value::as_str).unwrap_or_default()
    }
    Environment::new()
        .helper("role", |args, _| Ok::<_, String>(format!("<R:{}>", text(args.first()))))
        .helper("media", |_, hash| {
            let url = text(hash.get("url"));
            Ok::<_, String>(match hash.get("contentType") {
                Some(kind) => format!("<M:{url} {}>", text(Some(kind))),
                None => format!("<M:{url}>"),
            })
        })
}
