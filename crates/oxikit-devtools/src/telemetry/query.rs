//! The query of a URL.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
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
}
