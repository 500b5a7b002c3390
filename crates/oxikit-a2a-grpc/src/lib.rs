//! The gRPC binding of Agent2Agent (A2A), versions 0.3 (package `a2a.v1`) and 1.0 (package
//! `lf.a2a.v1`), without a transport: servers and clients bring HTTP/2 themselves.
//!
//! [`Encode`] and [`Decode`] write and read the types of [`oxikit_wire::a2a`] as protobuf messages
//! of either version. [`write_frame`] and [`split_frame`] add and remove the prefix of a message.
//! [`write_details`] and [`read_details`] are for errors, [`path`] and [`operation`] for the
//! methods.
//!
//! ```
//! use oxikit_a2a_grpc::{Decode, Encode};
//! use oxikit_wire::a2a::{Message, Part, Role, StreamResponse, Version};
//!
//! let answer = Message::new("m1", Role::Agent, vec![Part::text("hello")]);
//! let answer = StreamResponse::Message(answer);
//! let bytes = answer.encode(Version::V0_3);
//! assert_eq!(StreamResponse::decode(Version::V0_3, &bytes), Ok(answer));
//! ```

mod card;
mod codec;
mod content;
mod frame;
mod object;
mod service;
mod status;
mod text;
mod v0_3;
mod v1_0;
mod value;

pub use codec::{Decode, Encode};
pub use frame::{Frame, FrameError, PREFIX_BYTES, read_only_frame, split_frame, write_frame};
pub use object::{CreatePushRequest, Empty, Event};
pub use service::{operation, path, service};
pub use status::{header, read_details, read_message, write_details, write_message};
