//! `oxikit env`: the environment variables for a runtime that is started by hand.

use std::collections::BTreeMap;

use super::ProjectDir;
use super::failure::Failure;
use super::output::Output;
use oxikit_devtools::ManagerFile;

/// Prints one `NAME=value` per line, for `export $(oxikit env) && node app.js`. The values
/// contain tokens.
pub(super) async fn show(project_dir: &ProjectDir, output: &mut Output) -> Result<(), Failure> {
    let client = project_dir.client()?;
    // The address is only printed if the developer tools answer there, so that a runtime
    // does not send its data to another program.
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

/// The variables that make an application connect to these developer tools.
pub(super) fn variables(manager: &ManagerFile) -> [(&'static str, &str); 4] {
    [
        ("GENKIT_ENV", "dev"),
        ("GENKIT_TELEMETRY_SERVER", &manager.telemetry_url),
        ("GENKIT_REFLECTION_V2_SERVER", &manager.reflection_url),
        ("GENKIT_ENABLE_REALTIME_TELEMETRY", "true"),
    ]
}
