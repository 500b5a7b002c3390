//! The query of a URL.

use std::fmt::Display;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use oxikit_core::Status;
use oxikit_wire::number::integral;

/// Names and values, in their order.
#[derive(Debug, Default)]
pub(super) struct UrlQuery(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for UrlQuery {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        Ok(Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }
}

impl UrlQuery {
    /// The first value of a name; one that is empty was not given.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &**value);
        value.filter(|value| !value.is_empty())
    }

    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// The official tools take what can be read of a number, and nothing for the rest.
    pub(super) fn lenient<T: TryFrom<i128>>(&self, name: &str) -> Option<T> {
        let number = integral(self.text(name)?.trim().parse().ok()?)?;
        T::try_from(number).ok()
    }

    /// All values of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// A value that must be readable if it is there.
    pub(super) fn read<T>(&self, name: &str) -> Result<Option<T>, Status>
    where
        T: FromStr,
        T::Err: Display,
    {
        let read = |value: &str| {
            let refuse =
                |error| Status::invalid_argument(format!("`{name}` cannot be read: {error}"));
            value.parse().map_err(refuse)
        };
        self.text(name).map(read).transpose()
    }

    /// Who misspells a name would get too much, and not know why.
    pub(super) fn check_names(&self, known: &[&str]) -> Result<(), Status> {
        match self.0.iter().find(|(name, _)| !known.contains(&&**name)) {
            None => Ok(()),
            Some((name, _)) => Err(Status::invalid_argument(format!(
                "there is no parameter `{name}`; there are: {}",
                known.join(", ")
            ))),
        }
    }
}
