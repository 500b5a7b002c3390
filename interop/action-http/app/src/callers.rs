//! Context providers: one flow needs an API key, another one gets the request itself.

use std::collections::BTreeMap;

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_serve::{ApiKey, ContextProvider, RequestInfo};

/// The key that `authed` wants.
const KEY: &str = "sekret";

#[derive(Debug)]
pub(crate) struct Callers {
    key: ApiKey,
}

impl Default for Callers {
    fn default() -> Self {
        Self { key: ApiKey::new(KEY) }
    }
}

#[async_trait]
impl ContextProvider for Callers {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        match request.action {
            "/flow/authed" => self.key.context(request).await,
            "/flow/ctxFlow" => Ok(ActionContext::default().with("seen", seen(request))),
            _ => Ok(ActionContext::default()),
        }
    }
}

/// The request as a context provider receives it. Repeated headers are joined.
fn seen(request: RequestInfo<'_>) -> Value {
    let mut headers = BTreeMap::<&str, String>::new();
    for (name, value) in request.headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.clone().into_owned());
    }
    json!({ "method": request.method.as_str(), "headers": headers })
}
