//! Calls over gRPC: one POST for each, over HTTP/2. The status is in the trailers of the answer,
//! or in its headers if it has no message.

use oxikit_a2a_grpc::header;
use oxikit_core::Result;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderValue, TE};

use super::call::{Answered, Call};
use super::endpoint::Endpoint;
use super::events::Events;
use super::grpc_messages::{self, unsupported};
use super::grpc_stream::GrpcStream;
use super::link::{Asking, Link};
use crate::exchange::Exchange;
use crate::failure::Fault;

const GRPC: HeaderValue = HeaderValue::from_static(header::MEDIA_TYPE);
const TRAILERS: HeaderValue = HeaderValue::from_static("trailers");

impl Link {
    pub(super) async fn call_grpc(&self, endpoint: &Endpoint, call: Call<'_>) -> Result<Answered> {
        let (exchange, stream) = self.begin(endpoint, call).await.map_err(Fault::into_status)?;
        let message = stream.only_message(&exchange).await.map_err(Fault::into_status)?;
        grpc_messages::answer(endpoint.version, call, &message)
    }

    pub(super) async fn open_grpc(
        &self,
        endpoint: &Endpoint,
        call: Call<'_>,
    ) -> Result<Events, Fault> {
        Ok(Events::Grpc(self.begin(endpoint, call).await?.1))
    }

    /// Sends a call; its answer unless that is an error from the start.
    async fn begin(
        &self,
        endpoint: &Endpoint,
        call: Call<'_>,
    ) -> Result<(Exchange, GrpcStream), Fault> {
        let (operation, version) = (call.operation(), endpoint.version);
        let path = oxikit_a2a_grpc::path(operation, version);
        let path = path.ok_or_else(|| Fault::Lasting(unsupported(version)))?;
        let mut url = endpoint.url.clone();
        url.set_path(&path);
        let exchange = Exchange {
            client: self.client.over_http2().map_err(Fault::Lasting)?,
            outgoing: self.guard.http2_client_for(&url).map_err(Fault::Lasting)?,
            ..self.exchange(&url).map_err(Fault::Lasting)?
        };
        let body = grpc_messages::request(version, call);
        let mut asking = Asking::new(Method::POST, url, version).with_body(GRPC, body);
        asking.headers.insert(TE, TRAILERS);
        let answer = self.send(&exchange, &asking).await?;
        let http = answer.http();
        if http != 200 {
            let status = exchange.refused(answer).await.0;
            // Proxies answer this while their server is not reachable.
            let is_passing = matches!(http, 502..=504);
            return Err(if is_passing { Fault::Broken(status) } else { Fault::Lasting(status) });
        }
        let media_type = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        if !media_type.is_some_and(|it| it.starts_with(header::MEDIA_TYPE)) {
            let status = exchange.garbage("something that is not gRPC");
            return Err(Fault::Lasting(status));
        }
        let stream = GrpcStream::new(version, operation, answer)?;
        Ok((exchange, stream))
    }
}
