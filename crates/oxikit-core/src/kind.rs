//! The kinds of actions, as keys name them.
//!
//! The names are those of the official runtimes: the developer tools group and render actions by
//! them.

use std::fmt;
use std::str::FromStr;

use crate::Status;

macro_rules! action_kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal)*) => {
        /// The kind of an action: the first part of its key.
        ///
        /// ```
        /// use oxikit_core::ActionKind;
        ///
        /// assert_eq!(ActionKind::ExecutablePrompt.to_string(), "executable-prompt");
        /// assert_eq!("flow".parse::<ActionKind>()?, ActionKind::Flow);
        /// # Ok::<(), oxikit_core::Status>(())
        /// ```
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
    /// A flow: a function of the application that is traced and can be served.
    Flow "flow"
    /// A model whose response is the output of the call.
    Model "model"
    /// A model that returns an operation at once and finishes it later, such as one for videos.
    BackgroundModel "background-model"
    /// Returns the current state of an operation of a background model.
    CheckOperation "check-operation"
    /// Cancels an operation of a background model.
    CancelOperation "cancel-operation"
    /// A tool that models may call; its output is one JSON value.
    Tool "tool"
    /// A tool whose response may have several parts, such as images.
    ToolV2 "tool.v2"
    /// Renders a prompt to a model request.
    Prompt "prompt"
    /// Renders a prompt to the options of a generate call.
    ExecutablePrompt "executable-prompt"
    /// Turns documents into vectors.
    Embedder "embedder"
    /// Finds the documents that match a query.
    Retriever "retriever"
    /// Adds documents to the index of a retriever.
    Indexer "indexer"
    /// Orders documents by their relevance to a query.
    Reranker "reranker"
    /// Scores the outputs of a flow or model on a dataset.
    Evaluator "evaluator"
    /// Content that is read by its URI.
    Resource "resource"
    /// An agent: a bidirectional action whose inputs are turns of a conversation.
    Agent "agent"
    /// Reads a snapshot of an agent's session. It has the name of the agent.
    AgentSnapshot "agent-snapshot"
    /// Stops detached work of an agent. It has the name of the agent.
    AgentAbort "agent-abort"
    /// A part of the library, such as `/util/generate`.
    Util "util"
    /// Provides actions that another system defines, such as the tools of an MCP server.
    DynamicActionProvider "dynamic-action-provider"
    /// An action of the application that none of the other kinds describes.
    Custom "custom"
}

impl fmt::Display for ActionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
