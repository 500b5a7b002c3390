//! `oxikit doctor`: why a runtime is not visible, from a table of causes; and the repair of
//! databases.

mod databases;
mod files;
mod versions;

use std::net::{Ipv4Addr, TcpListener};

use serde::Serialize;
use serde_json::Value;

use super::Place;
use super::client::Client;
use super::failure::{Exit, Failure};
use super::output::Output;
use super::{app, environment};
use crate::project::{is_alive, manager_of};
use crate::server::ManagerFile;
use crate::terminal::Text;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    /// It may be the cause.
    Suspicious,
    /// It is a cause.
    Bad,
}

/// What was found, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    verdict: Verdict,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn good(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Good, detail: detail.into(), fix: None }
    }

    fn suspicious(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        let (detail, fix) = (detail.into(), Some(fix.into()));
        Self { check, verdict: Verdict::Suspicious, detail, fix }
    }

    fn bad(check: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        let (detail, fix) = (detail.into(), Some(fix.into()));
        Self { check, verdict: Verdict::Bad, detail, fix }
    }
}

/// Shows what was found. Exit code 3 if no tools or no runtime are there.
pub(super) async fn run(place: &Place, output: &mut Output) -> Result<(), Failure> {
    let (findings, runtimes) = examine(place).await;
    show(&findings, output)?;
    if runtimes == 0 { Err(Failure::Shown(Exit::NobodyThere)) } else { Ok(()) }
}

/// Repairs the databases that are damaged, and shows what came of it.
pub(super) async fn repair(place: &Place, output: &mut Output) -> Result<(), Failure> {
    let root = place.root();
    let findings = tokio::task::spawn_blocking(move || databases::repair(&root)).await;
    let findings = findings.map_err(|error| Failure::internal(error.to_string()))??;
    show(&findings, output)?;
    let is_good = |finding: &Finding| finding.verdict != Verdict::Bad;
    if findings.iter().all(is_good) { Ok(()) } else { Err(Failure::Shown(Exit::Failed)) }
}

/// Goes through the causes; also how many runtimes there are.
pub(super) async fn examine(place: &Place) -> (Vec<Finding>, usize) {
    let root = place.root();
    let mut findings = vec![Finding::good("project", root.display().to_string())];
    let manager = manager_of(&place.0).unwrap_or_else(|refused| {
        findings.push(Finding::bad("tools", refused, "look at the file; it may not be yours"));
        None
    });
    let runtimes = match &manager {
        Some((at, manager)) if is_alive(manager) => {
            if *at != root {
                findings.push(other_root(&at.display().to_string()));
            }
            ask_tools(manager, &mut findings).await
        }
        Some((_, manager)) => {
            let detail = format!("process {} has ended without cleaning up", manager.pid);
            findings.push(Finding::bad("tools", detail, "start them: oxikit start"));
            0
        }
        None => {
            findings.push(Finding::bad(
                "tools",
                "none run for this folder or one above it",
                "start them: oxikit start",
            ));
            findings.extend([4000, 3200, 4033].map(check_port));
            0
        }
    };
    let manager = manager.map(|(_, manager)| manager);
    findings.push(check_environment(manager.as_ref(), |name| std::env::var(name).ok()));
    findings.extend(files::check(&root, &place.0));
    findings.extend(versions::check(&root));
    let of_project = root.clone();
    let checked = tokio::task::spawn_blocking(move || databases::check(&of_project)).await;
    findings.extend(checked.unwrap_or_default());
    (findings, runtimes)
}

/// What the tools say themselves; how many runtimes they see.
async fn ask_tools(manager: &ManagerFile, findings: &mut Vec<Finding>) -> usize {
    let answers = async {
        let client = Client::of(manager.clone())?;
        let runtimes = client.get("/api/v1/runtimes").await?;
        // Tools without an application have none to tell of.
        Ok::<_, Failure>((runtimes, client.get("/api/v1/app").await.ok()))
    };
    let (runtimes, app) = match answers.await {
        Ok(answers) => answers,
        Err(failure) => {
            let detail = failure.to_json()["message"].as_str().unwrap_or_default().to_owned();
            findings.push(Finding::bad("tools", detail, "end them and start them again"));
            return 0;
        }
    };
    findings.push(Finding::good("tools", format!("{}, process {}", manager.api_url, manager.pid)));
    findings.push(check_version(&manager.version));
    findings.extend(app.as_ref().map(check_app));
    let list = runtimes["runtimes"].as_array().map(Vec::as_slice).unwrap_or_default();
    findings.extend(check_runtimes(list));
    list.len()
}

fn other_root(root: &str) -> Finding {
    Finding::suspicious(
        "project root",
        format!("the tools run for {root}, which is another project"),
        "start tools in this project, or name the other with --project",
    )
}

fn check_version(version: &str) -> Finding {
    match env!("CARGO_PKG_VERSION") {
        own if own == version => Finding::good("version", version),
        own => Finding::suspicious(
            "version",
            format!("the tools are {version}, this command is {own}"),
            "end the tools and start them again",
        ),
    }
}

fn check_app(status: &Value) -> Finding {
    let detail = app::describe(status);
    match status["state"] == "running" {
        true => Finding::good("application", detail),
        false => Finding::bad(
            "application",
            detail,
            "see its last lines with `oxikit app status`, then `oxikit app restart`",
        ),
    }
}

fn check_runtimes(list: &[Value]) -> Vec<Finding> {
    if list.is_empty() {
        let detail = "none is connected; one that is built at its start may need a while";
        let fix = "start it with `oxikit start -- <command>`, or by hand with `export $(oxikit env) && <command>`; it must use Genkit with GENKIT_ENV=dev, and a Rust program must call `oxikit_serve::reflect(&ai)` or `oxikit_serve::serve(&ai)`";
        return vec![Finding::bad("runtimes", detail, fix)];
    }
    let finding = |runtime: &Value| {
        let name = |member: &str| runtime[member].as_str().unwrap_or("?").to_owned();
        let detail = format!("{} ({})", name("id"), name("genkitVersion"));
        if runtime["isSilent"] == true {
            let detail = format!("{detail} does not answer");
            return Finding::bad("runtimes", detail, "it is frozen or busy: start it again");
        }
        match runtime["reflectionApiSpecVersion"].as_u64() {
            None | Some(0 | 1) => Finding::good("runtimes", detail),
            Some(version) => Finding::suspicious(
                "runtimes",
                format!("{detail} speaks version {version} of the protocol; 1 is known"),
                "a newer oxikit may know it",
            ),
        }
    };
    list.iter().map(finding).collect()
}

/// Whether the tools could have this port.
fn check_port(port: u16) -> Finding {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Finding::good("ports", format!("{port} is free")),
        Err(_) => Finding::suspicious(
            "ports",
            format!("{port} is taken by another program"),
            "the tools take the next free one; a runtime that was told this port finds somebody else",
        ),
    }
}

/// Whether a runtime that is started in this shell would come here.
fn check_environment(
    manager: Option<&ManagerFile>,
    variable: impl Fn(&str) -> Option<String>,
) -> Finding {
    const FIX: &str = "unset it, or start the runtime with `export $(oxikit env) && <command>`";
    for name in ["GENKIT_REFLECTION_V2_SERVER", "GENKIT_TELEMETRY_SERVER"] {
        let Some(value) = variable(name) else { continue };
        let ours = manager.map(environment::variables).into_iter().flatten();
        if !ours.into_iter().any(|ours| ours == (name, value.as_str())) {
            return Finding::bad("environment", format!("{name} names other tools"), FIX);
        }
    }
    match variable("GENKIT_ENV") {
        Some(value) if value != "dev" => Finding::bad(
            "environment",
            format!("GENKIT_ENV is `{value}`: runtimes take it for production"),
            FIX,
        ),
        _ => Finding::good("environment", "nothing in this shell leads runtimes elsewhere"),
    }
}

fn show(findings: &[Finding], output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(&findings);
    }
    for Finding { check, verdict, detail, fix } in findings {
        let mark = match verdict {
            Verdict::Good => Text::new().green("ok "),
            Verdict::Suspicious => Text::new().yellow("?  "),
            Verdict::Bad => Text::new().red("bad"),
        };
        output.line(mark.plain(format!(" {check}: {detail}")))?;
        if let Some(fix) = fix {
            output.line(format!("    → {fix}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn variables_that_lead_elsewhere_are_found() {
        let verdict = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            check_environment(None, variable).verdict
        };
        assert_eq!(verdict(&[]), Verdict::Good);
        assert_eq!(verdict(&[("GENKIT_ENV", "dev")]), Verdict::Good);
        assert_eq!(verdict(&[("GENKIT_ENV", "prod")]), Verdict::Bad);
        assert_eq!(verdict(&[("GENKIT_REFLECTION_V2_SERVER", "ws://localhost:1")]), Verdict::Bad);
        assert_eq!(verdict(&[("GENKIT_TELEMETRY_SERVER", "http://localhost:1")]), Verdict::Bad);
    }

    #[test]
    fn each_runtime_is_judged() {
        let verdict = |runtime: Value| check_runtimes(&[runtime])[0].verdict;
        assert_eq!(check_runtimes(&[])[0].verdict, Verdict::Bad);
        assert_eq!(verdict(json!({"id": "1"})), Verdict::Good);
        assert_eq!(verdict(json!({"id": "1", "isSilent": true})), Verdict::Bad);
        let newer = json!({"id": "1", "reflectionApiSpecVersion": 2});
        assert_eq!(verdict(newer), Verdict::Suspicious);
    }

    #[test]
    fn the_application_is_judged() {
        assert_eq!(check_app(&json!({"state": "running"})).verdict, Verdict::Good);
        assert_eq!(check_app(&json!({"state": "stopped"})).verdict, Verdict::Bad);
    }
}
