//! One `listActions` request for concurrent callers: callers that ask for the list of a
//! runtime while a request is in flight share its response. A list may be large, and a
//! runtime slow. This is not a cache: a response is never reused for later callers.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, FutureExt, Shared, WeakShared};
use oxikit_wire::rpc::ErrorData;

use super::listing::ActionList;

type ListRequest = BoxFuture<'static, Result<Arc<ActionList>, ErrorData>>;

/// The request that is in flight, if there is one. It is dropped with its last caller,
/// because only a weak reference is kept here.
#[derive(Clone, Default)]
pub(crate) struct SharedListing(Arc<Mutex<Option<WeakShared<ListRequest>>>>);

impl SharedListing {
    /// Waits for the request that is in flight, or starts `ask` if there is none.
    pub(crate) fn share(
        &self,
        ask: impl Future<Output = Result<ActionList, ErrorData>> + Send + 'static,
    ) -> Shared<ListRequest> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let in_flight = current.as_ref().and_then(WeakShared::upgrade);
        // A response that has arrived already may be older than this call.
        if let Some(in_flight) = in_flight.filter(|request| request.peek().is_none()) {
            return in_flight;
        }
        let request = async { ask.await.map(Arc::new) }.boxed().shared();
        *current = request.downgrade();
        request
    }
}

impl std::fmt::Debug for SharedListing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SharedListing")
    }
}
