//! Push notifications: webhooks that are called when a task changes.
//!
//! The log of the task is the outbox. The store keeps for each webhook the position up to which
//! events are delivered, so that nothing is lost when a server stops, and a task never waits for
//! a receiver.

mod bodies;
mod delivery;
mod worker;

use std::fmt;
use std::time::Duration;

use aws_lc_rs::hmac;
use bytes::Bytes;
use oxikit_core::Result;
use oxikit_core::ports::PushTarget;
use oxikit_outgoing::{OutgoingClient, OutgoingError, OutgoingPolicy, OutgoingRequest, Url};
use oxikit_wire::a2a::{MEDIA_TYPE, PushConfig, Version};
use oxikit_wire::headers;

use super::refusal::Refusal;
pub(super) use worker::run;

/// Number of repeated attempts after the first one has failed.
const MAX_RETRIES: u32 = 8;
/// Time until the first repeated attempt. Each further pause is [`GROWTH`] times as long: eight
/// of them are about two hours.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const GROWTH: f64 = 3.0;
/// Maximum time between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(2 * 60 * 60);
/// Maximum size of the URL, the id and each credential of a webhook. Longer ones are refused.
const MAX_TEXT: usize = 8 * 1024;

/// Push notifications of a server: clients register webhooks, which the server calls when a task
/// changes. Given to [`Server::push_notifications`](crate::Server::push_notifications).
///
/// ```no_run
/// use oxikit::prelude::*;
/// use oxikit_serve::Server;
/// use oxikit_serve::a2a::{A2aAgent, PushNotifications};
///
/// # fn example(ai: Oxikit, support: Agent) -> Result<()> {
/// let push = PushNotifications::new()?.sign_with("a-long-random-text");
/// let server = Server::new(&ai).a2a(A2aAgent::new(&support)).push_notifications(push);
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "give it to `Server::push_notifications`"]
pub struct PushNotifications {
    client: OutgoingClient,
    key: Option<hmac::Key>,
    first_retry: Duration,
    max_retries: u32,
}

impl PushNotifications {
    /// Calls webhooks by https at public addresses.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if TLS cannot be set up.
    pub fn new() -> Result<Self> {
        Self::with_policy(OutgoingPolicy::default().https_only())
    }

    /// Calls webhooks that this policy allows. For receivers on the developer's machine:
    ///
    /// ```
    /// use oxikit_serve::a2a::{OutgoingPolicy, PushNotifications};
    ///
    /// let push = PushNotifications::with_policy(OutgoingPolicy::default().allow_loopback())?;
    /// # Ok::<(), oxikit_core::Status>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_policy(policy: OutgoingPolicy) -> Result<Self> {
        Ok(Self::with_client(OutgoingClient::new(policy)?))
    }

    /// Calls webhooks by this client, such as one with a resolver of its own.
    pub fn with_client(client: OutgoingClient) -> Self {
        Self { client, key: None, first_retry: FIRST_RETRY, max_retries: MAX_RETRIES }
    }

    /// Signs notifications with this secret, which the receivers must know. The header
    /// `X-A2A-Signature` has `sha256=` and the HMAC-SHA256 of the header `X-A2A-Delivery`, a full
    /// stop and the body, in hexadecimal digits.
    pub fn sign_with(mut self, secret: impl AsRef<[u8]>) -> Self {
        self.key = Some(hmac::Key::new(hmac::HMAC_SHA256, secret.as_ref()));
        self
    }

    /// The time until a failed notification is sent again, 2 seconds if it is not called. Each
    /// further time is three times as long.
    pub fn first_retry(mut self, pause: Duration) -> Self {
        self.first_retry = pause;
        self
    }

    /// How often a failed notification is sent again, 8 times if it is not called. Then the
    /// webhook is given up: it is not called any more, until its client registers it anew.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.max_retries = retries;
        self
    }

    /// Checks a webhook before it is stored.
    pub(super) async fn target(
        &self,
        config: PushConfig,
        version: Version,
    ) -> Result<PushTarget, Refusal> {
        let authentication = config.authentication.as_ref();
        let credentials = authentication.and_then(|it| it.credentials.as_deref());
        let texts = [config.id.as_deref(), config.token.as_deref(), credentials];
        if texts.into_iter().flatten().chain([&*config.url]).any(|text| text.len() > MAX_TEXT) {
            return Err(Refusal::invalid(format!(
                "the push notification config has a text of more than {MAX_TEXT} bytes"
            )));
        }
        let id = config.id.clone().unwrap_or_default();
        let target = PushTarget { id, config, version: version.name().to_owned() };
        let url = url_of(&target)?;
        // The headers of the notifications are made of the registration: they must be valid.
        drop(self.request(&target, &target.id, Vec::new()).map_err(refused)?);
        self.client.check(&url).await.map_err(refused)?;
        Ok(target)
    }

    /// A notification for a webhook.
    fn request(
        &self,
        target: &PushTarget,
        delivery: &str,
        body: Vec<u8>,
    ) -> Result<OutgoingRequest<'_>, OutgoingError> {
        let PushConfig { token, authentication, .. } = &target.config;
        let media_type = match version_of(target) {
            Version::V0_3 => "application/json",
            Version::V1_0 => MEDIA_TYPE,
        };
        let signature = self.key.as_ref().map(|key| signature(key, delivery, &body));
        let url = url_of(target).map_err(|_| OutgoingError::Scheme)?;
        let mut request = self.client.post(url, Bytes::from(body));
        request = request.header("content-type", media_type)?;
        request = request.header(headers::X_A2A_DELIVERY, delivery)?;
        if let Some(token) = token {
            request = request.header(headers::X_A2A_NOTIFICATION_TOKEN, token)?;
        }
        let credentials = authentication.as_ref().and_then(|it| it.credentials.as_ref());
        if let (Some(authentication), Some(credentials)) = (authentication, credentials) {
            let value = format!("{} {credentials}", authentication.scheme);
            request = request.header("authorization", value.trim_start())?;
        }
        match signature {
            Some(signature) => request.header(headers::X_A2A_SIGNATURE, &signature),
            None => Ok(request),
        }
    }

    /// The time until the next attempt, after this number of failures in a row; `None` if there
    /// is none. It is random within a quarter, so that the webhooks of a receiver that was away
    /// are not called all at the same moment.
    fn pause_after(&self, failures: u32) -> Option<Duration> {
        let retry = failures.checked_sub(1).filter(|retry| *retry < self.max_retries)?;
        let growth = GROWTH.powi(retry.try_into().unwrap_or(i32::MAX));
        let seconds = self.first_retry.as_secs_f64() * growth * (0.75 + fastrand::f64() / 2.0);
        Some(Duration::try_from_secs_f64(seconds).unwrap_or(MAX_PAUSE).min(MAX_PAUSE))
    }
}

impl fmt::Debug for PushNotifications {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushNotifications")
            .field("client", &self.client)
            .field("is_signed", &self.key.is_some())
            .finish_non_exhaustive()
    }
}

fn url_of(target: &PushTarget) -> Result<Url, Refusal> {
    let url = Url::parse(&target.config.url);
    url.map_err(|_| Refusal::invalid("`url` of the push notification config is not a URL"))
}

/// The version that the webhook was registered with.
fn version_of(target: &PushTarget) -> Version {
    let version = Version::from_header(Some(&target.version));
    version.ok().flatten().unwrap_or(Version::V1_0)
}

/// Why a webhook cannot be registered. The text of these errors is meant for those who chose the
/// URL.
fn refused(error: OutgoingError) -> Refusal {
    Refusal::invalid(format!("the push notification config cannot be used: {error}"))
}

fn signature(key: &hmac::Key, delivery: &str, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    context.update(delivery.as_bytes());
    context.update(b".");
    context.update(body);
    let mut text = "sha256=".to_owned();
    for byte in context.sign().as_ref() {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_retries_take_about_two_hours() {
        let push = PushNotifications::new().unwrap();
        let pauses: Vec<_> = (1..).map_while(|failures| push.pause_after(failures)).collect();
        assert_eq!(pauses.len(), 8);
        assert!(pauses.windows(2).all(|pair| pair[0] < pair[1]), "{pauses:?}");
        let total = pauses.iter().sum::<Duration>().as_secs_f64() / 3600.0;
        // 1.82 hours, give or take a quarter.
        assert!((1.36..=2.28).contains(&total), "{total}");
    }

    #[test]
    fn pauses_of_any_options_are_limited() {
        let push = PushNotifications::new().unwrap().max_retries(u32::MAX);
        let push = push.first_retry(Duration::MAX);
        assert_eq!(push.pause_after(1), Some(MAX_PAUSE));
        assert_eq!(push.pause_after(u32::MAX), Some(MAX_PAUSE));
        assert_eq!(push.max_retries(0).pause_after(1), None);
    }

    #[test]
    fn the_signature_covers_the_delivery_and_the_body() {
        // Computed by `printf 'task:1:task.{}' | openssl dgst -sha256 -hmac secret`.
        let expected = "sha256=7ee2cbf3754c90d5b2018012fc50d8b23cffa5c54e12ed5007838a2437732f50";
        let key = hmac::Key::new(hmac::HMAC_SHA256, b"secret");
        assert_eq!(signature(&key, "task:1:task", b"{}"), expected);
    }
}
