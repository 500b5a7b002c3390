//! `oxikit env`: the variables for a runtime that is started by hand.

use std::collections::BTreeMap;

use super::Place;
use super::failure::Failure;
use super::output::Output;
use crate::server::ManagerFile;

/// One `NAME=value` a line: `export $(oxikit env) && node app.js`. They hold tokens.
pub(super) async fn show(place: &Place, output: &mut Output) -> Result<(), Failure> {
    let client = place.client()?;
    // A runtime is not led to another program.
    client.verify().await?;
    let variables = variables(client.manager());
    if output.is_json() {
        return output.value(&variables.into_iter().collect::<BTreeMap<_, _>>());
    }
    for (name, value) in variables {
        output.line(format!("{name}={value}"))?;
    }
    Ok(())
}

/// What makes a program a runtime of these tools.
pub(super) fn variables(manager: &ManagerFile) -> [(&'static str, &str); 4] {
    [
        ("GENKIT_ENV", "dev"),
        ("GENKIT_TELEMETRY_SERVER", &manager.telemetry_url),
        ("GENKIT_REFLECTION_V2_SERVER", &manager.reflection_url),
        ("GENKIT_ENABLE_REALTIME_TELEMETRY", "true"),
    ]
}
