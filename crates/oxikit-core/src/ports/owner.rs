//! The owner of a stored stream or session. This module compares owners; it does not
//! authenticate callers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ActionContext;

/// The owner of a stream or a session. A store compares both fields; data of another owner is
/// reported as not found.
///
/// An application without authentication uses [`Owner::nobody`] for everything.
///
/// ```
/// use oxikit_core::ActionContext;
/// use oxikit_core::ports::Owner;
/// use serde_json::json;
///
/// let caller = ActionContext::default().with("tenant", "acme").with("auth", json!({ "uid": "ada" }));
/// assert_eq!(Owner::of(&caller), Owner::principal("ada").of_tenant("acme"));
/// assert_eq!(Owner::of(&ActionContext::default()), Owner::nobody());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The organisation, if the application serves several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The user or program within the tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
}

impl Owner {
    /// The owner without tenant and principal, for applications without authentication.
    pub fn nobody() -> Self {
        Self::default()
    }

    /// The owner of the data of a caller: the member `auth.uid` as the principal, within the
    /// member `tenant`. Members that are not texts are ignored.
    pub fn of(caller: &ActionContext) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(ToOwned::to_owned);
        Self {
            tenant: text(caller.get("tenant")),
            principal: text(caller.auth().and_then(|auth| auth.get("uid"))),
        }
    }

    /// This user or program, without a tenant.
    pub fn principal(principal: impl Into<String>) -> Self {
        Self { tenant: None, principal: Some(principal.into()) }
    }

    /// The same principal within this organisation.
    #[must_use]
    pub fn of_tenant(mut self, tenant: impl Into<String>) -> Self {
        self.tenant = Some(tenant.into());
        self
    }
}
