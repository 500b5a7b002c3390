//! One question of many callers: who asks for the list of a runtime while somebody else
//! does, waits for the same answer. A list may be large, and a runtime slow.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use oxikit_wire::rpc::ErrorData;

use super::listing::ActionList;

type Asking = BoxFuture<'static, Result<Arc<ActionList>, ErrorData>>;

/// The question that is being asked, if there is one. It ends with the last of those who
/// wait for it.
#[derive(Clone, Default)]
pub(crate) struct Listing(Arc<Mutex<Option<WeakShared<Asking>>>>);

impl Listing {
    /// Asks, or waits for who has asked.
    pub(crate) fn share(
        &self,
        ask: impl Future<Output = Result<ActionList, ErrorData>> + Send + 'static,
    ) -> Shared<Asking> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let asked = current.as_ref().and_then(WeakShared::upgrade);
        // An answer that is there already may be older than what is asked now.
        if let Some(asked) = asked.filter(|asked| asked.peek().is_none()) {
            return asked;
        }
        let asking = async { ask.await.map(Arc::new) }.boxed().shared();
        *current = asking.downgrade();
        asking
    }
}

impl std::fmt::Debug for Listing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listing")
    }
}
