//! Bytes that no client should send.

use oxikit_a2a_grpc::{Decode, read_details, read_message, read_only_frame, split_frame};
use oxikit_wire::a2a::{
    AgentCard, ErrorKind, ListTasksRequest, SendMessageRequest, StreamResponse, Task, Version,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
        for version in [Version::V0_3, Version::V1_0] {
            _ = SendMessageRequest::decode(version, &bytes);
            _ = StreamResponse::decode(version, &bytes);
            _ = Task::decode(version, &bytes);
            _ = AgentCard::decode(version, &bytes);
            _ = ListTasksRequest::decode(version, &bytes);
        }
        _ = read_only_frame(&bytes);
        _ = split_frame(&bytes);
    }

    #[test]
    fn any_text_of_a_header_is_read(text in ".{0,64}") {
        _ = read_details(&text);
        _ = read_message(&text);
    }
}

/// A message with one field of this number around others.
fn field(tag: u8, inside: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag << 3 | 2];
    let mut length = inside.len();
    while length > 127 {
        bytes.push(u8::try_from(length % 128).unwrap() | 128);
        length /= 128;
    }
    bytes.push(u8::try_from(length).unwrap());
    bytes.extend_from_slice(inside);
    bytes
}

#[test]
fn deeply_nested_values_are_refused() {
    // A value in a list in a value, 1000 times, as the data of a part of a message.
    let mut value = Vec::new();
    for _ in 0..1000 {
        value = field(6, &field(1, &value));
    }
    let request = field(2, &field(5, &field(4, &value)));
    let refused = SendMessageRequest::decode(Version::V1_0, &request).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidRequest);
}

#[test]
fn numbers_that_are_not_finite_and_unknown_roles_are_refused() {
    let mut not_finite = vec![0x11];
    not_finite.extend(f64::NAN.to_le_bytes());
    let part = field(5, &field(4, &not_finite));
    let message = [part, vec![0x20, 1]].concat();
    let refused = SendMessageRequest::decode(Version::V1_0, &field(2, &message)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidParams);
    let refused = SendMessageRequest::decode(Version::V0_3, &field(1, &[0x20, 9])).unwrap_err();
    assert_eq!(refused.violations[0].field, "message.role");
}
