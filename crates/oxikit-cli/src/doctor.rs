//! `oxikit doctor`: checks the known causes for a runtime that is not visible, and checks and
//! repairs the databases of the project.

mod databases;
mod files;
mod versions;

use std::net::{Ipv4Addr, TcpListener};

use serde_json::Value;

use super::ProjectDir;
use super::client::Client;
use super::failure::{Exit, Failure};
use super::output::Output;
use super::{app_command, environment};
use crate::project::manager_of;
use crate::terminal::Text;
use oxikit_devtools::{Doctor, Finding, ManagerFile, Verdict};

/// The checks for the API of the developer tools.
#[derive(Debug)]
pub(super) struct ProjectDoctor(pub(super) ProjectDir);

#[async_trait::async_trait]
impl Doctor for ProjectDoctor {
    async fn examine(&self) -> Vec<Finding> {
        examine(&self.0).await.0
    }
}

/// Runs all checks and shows the findings. Exit code 3 if no runtime is connected.
pub(super) async fn run(project_dir: &ProjectDir, output: &mut Output) -> Result<(), Failure> {
    let (findings, runtimes) = examine(project_dir).await;
    show(&findings, output)?;
    if runtimes == 0 { Err(Failure::AlreadyShown(Exit::Unavailable)) } else { Ok(()) }
}

/// Repairs damaged databases and shows the result.
pub(super) async fn repair(project_dir: &ProjectDir, output: &mut Output) -> Result<(), Failure> {
    let root = project_dir.root();
    let findings = tokio::task::spawn_blocking(move || databases::repair(&root)).await;
    let findings = findings.map_err(|error| Failure::internal(error.to_string()))??;
    show(&findings, output)?;
    let is_good = |finding: &Finding| finding.verdict != Verdict::Bad;
    if findings.iter().all(is_good) { Ok(()) } else { Err(Failure::AlreadyShown(Exit::Failed)) }
}

/// Runs all checks. Returns the findings and the number of connected runtimes.
pub(super) async fn examine(project_dir: &ProjectDir) -> (Vec<Finding>, usize) {
    let root = project_dir.root();
    let mut findings = vec![Finding::good("project", root.display().to_string())];
    let manager = manager_of(&project_dir.0).unwrap_or_else(|error| {
        findings.push(Finding::bad(
            "tools",
            error,
            "check the owner of the file; another user may have created it",
        ));
        None
    });
    let runtimes = match &manager {
        Some((at, manager)) if manager.is_alive() => {
            if *at != root {
                findings.push(other_root(&at.display().to_string()));
            }
            check_server(manager, &mut findings).await
        }
        Some((_, manager)) => {
            let detail = format!("process {} was killed; its file was left behind", manager.pid);
            findings.push(Finding::bad("tools", detail, "start them: oxikit start"));
            0
        }
        None => {
            findings.push(Finding::bad(
                "tools",
                "no developer tools run for this folder or one above it",
                "start them: oxikit start",
            ));
            findings.extend([4000, 3200, 4033].map(check_port));
            0
        }
    };
    let manager = manager.map(|(_, manager)| manager);
    findings.push(check_environment(manager.as_ref(), |name| std::env::var(name).ok()));
    findings.extend(files::check(&root, &project_dir.0));
    findings.extend(versions::check(&root));
    // The check reads whole database files, so it runs on a thread for blocking work.
    let of_project = root.clone();
    let checked = tokio::task::spawn_blocking(move || databases::check(&of_project)).await;
    findings.extend(checked.unwrap_or_default());
    (findings, runtimes)
}

/// Checks what the developer tools report. Returns the number of connected runtimes.
async fn check_server(manager: &ManagerFile, findings: &mut Vec<Finding>) -> usize {
    let answers = async {
        let client = Client::of(manager.clone())?;
        let runtimes = client.get("/api/v1/runtimes").await?;
        // Developer tools that run without an application have no status of one.
        Ok::<_, Failure>((runtimes, client.get("/api/v1/app").await.ok()))
    };
    let (runtimes, app) = match answers.await {
        Ok(answers) => answers,
        Err(failure) => {
            let detail = failure.to_json()["message"].as_str().unwrap_or_default().to_owned();
            findings.push(Finding::bad(
                "tools",
                detail,
                "end the developer tools and start them again: oxikit start",
            ));
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
        format!("the developer tools run for {root}, which is another project"),
        "start developer tools in this project, or pass the other folder with --project",
    )
}

fn check_version(version: &str) -> Finding {
    match env!("CARGO_PKG_VERSION") {
        own if own == version => Finding::good("version", version),
        own => Finding::suspicious(
            "version",
            format!("the developer tools have version {version}, this command has {own}"),
            "end the developer tools and start them again: oxikit start",
        ),
    }
}

fn check_app(status: &Value) -> Finding {
    let detail = app_command::describe(status);
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
        let detail =
            "none is connected; an application that is compiled at its start may need a while";
        let fix = "start it with `oxikit start -- <command>`, or by hand with `export $(oxikit env) && <command>`; it must use Genkit with GENKIT_ENV=dev, and a Rust program must call `oxikit_serve::reflect(&ai)` or `oxikit_serve::serve(&ai)`";
        return vec![Finding::bad("runtimes", detail, fix)];
    }
    let finding = |runtime: &Value| {
        let name = |member: &str| runtime[member].as_str().unwrap_or("?").to_owned();
        let detail = format!("{} ({})", name("id"), name("genkitVersion"));
        if runtime["isSilent"] == true {
            let detail = format!("{detail} does not answer");
            return Finding::bad("runtimes", detail, "it is frozen or busy: restart it");
        }
        match runtime["reflectionApiSpecVersion"].as_u64() {
            None | Some(0 | 1) => Finding::good("runtimes", detail),
            Some(version) => Finding::suspicious(
                "runtimes",
                format!(
                    "{detail} uses version {version} of the reflection protocol; this oxikit supports version 1"
                ),
                "a newer oxikit may support it",
            ),
        }
    };
    list.iter().map(finding).collect()
}

/// Checks whether a default port is free.
fn check_port(port: u16) -> Finding {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Finding::good("ports", format!("{port} is free")),
        Err(_) => Finding::suspicious(
            "ports",
            format!("{port} is taken by another program"),
            "the developer tools use the next free port; a runtime that is configured with this port reaches the other program",
        ),
    }
}

/// Checks whether a runtime that is started in this shell would connect to these tools.
fn check_environment(
    manager: Option<&ManagerFile>,
    variable: impl Fn(&str) -> Option<String>,
) -> Finding {
    const FIX: &str = "unset it, or start the runtime with `export $(oxikit env) && <command>`";
    for name in ["GENKIT_REFLECTION_V2_SERVER", "GENKIT_TELEMETRY_SERVER"] {
        let Some(value) = variable(name) else { continue };
        let ours = manager.map(environment::variables).into_iter().flatten();
        if !ours.into_iter().any(|ours| ours == (name, value.as_str())) {
            return Finding::bad(
                "environment",
                format!("{name} is the address of other tools"),
                FIX,
            );
        }
    }
    match variable("GENKIT_ENV") {
        Some(value) if value != "dev" => Finding::bad(
            "environment",
            format!(
                "GENKIT_ENV is `{value}`, so runtimes run in production mode and do not connect"
            ),
            FIX,
        ),
        _ => Finding::good(
            "environment",
            "no variable in this shell stops a runtime from connecting",
        ),
    }
}

fn show(findings: &[Finding], output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(&findings);
    }
    for Finding { check, verdict, detail, fix, .. } in findings {
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
