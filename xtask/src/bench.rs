//! What things cost, each beside its floor and its aim.

use anyhow::{Result, bail};

use crate::tools;

/// Runs one suite, or all; further words choose scenarios of it.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let scenarios = match args.split_first() {
        None => &[],
        Some((suite, scenarios)) if suite == "core" => scenarios,
        Some((suite, _)) => bail!("there is no benchmark suite `{suite}`; there is `core`"),
    };
    let mut command =
        tools::cargo(["run", "--quiet", "--release", "--package", "oxikit-bench-core", "--"]);
    tools::run(command.args(scenarios))
}
