//! Whose a stored thing is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ActionContext;

/// Whose a stream or a session is. A store compares the whole of it; what belongs
/// to another owner is not there.
///
/// An application without authentication uses [`Owner::nobody`] for everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The organisation, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The person or program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
}

impl Owner {
    /// The owner of what belongs to nobody in particular.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// Whose the things of a caller are: its `auth.uid` within `tenant`.
    pub fn of(caller: &ActionContext) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(ToOwned::to_owned);
        Self {
            tenant: text(caller.get("tenant")),
            principal: text(caller.auth().and_then(|auth| auth.get("uid"))),
        }
    }

    /// This person or program.
    pub fn principal(principal: impl Into<String>) -> Self {
        Self { tenant: None, principal: Some(principal.into()) }
    }

    /// The same within this organisation.
    #[must_use]
    pub fn of_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}
