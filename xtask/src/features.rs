//! Checks each library crate separately: without its features, and with each of them alone. In the
//! workspace a crate has the features that any other member enables, so a missing feature is
//! noticed only here.

use anyhow::{Result, bail};

use crate::metadata::{self, Package};
use crate::tools;

/// Checks the crates, with warnings as errors. Returns a line for the summary.
pub(crate) fn run() -> Result<String> {
    let members = metadata::members()?;
    let plans: Vec<Vec<String>> =
        members.iter().filter(|member| member.is_library()).flat_map(plans).collect();
    let mut failed = Vec::new();
    for plan in &plans {
        println!("--- {}", plan.join(" "));
        let mut command = tools::cargo(["clippy", "--quiet", "--no-deps"]);
        command.args(plan).args(["--", "--deny", "warnings"]);
        if tools::run(&mut command).is_err() {
            failed.push(format!("`cargo clippy {}`", plan.join(" ")));
        }
    }
    if !failed.is_empty() {
        bail!("these do not build without warnings: {}", failed.join(", "));
    }
    Ok(format!("{} combinations", plans.len()))
}

/// The arguments that choose the features of a crate: none, and each alone.
fn plans(package: &Package) -> Vec<Vec<String>> {
    let none = ["--package", &package.name, "--no-default-features"].map(str::to_owned).to_vec();
    let features = package.features.iter().filter(|feature| *feature != "default");
    let mut plans = vec![none.clone()];
    plans.extend(
        features.map(|feature| [&none[..], &["--features".to_owned(), feature.clone()]].concat()),
    );
    plans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_is_checked_alone() {
        let members = metadata::members().unwrap();
        let package = members.iter().find(|member| member.name == "oxikit-sql").unwrap();
        let plans: Vec<String> = plans(package).iter().map(|plan| plan.join(" ")).collect();
        let alone = "--package oxikit-sql --no-default-features";
        let with = |feature: &str| format!("{alone} --features {feature}");
        assert_eq!(plans, [alone.to_owned(), with("postgres"), with("sqlite")]);
    }
}
