//! The names of the helpers that every template has: those of Handlebars and those of Dotprompt.
//!
//! Their code is in `render::helpers`. A custom helper of the same name replaces one.

/// A built-in helper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Builtin {
    /// `{{#if value includeZero=…}}`.
    If,
    /// `{{#unless value}}`, the opposite of `if`.
    Unless,
    /// `{{#each items}}`: runs the block for each item or member.
    Each,
    /// `{{#with value}}`: runs the block with another context.
    With,
    /// `{{lookup value key}}`: a member by a computed name.
    Lookup,
    /// `{{log …}}`: evaluates its arguments and writes nothing.
    Log,
    /// `{{#ifEquals a b}}`, compared by `===`.
    IfEquals,
    /// `{{#unlessEquals a b}}`, compared by `===`.
    UnlessEquals,
    /// `{{json value indent=…}}`.
    Json,
    /// `{{role "name"}}`: starts a message.
    Role,
    /// `{{history}}`: the place of the conversation so far.
    History,
    /// `{{media url=… contentType=…}}`.
    Media,
    /// `{{section "name"}}`: a placeholder that is filled after rendering.
    Section,
}

impl Builtin {
    /// The helper of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "if" => Self::If,
            "unless" => Self::Unless,
            "each" => Self::Each,
            "with" => Self::With,
            "lookup" => Self::Lookup,
            "log" => Self::Log,
            "ifEquals" => Self::IfEquals,
            "unlessEquals" => Self::UnlessEquals,
            "json" => Self::Json,
            "role" => Self::Role,
            "history" => Self::History,
            "media" => Self::Media,
            "section" => Self::Section,
            _ => return None,
        })
    }

    /// Whether it writes pieces other than text, and so has no value for a subexpression.
    pub(crate) fn writes_pieces(self) -> bool {
        matches!(self, Self::Role | Self::History | Self::Media | Self::Section)
    }

    /// Whether it runs its block with another context.
    pub(crate) fn changes_context(self) -> bool {
        matches!(self, Self::Each | Self::With)
    }
}
