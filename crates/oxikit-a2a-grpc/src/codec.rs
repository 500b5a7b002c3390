//! Objects of the protocol as protobuf messages of either version.

use oxikit_wire::a2a::{
    A2aError, AgentCard, CancelTaskRequest, ErrorKind, ExtendedCardRequest, GetTaskRequest,
    ListPushConfigsRequest, ListPushConfigsResponse, ListTasksRequest, ListTasksResponse,
    PushConfig, PushConfigRequest, SendMessageRequest, StreamResponse, SubscribeRequest, Task,
    Version,
};
use prost::Message;

use crate::object::{CreatePushRequest, Empty, Event};
use crate::{v0_3, v1_0};

/// An object that can be written as a protobuf message.
///
/// ```
/// use oxikit_a2a_grpc::Encode;
/// use oxikit_wire::a2a::{GetTaskRequest, Version};
///
/// let request = GetTaskRequest { id: "t1".to_owned(), ..GetTaskRequest::default() };
/// assert_eq!(request.encode(Version::V0_3), b"\x0a\x08tasks/t1");
/// ```
pub trait Encode {
    /// The bytes of the message of this version, without the prefix of a frame.
    fn encode(&self, version: Version) -> Vec<u8>;
}

/// An object that can be read from a protobuf message.
///
/// ```
/// use oxikit_a2a_grpc::Decode;
/// use oxikit_wire::a2a::{GetTaskRequest, Version};
///
/// let request = GetTaskRequest::decode(Version::V0_3, b"\x0a\x08tasks/t1").unwrap();
/// assert_eq!(request.id, "t1");
/// assert!(GetTaskRequest::decode(Version::V0_3, b"\x0a\x99").is_err());
/// ```
pub trait Decode: Sized {
    /// Reads the bytes of a message of this version.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if the bytes are no such message, [`ErrorKind::InvalidParams`]
    /// if a value in it is missing or not allowed.
    fn decode(version: Version, bytes: &[u8]) -> Result<Self, A2aError>;
}

impl Encode for Empty {
    fn encode(&self, _: Version) -> Vec<u8> {
        Vec::new()
    }
}

impl Decode for Empty {
    fn decode(_: Version, _: &[u8]) -> Result<Self, A2aError> {
        Ok(Self)
    }
}

impl Encode for Event<'_> {
    fn encode(&self, version: Version) -> Vec<u8> {
        match version {
            Version::V0_3 => v0_3::event(self.response, self.is_last).encode_to_vec(),
            Version::V1_0 => self.response.encode(version),
        }
    }
}

/// The messages of 0.3 and of 1.0 for each type.
macro_rules! codec {
    ($($type:ty: $v0_3:ty, $v1_0:ty;)*) => {$(
        impl Encode for $type {
            fn encode(&self, version: Version) -> Vec<u8> {
                match version {
                    Version::V0_3 => <$v0_3>::from(self).encode_to_vec(),
                    Version::V1_0 => <$v1_0>::from(self).encode_to_vec(),
                }
            }
        }

        impl Decode for $type {
            fn decode(version: Version, bytes: &[u8]) -> Result<Self, A2aError> {
                match version {
                    Version::V0_3 => read::<$v0_3>(bytes)?.try_into(),
                    Version::V1_0 => read::<$v1_0>(bytes)?.try_into(),
                }
            }
        }
    )*};
}

codec! {
    SendMessageRequest: v0_3::SendMessageRequest, v1_0::SendMessageRequest;
    GetTaskRequest: v0_3::GetTaskRequest, v1_0::GetTaskRequest;
    CancelTaskRequest: v0_3::NameRequest, v1_0::CancelTaskRequest;
    SubscribeRequest: v0_3::NameRequest, v1_0::SubscribeRequest;
    CreatePushRequest: v0_3::CreatePushRequest, v1_0::PushConfig;
    PushConfigRequest: v0_3::NameRequest, v1_0::PushConfigRequest;
    ListPushConfigsRequest: v0_3::ListPushConfigsRequest, v1_0::ListPushConfigsRequest;
    ExtendedCardRequest: v0_3::GetAgentCardRequest, v1_0::ExtendedCardRequest;
    StreamResponse: v0_3::StreamResponse, v1_0::StreamResponse;
    Task: v0_3::Task, v1_0::Task;
    PushConfig: v0_3::TaskPushConfig, v1_0::PushConfig;
    ListPushConfigsResponse: v0_3::ListPushConfigsResponse, v1_0::ListPushConfigsResponse;
    AgentCard: v0_3::AgentCard, v1_0::AgentCard;
    // Version 0.3 has no list of tasks.
    ListTasksRequest: v1_0::ListTasksRequest, v1_0::ListTasksRequest;
    ListTasksResponse: v1_0::ListTasksResponse, v1_0::ListTasksResponse;
}

fn read<T: Message + Default>(bytes: &[u8]) -> Result<T, A2aError> {
    T::decode(bytes).map_err(|error| {
        let detail = format!("the bytes are not the protobuf message of this method: {error}");
        A2aError::new(ErrorKind::InvalidRequest).with_detail(detail)
    })
}
