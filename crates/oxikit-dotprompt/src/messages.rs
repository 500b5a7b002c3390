//! Builds messages from the pieces of a rendered template.
//!
//! A role marker ends the current message and starts one of that role. Text before the first
//! marker belongs to a user message.

use std::sync::Arc;

use oxikit_wire::{Message, Part, PartKind, Role};

use crate::handlebars::{Piece, js_trim};

/// Builds the messages of a prompt and puts `history` where the template
/// asked for it, else before a last user message, else at the end.
pub(crate) fn assemble(pieces: Vec<Piece>, history: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut draft = Draft { messages: Vec::new(), role: Role::User, parts: Vec::new() };
    let mut is_placed = false;
    for piece in pieces {
        match piece {
            Piece::Role(role) => draft.start(role),
            Piece::History => {
                // Text after the history belongs to the model unless a role follows, as in JavaScript.
                draft.start(Role::Model);
                is_placed |= !history.is_empty();
                draft.messages.extend(history.iter().map(as_history));
            }
            // White space between markers is layout, not content.
            Piece::Text(text) if js_trim(&text).is_empty() => {}
            Piece::Text(text) => draft.parts.push(Part::text(text)),
            Piece::Media { url, content_type } => draft.parts.push(media(url, content_type)),
            Piece::Section(name) => draft.parts.push(pending_section(name)),
        }
    }
    draft.start(Role::User);
    let mut messages = draft.messages;
    if !is_placed {
        let ends_with_user = messages.last().is_some_and(|last| last.role == Role::User);
        let at = messages.len() - usize::from(ends_with_user);
        messages.splice(at..at, history.iter().cloned());
    }
    messages
}

/// The messages so far and the one that is being built.
struct Draft {
    messages: Vec<Arc<Message>>,
    role: Role,
    parts: Vec<Part>,
}

impl Draft {
    /// Ends the message that is being written, unless it is empty, and begins
    /// one of another role.
    fn start(&mut self, role: Role) {
        let parts = std::mem::take(&mut self.parts);
        if !parts.is_empty() {
            self.messages.push(Arc::new(Message::new(self.role, parts)));
        }
        self.role = role;
    }
}

/// A copy of a message of the conversation that is marked as history, as in JavaScript.
// Only messages at the place of `{{history}}` are marked; those that are put in by default
// are shared unchanged.
fn as_history(message: &Arc<Message>) -> Arc<Message> {
    Arc::new(Message::clone(message).with_metadata("purpose", "history"))
}

fn media(url: String, content_type: Option<String>) -> Part {
    let media = Part::media(url);
    match content_type {
        Some(content_type) => media.content_type(content_type),
        None => media,
    }
}

/// The placeholder of `{{section "name"}}`, which `generate` replaces, for example by the
/// instructions for the output format.
fn pending_section(name: String) -> Part {
    Part::new(PartKind::Empty).with_metadata("purpose", name).with_metadata("pending", true)
}
