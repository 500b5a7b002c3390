//! Sends a call in the binding of its address. A further binding needs a variant of [`Binding`], a
//! module that turns calls into its requests and its responses into answers, and a variant of
//! [`Events`].

use oxikit_core::Result;

use super::binding::Binding;
use super::call::{Answered, Call};
use super::codec::Json;
use super::endpoint::Endpoint;
use super::events::Events;
use super::link::Link;
use crate::failure::Fault;

impl Link {
    /// Sends a call that has one answer.
    pub(super) async fn call(&self, endpoint: &Endpoint, call: Call<'_>) -> Result<Answered> {
        match endpoint.binding {
            Binding::JsonRpc => self.call_http(Json::Rpc, endpoint, call).await,
            Binding::HttpJson => self.call_http(Json::Http, endpoint, call).await,
            #[cfg(feature = "a2a-grpc")]
            Binding::Grpc => self.call_grpc(endpoint, call).await,
        }
    }

    /// Sends a call whose answer is a stream. `event_id` is the last event that was read before,
    /// if the server numbers its events.
    pub(super) async fn open(
        &self,
        endpoint: &Endpoint,
        call: Call<'_>,
        event_id: Option<&str>,
    ) -> Result<Events, Fault> {
        match endpoint.binding {
            Binding::JsonRpc => self.open_http(Json::Rpc, endpoint, call, event_id).await,
            Binding::HttpJson => self.open_http(Json::Http, endpoint, call, event_id).await,
            // Events have no ids in this binding.
            #[cfg(feature = "a2a-grpc")]
            Binding::Grpc => self.open_grpc(endpoint, call).await,
        }
    }
}
