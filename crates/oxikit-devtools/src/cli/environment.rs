//! `oxikit env`: the variables for a runtime that is started by hand.

use std::collections::BTreeMap;

use super::Place;
use super::failure::Failure;
use super::output::Output;
use crate::project::manager_of;
use crate::server::ManagerFile;

/// One `NAME=value` a line: `export $(oxikit env) && node app.js`. They hold tokens.
pub(super) fn show(place: &Place, output: &mut Output) -> Result<(), Failure> {
    // Says what is wrong if there is nobody.
    place.client()?;
    let (_, manager) = manager_of(&place.0)
        .ok_or_else(|| Failure::nobody_there("the tools have just ended; start them again"))?;
    let variables = variables(&manager);
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
