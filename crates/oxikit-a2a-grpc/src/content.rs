//! Values that both versions write in the same way.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use oxikit_wire::a2a::{A2aError, Role, TaskState};

use crate::text::violation;

/// The number of a state is its place in the list.
pub(crate) fn state_number(state: TaskState) -> i32 {
    let place = TaskState::ALL.iter().position(|it| *it == state);
    place.and_then(|place| i32::try_from(place).ok()).unwrap_or_default()
}

/// A number that this version does not have is an unspecified state.
pub(crate) fn read_state(number: i32) -> TaskState {
    let state = usize::try_from(number).ok().and_then(|place| TaskState::ALL.get(place));
    state.copied().unwrap_or(TaskState::Unspecified)
}

pub(crate) fn role_number(role: Role) -> i32 {
    match role {
        Role::User => 1,
        Role::Agent => 2,
    }
}

pub(crate) fn read_role(number: i32) -> Result<Role, A2aError> {
    match number {
        1 => Ok(Role::User),
        2 => Ok(Role::Agent),
        _ => Err(violation("message.role", "must be ROLE_USER or ROLE_AGENT")),
    }
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of a text in base64. Clients of the other bindings may have sent another text; its own
/// bytes are passed on, so that one such part does not make a whole task unreadable.
pub(crate) fn bytes_of(base64: &str) -> Vec<u8> {
    STANDARD.decode(base64).unwrap_or_else(|_| base64.as_bytes().to_vec())
}
