//! The kinds of actions, as keys name them.

use std::fmt;
use std::str::FromStr;

use crate::Status;

macro_rules! action_kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal)*) => {
        /// What an action is: the first part of its key.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ActionKind {
            $($(#[$doc])* $variant,)*
        }

        impl ActionKind {
            /// The name in keys, such as `executable-prompt`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }

        impl FromStr for ActionKind {
            type Err = Status;

            fn from_str(name: &str) -> Result<Self, Status> {
                match name {
                    $($name => Ok(Self::$variant),)*
                    _ => Err(Status::invalid_argument(format!("`{name}` is not a kind of action"))),
                }
            }
        }
    };
}

action_kinds! {
    /// A flow: the application's own work.
    Flow "flow"
    /// A model that answers at once.
    Model "model"
    /// A model that answers later.
    BackgroundModel "background-model"
    /// Asks how far an operation is.
    CheckOperation "check-operation"
    /// Ends an operation.
    CancelOperation "cancel-operation"
    /// A tool.
    Tool "tool"
    /// A tool that may answer with several parts.
    ToolV2 "tool.v2"
    /// Renders a prompt to a model request.
    Prompt "prompt"
    /// Renders a prompt to the options of a generate call.
    ExecutablePrompt "executable-prompt"
    /// Turns documents into vectors.
    Embedder "embedder"
    /// Finds documents.
    Retriever "retriever"
    /// Keeps documents.
    Indexer "indexer"
    /// Orders documents.
    Reranker "reranker"
    /// Judges results.
    Evaluator "evaluator"
    /// Something that can be read by its URI.
    Resource "resource"
    /// An agent.
    Agent "agent"
    /// Reads a snapshot of an agent's session.
    AgentSnapshot "agent-snapshot"
    /// Stops an agent's turn.
    AgentAbort "agent-abort"
    /// Part of the library, such as `/util/generate`.
    Util "util"
    /// Makes actions on demand.
    DynamicActionProvider "dynamic-action-provider"
    /// Anything else.
    Custom "custom"
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
