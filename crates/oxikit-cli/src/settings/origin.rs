//! A setting with its origin, and the choice between flag, variable, file and default.

use std::fmt;
use std::str::FromStr;

use crate::failure::Failure;
use crate::project::DATA_DIR;

/// The origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
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

/// A value and its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Reads environment variables.
pub(super) struct Variables<F>(pub(super) F);

/// The value and the name of a variable; `None` if it is not set.
pub(super) type FromVariable<T> = Option<(T, &'static str)>;

impl<F: Fn(&str) -> Option<String>> Variables<F> {
    pub(super) fn read<T: FromStr>(&self, name: &'static str) -> Result<FromVariable<T>, Failure> {
        let Some(text) = (self.0)(name).filter(|text| !text.is_empty()) else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some((value, name))),
            Err(_) => Err(Failure::usage(format!(
                "the environment variable {name} has the value `{text}`, which is not valid: correct or unset it"
            ))),
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
