//! Push notifications without the feature `a2a-push`: no server has them.

use std::sync::Arc;

use oxikit_core::ports::PushTarget;
use oxikit_wire::a2a::{PushConfig, Version};

use super::refusal::Refusal;
use super::runner::Runner;

/// There is no value of this type.
pub(crate) enum PushNotifications {}

impl PushNotifications {
    pub(super) async fn target(&self, _: PushConfig, _: Version) -> Result<PushTarget, Refusal> {
        match *self {}
    }
}

pub(super) async fn run(_: Arc<Runner>, push: Arc<PushNotifications>) {
    match *push {}
}
