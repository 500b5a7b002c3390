//! The query of a URL, read as leniently as the official server reads it.

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
    /// The first value of a parameter; `None` if it is missing or empty.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let value = self.0.iter().find(|(other, _)| other == name).map(|(_, value)| &**value);
        value.filter(|value| !value.is_empty())
    }

    /// The same as [`text`](Self::text), as an owned text.
    pub(super) fn owned(&self, name: &str) -> Option<String> {
        self.text(name).map(str::to_owned)
    }

    /// A whole number; `None` if the value is not one. The official server ignores such values.
    pub(super) fn lenient<T: TryFrom<i128>>(&self, name: &str) -> Option<T> {
        let number = integral(self.text(name)?.trim().parse().ok()?)?;
        T::try_from(number).ok()
    }
}
