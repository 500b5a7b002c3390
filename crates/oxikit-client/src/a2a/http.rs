//! Calls over HTTP, for the two bindings that are JSON.

use oxikit_core::Result;
use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use super::call::{Answered, Call};
use super::codec::{Codec, Json};
use super::endpoint::Endpoint;
use super::events::{Event, Events, HttpEvents};
use super::link::{Asking, Link};
use crate::exchange::{Answer, Exchange};
use crate::failure::Fault;

impl Link {
    pub(super) async fn call_http(
        &self,
        binding: Json,
        endpoint: &Endpoint,
        call: Call<'_>,
    ) -> Result<Answered> {
        let (codec, asking) = Codec::encode(binding, endpoint, call)?;
        let exchange = self.exchange(&asking.url)?;
        let answer = self.accepted(&exchange, codec, &asking).await.map_err(Fault::into_status)?;
        let body = exchange.read_whole(answer).await?;
        self.observe_body(&body);
        codec.answer(&exchange, &body)
    }

    pub(super) async fn open_http(
        &self,
        binding: Json,
        endpoint: &Endpoint,
        call: Call<'_>,
        event_id: Option<&str>,
    ) -> Result<Events, Fault> {
        let (codec, asking) = Codec::encode(binding, endpoint, call).map_err(Fault::Lasting)?;
        let mut asking = asking.after(event_id);
        let exchange = self.exchange(&asking.url).map_err(Fault::Lasting)?;
        let answer = match self.accepted(&exchange, codec, &asking).await {
            Err(Fault::Lasting(status)) if codec.has_another_method(&status) => {
                asking.method =
                    if asking.method == Method::GET { Method::POST } else { Method::GET };
                self.accepted(&exchange, codec, &asking).await?
            }
            answer => answer?,
        };
        if !is_json(&answer) {
            let limit = exchange.client.settings.block_limit;
            return Ok(Events::Http(Box::new(HttpEvents::new(
                codec,
                answer,
                limit,
                self.observer.clone(),
            ))));
        }
        // Errors before the first event come like this in JSON-RPC of 1.0.
        let body = exchange.read_whole(answer).await.map_err(Fault::Lasting)?;
        self.observe_body(&body);
        let event = codec.event(&exchange, &body).map_err(Fault::Lasting)?;
        let event = Event { response: event.0, is_final: event.1, id: None };
        Ok(Events::Http(Box::new(HttpEvents::single(codec, event))))
    }

    /// Sends a call; its answer if the HTTP status is successful.
    async fn accepted(
        &self,
        exchange: &Exchange,
        codec: Codec,
        asking: &Asking,
    ) -> Result<Answer, Fault> {
        let answer = self.send(exchange, asking).await?;
        let http = answer.http();
        if (200..300).contains(&http) {
            return Ok(answer);
        }
        let (status, body) = exchange.refused(answer).await;
        self.observe_body(&body);
        Err(match http {
            // Proxies answer this while their server is not reachable.
            502..=504 => Fault::Broken(status),
            // The HTTP status says more than the error in the body.
            401 | 403 | 407 | 408 | 413 | 429 => Fault::Lasting(status),
            _ => Fault::Lasting(codec.error(http, &body).unwrap_or(status)),
        })
    }
}

/// Whether the answer is one response instead of a stream.
fn is_json(answer: &Answer) -> bool {
    let media_type = answer.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let media_type = media_type.unwrap_or_default().trim_start().to_ascii_lowercase();
    ["application/json", oxikit_wire::a2a::MEDIA_TYPE].iter().any(|it| media_type.starts_with(it))
}
