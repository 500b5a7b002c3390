//! `oxikit config`: shows the settings and their origins.

use serde_json::{Map, Value, json};

use super::ProjectDir;
use super::args::{ConfigArgs, ConfigCommand};
use super::failure::Failure;
use super::output::Output;
use super::settings::Settings;

pub(super) fn run(
    args: ConfigArgs,
    project_dir: &ProjectDir,
    output: &mut Output,
) -> Result<(), Failure> {
    let ConfigCommand::Show { origin, settings } = args.command;
    let variable = |name: &str| std::env::var(name).ok();
    let rows = Settings::resolve(&settings, variable, &project_dir.root())?.rows();
    if output.is_json() {
        let member = |(name, value, from): (&str, Value, _)| match origin {
            true => (name.to_owned(), json!({"value": value, "origin": format!("{from}")})),
            false => (name.to_owned(), value),
        };
        return output.value(&rows.into_iter().map(member).collect::<Map<_, _>>());
    }
    let row = |(name, value, from): (&str, Value, _)| {
        let mut row = vec![name.to_owned(), shown(&value)];
        if origin {
            row.push(format!("{from}"));
        }
        row
    };
    output.table(&rows.into_iter().map(row).collect::<Vec<_>>(), &[0, 2])
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "automatic".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".to_owned(),
        value => value.to_string(),
    }
}
