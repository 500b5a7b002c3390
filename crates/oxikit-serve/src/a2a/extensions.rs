//! Extensions of the protocol: which ones a client asks for, and which ones the agent has.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response};
use oxikit_wire::a2a::{A2aError, ErrorKind, Version};
use oxikit_wire::headers;

use super::agent_options::Served;

const NEW: HeaderName = HeaderName::from_static(headers::A2A_EXTENSIONS);
const OLD: HeaderName = HeaderName::from_static(headers::X_A2A_EXTENSIONS);

/// The extensions that a request names.
pub(super) fn requested(headers: &HeaderMap) -> Vec<String> {
    let values = headers.get_all(&NEW).iter().chain(headers.get_all(&OLD));
    let texts = values.filter_map(|value| value.to_str().ok());
    let uris = texts.flat_map(|text| text.split(',')).map(str::trim);
    uris.filter(|uri| !uri.is_empty()).map(str::to_owned).collect()
}

impl Served {
    /// Refuses a client of version 1.0 that does not name an extension which the agent requires.
    /// Version 0.3 has no error for it.
    pub(super) fn check_extensions(
        &self,
        requested: &[String],
        version: Version,
    ) -> Result<(), A2aError> {
        let missing = self
            .options
            .extensions
            .iter()
            .find(|extension| extension.required && !requested.contains(&extension.uri));
        match missing {
            Some(extension) if version == Version::V1_0 => {
                let detail = format!("name {} in the header {NEW}", extension.uri);
                Err(A2aError::new(ErrorKind::ExtensionSupportRequired).with_detail(detail))
            }
            _ => Ok(()),
        }
    }

    /// Names the extensions that are active in the header that the client has used.
    pub(super) fn name_extensions(&self, asked: &HeaderMap, response: &mut Response<Body>) {
        let requested = requested(asked);
        let declared = self.options.extensions.iter().map(|extension| extension.uri.as_str());
        let active: Vec<_> = declared.filter(|uri| requested.iter().any(|it| it == uri)).collect();
        if active.is_empty() {
            return;
        }
        let name = if asked.contains_key(&NEW) { NEW } else { OLD };
        if let Ok(value) = HeaderValue::from_str(&active.join(", ")) {
            response.headers_mut().insert(name, value);
        }
    }
}
