//! Values, and where each of them comes from.

use std::fmt;
use std::str::FromStr;

use crate::cli::failure::Failure;
use crate::project::DATA_DIR;

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) enum Origin {
    Flag,
    Variable(&'static str),
    File,
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag => f.write_str("flag"),
            Self::Variable(name) => write!(f, "env {name}"),
            Self::File => write!(f, "file {DATA_DIR}/config.toml"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Setting<T> {
    pub(in crate::cli) value: T,
    pub(in crate::cli) origin: Origin,
}

/// The environment.
pub(super) struct Variables<F>(pub(super) F);

/// A value of a variable and the variable's name.
pub(super) type FromVariable<T> = Option<(T, &'static str)>;

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    pub(super) fn read<T: FromStr>(&self, name: &'static str) -> Result<FromVariable<T>, Failure> {
        let Some(text) = (self.0)(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some((value, name))),
            Err(_) => Err(Failure::usage(format!("the variable {name} cannot be `{text}`"))),
        }
    }
}

pub(super) fn pick<T>(
    flag: Option<T>,
    env: FromVariable<T>,
    file: Option<T>,
    default: T,
) -> Setting<T> {
    match (flag, env, file) {
        (Some(value), _, _) => Setting { value, origin: Origin::Flag },
        (None, Some((value, name)), _) => Setting { value, origin: Origin::Variable(name) },
        (None, None, Some(value)) => Setting { value, origin: Origin::File },
        (None, None, None) => Setting { value: default, origin: Origin::Default },
    }
}

pub(super) fn pick_port(
    flag: Option<u16>,
    env: FromVariable<u16>,
    file: Option<u16>,
) -> Setting<Option<u16>> {
    let env = env.map(|(port, name)| (Some(port), name));
    pick(flag.map(Some), env, file.map(Some), None)
}
