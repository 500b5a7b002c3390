//! Version 0.3: its JSON, read into and written from the types of version 1.0.
//!
//! [`In`] reads a value of the JSON-RPC binding, [`rest::In`] one of the HTTP binding, whose JSON
//! differs. [`Out`] writes either without copying the value.
//!
//! ```
//! use oxikit_wire::a2a::{Message, Part, Role, v0_3};
//!
//! let json = r#"{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}"#;
//! let v0_3::In::<Message>(message) = serde_json::from_str(json).unwrap();
//! assert_eq!(message, Message::new("m1", Role::User, vec![Part::text("hello")]));
//! assert_eq!(serde_json::to_string(&v0_3::Out::new(&message)).unwrap(), json);
//! ```
//!
//! Version 0.3 cannot express everything that 1.0 can. Left out of what is written are tenants,
//! names and media types of parts that are not files, and flows of OAuth with device codes. Data
//! that is not a JSON object is wrapped in one, and unwrapped when it is read.

mod card;
mod event;
mod out;
mod out_part;
mod out_request;
mod params;
mod part;
mod push;
mod read;
pub mod rest;

pub use event::Event;
pub use out::Out;
pub use out_part::data_object;
pub use part::data_part;

use serde::{Deserialize, Deserializer};

use super::{
    Artifact, CancelTaskRequest, GetTaskRequest, ListPushConfigsRequest, ListPushConfigsResponse,
    Message, Part, PushConfig, PushConfigRequest, SendMessageRequest, StreamResponse,
    SubscribeRequest, Task, TaskStatus,
};
use part::KindPart;

/// Metadata of a part whose data is wrapped, because version 0.3 only has objects.
const WRAPPED: &str = "data_part_compat";

/// The member of such data that has the value.
const WRAPPED_VALUE: &str = "value";

/// A value that is read from the JSON of the JSON-RPC binding.
///
/// It can be read if `T` is [`Message`], [`Part`], [`Artifact`], [`Task`], [`TaskStatus`],
/// [`StreamResponse`], [`PushConfig`], [`ListPushConfigsResponse`] or the parameters of a method.
/// Use [`Event`] to know whether an event is the last one.
#[derive(Debug, Clone, PartialEq)]
pub struct In<T>(
    /// The value.
    pub T,
);

/// Reads `T` by way of the members that version 0.3 has.
macro_rules! read_by {
    ($($type:ty: $members:ty;)*) => {$(
        impl<'de> Deserialize<'de> for In<$type> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let members = <$members>::deserialize(deserializer)?;
                members.try_into().map(Self).map_err(serde::de::Error::custom)
            }
        }
    )*};
}
use read_by;

read_by! {
    Part: KindPart;
    Message: read::MessageMembers<KindPart>;
    Artifact: read::ArtifactMembers<KindPart>;
    Task: read::TaskMembers<KindPart>;
    TaskStatus: read::StatusMembers<KindPart>;
    StreamResponse: event::EventMembers<KindPart>;
    SendMessageRequest: params::SendMembers<KindPart>;
    GetTaskRequest: params::GetTaskMembers;
    CancelTaskRequest: params::CancelTaskMembers;
    SubscribeRequest: params::SubscribeMembers;
    PushConfig: push::TaskConfigMembers;
    PushConfigRequest: push::ConfigIdMembers;
    ListPushConfigsRequest: push::ListMembers;
    ListPushConfigsResponse: push::ConfigList;
}
