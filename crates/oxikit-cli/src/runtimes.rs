//! `oxikit runtimes`: lists the connected runtimes.

use super::client::Client;
use super::failure::Failure;
use super::output::Output;

/// Lists the connected runtimes. A star marks the current one, which commands use without
/// `--runtime`.
pub(super) async fn list(client: &Client, output: &mut Output) -> Result<(), Failure> {
    let answer = client.get("/api/v1/runtimes").await?;
    if output.is_json() {
        return output.value(&answer);
    }
    let runtimes = answer["runtimes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if runtimes.is_empty() {
        output.remark("no runtime is connected; `oxikit doctor` finds the reason");
        return Ok(());
    }
    let mut rows = vec![["", "ID", "NAME", "VERSION", "ENVS", "SINCE"].map(str::to_owned).to_vec()];
    for runtime in runtimes {
        let text = |member: &str| runtime[member].as_str().unwrap_or("-").to_owned();
        let envs = runtime["envs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let envs: Vec<&str> = envs.iter().filter_map(|env| env.as_str()).collect();
        let envs = if envs.is_empty() { "-".to_owned() } else { envs.join(",") };
        let mark = if runtime["id"] == answer["current"] { "*" } else { "" };
        let state = if runtime["isSilent"] == true { " (does not answer)" } else { "" };
        rows.push(vec![
            mark.to_owned(),
            text("id"),
            text("name"),
            text("genkitVersion"),
            envs,
            text("timestamp") + state,
        ]);
    }
    output.table(&rows, &[1])
}
