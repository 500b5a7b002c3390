//! `oxikit log`: lists the log lines of applications.

use serde_json::Value;

use super::args::{LogArgs, LogCommand, LogFilterArgs};
use super::client::{Client, query};
use super::failure::Failure;
use super::output::{Output, ago};

pub(super) async fn run(
    args: LogArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let LogCommand::List(LogFilterArgs { limit, trace, span, min_severity, after }) = args.command;
    let severity = min_severity.map(|number| number.to_string());
    let query = query(&[
        ("limit", Some(&limit.to_string())),
        ("traceId", trace.as_ref()),
        ("spanId", span.as_ref()),
        ("minSeverity", severity.as_ref()),
        ("continuationToken", after.as_ref()),
    ]);
    let page = client.get(&format!("/api/v1/logs?{query}")).await?;
    if output.is_json() {
        return output.value(&page);
    }
    let lines = page["logs"].as_array().map(Vec::as_slice).unwrap_or_default();
    if lines.is_empty() {
        output.remark("no log lines");
        return Ok(());
    }
    let mut rows = vec![["WHEN", "LEVEL", "LINE", "TRACE"].map(str::to_owned).to_vec()];
    rows.extend(lines.iter().map(row));
    output.table(&rows, &[3])?;
    if let Some(token) = page["continuationToken"].as_str() {
        output.remark(format!("more lines: --after {token}"));
    }
    Ok(())
}

fn row(line: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        value => value.to_string(),
    };
    vec![
        line["timestamp"].as_f64().map(ago).unwrap_or_default(),
        text(&line["severityText"]),
        text(&line["body"]),
        text(&line["traceId"]),
    ]
}
