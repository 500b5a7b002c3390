//! The parts that all public handles of one action share: their accessors and conversions, and
//! the call of such an action by its name. It is not for handles of several actions, such as
//! [`BackgroundAction`](crate::BackgroundAction).

use oxikit_core::{ActionKind, Call, Payload, Registry, Result, Status};
use serde::Serialize;
use serde_json::{Value, json};

use crate::lookup;

/// Gives a tuple struct around one [`Action`](crate::Action) its `name` and `action`, and the
/// conversions that let it stand where a name or an action is expected.
macro_rules! action_handle {
    ($handle:ident) => {
        impl $handle {
            /// The name by which calls find it, without the kind: `acme/small`.
            pub fn name(&self) -> &str {
                self.0.name()
            }

            /// The action behind it, to run it with a [`Call`](crate::Call) of your own or to
            /// register it in another registry.
            pub fn action(&self) -> &oxikit_core::Action {
                &self.0
            }
        }

        impl AsRef<str> for $handle {
            fn as_ref(&self) -> &str {
                self.name()
            }
        }

        impl From<$handle> for oxikit_core::Action {
            fn from(handle: $handle) -> Self {
                handle.0
            }
        }
    };
}

pub(crate) use action_handle;

/// Runs the action of this kind and name.
///
/// # Errors
///
/// `NOT_FOUND` if there is no such action; else the error of the action.
pub(crate) async fn run(
    registry: &Registry,
    kind: ActionKind,
    name: &str,
    request: impl Serialize + Send + Sync + 'static,
) -> Result<Payload> {
    let action = lookup::find(registry, kind, name).await?;
    action.run(Call::new(request).in_registry(registry)).await
}

/// The options with the member `k` among them: retrievers and rerankers take it as the maximum
/// number of documents that they answer.
///
/// # Errors
///
/// `INVALID_ARGUMENT` if the options are not an object.
pub(crate) fn with_k(options: Option<Value>, k: Option<u32>) -> Result<Option<Value>> {
    let Some(k) = k else { return Ok(options) };
    match options.unwrap_or_else(|| json!({})) {
        Value::Object(mut members) => {
            members.insert("k".into(), k.into());
            Ok(Some(members.into()))
        }
        other => Err(Status::invalid_argument(format!(
            "`k` cannot be added to the options `{other}`: they are not an object"
        ))),
    }
}
