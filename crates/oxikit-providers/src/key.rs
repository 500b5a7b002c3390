//! The source of a provider's key.

use std::borrow::Cow;

use oxikit_ai::{Result, Secret, Status};

/// The source of a key.
#[derive(Debug, Clone)]
pub(crate) enum KeySource {
    /// No key: the server does not need one.
    None,
    /// A key that the application has set.
    Given(Secret<String>),
    /// The first of these variables that is set, looked up when it is needed.
    Environment(Variables),
}

/// The environment variables of a key, and how to get one.
#[derive(Debug, Clone)]
pub(crate) struct Variables {
    pub(crate) names: Vec<Cow<'static, str>>,
    /// The page where the provider issues keys.
    pub(crate) page: Option<&'static str>,
}

impl KeySource {
    pub(crate) fn variables(names: &[&'static str], page: &'static str) -> Self {
        Self::Environment(Variables {
            names: names.iter().copied().map(Cow::Borrowed).collect(),
            page: Some(page),
        })
    }

    /// The key for `provider`; `None` if the server does not need one.
    pub(crate) fn find(&self, provider: &str) -> Result<Option<Secret<String>>> {
        match self {
            Self::None => Ok(None),
            Self::Given(key) => Ok(Some(key.clone())),
            Self::Environment(variables) => variables
                .find(|name| std::env::var(name).ok())
                .map(Some)
                .ok_or_else(|| variables.missing(provider)),
        }
    }
}

impl Variables {
    fn find(&self, look_up: impl Fn(&str) -> Option<String>) -> Option<Secret<String>> {
        self.names
            .iter()
            .filter_map(|name| look_up(name))
            .map(|value| value.trim().to_owned())
            .find(|value| !value.is_empty())
            .map(Secret::new)
    }

    /// The error for a missing key. It is internal, because it is a fault of the application's
    /// configuration: callers cannot fix it, while the log and the developer tools show it.
    fn missing(&self, provider: &str) -> Status {
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let page = self.page.map(|page| format!("; get a key at {page}")).unwrap_or_default();
        Status::internal(format!(
            "no API key is set for `{provider}`: set {}{page}",
            names.join(" or "),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn google() -> Variables {
        let KeySource::Environment(variables) =
            KeySource::variables(&["GEMINI_API_KEY", "GOOGLE_API_KEY"], "https://example.com")
        else {
            unreachable!("variables make an environment source");
        };
        variables
    }

    #[test]
    fn the_first_variable_that_holds_something_wins() {
        let key = google().find(|name| match name {
            "GEMINI_API_KEY" => Some("  ".to_owned()),
            _ => Some(" from-google \n".to_owned()),
        });
        assert_eq!(key.unwrap().expose(), "from-google");
    }

    #[test]
    fn a_missing_key_names_the_variables_and_the_page() {
        assert!(google().find(|_| None).is_none());
        assert_eq!(
            google().missing("googleai").message(),
            "no API key is set for `googleai`: set `GEMINI_API_KEY` or `GOOGLE_API_KEY`; \
             get a key at https://example.com"
        );
    }
}
