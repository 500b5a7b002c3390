//! Arguments of `oxikit prompt`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxikit prompt list
  oxikit prompt render joke '{\"topic\":\"tea\"}'
  oxikit prompt lint ./prompts                             check a folder, without a server
  oxikit prompt label joke production                      release the current revision

These commands call the prompt manager of the developer tools that run for the project, or
the one that --url names, such as that of `oxikit prompts`.")]
pub(crate) struct PromptArgs {
    #[command(subcommand)]
    pub(crate) command: PromptCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PromptCommand {
    /// List prompts and fragments (texts that prompts include).
    #[command(after_help = "\
Examples:
  oxikit prompt list
  oxikit prompt list --kind fragment --tag support")]
    List {
        /// Only documents of this kind.
        #[arg(long, value_parser = ["prompt", "fragment"])]
        kind: Option<String>,
        /// Only documents with this tag.
        #[arg(long)]
        tag: Option<String>,
        #[command(flatten)]
        target: PromptTarget,
    },
    /// Show the text of a prompt, now or at a revision.
    #[command(after_help = "\
Examples:
  oxikit prompt show joke
  oxikit prompt show joke --label production
  oxikit prompt show joke --rev 12")]
    Show {
        /// The id of the prompt or fragment.
        id: String,
        #[command(flatten)]
        revision: RevisionArgs,
        #[command(flatten)]
        target: PromptTarget,
    },
    /// Show the messages that a model would get.
    #[command(after_help = "\
Examples:
  oxikit prompt render joke '{\"topic\":\"tea\"}'
  oxikit prompt render joke '{\"topic\":\"tea\"}' --label production
  oxikit prompt render joke --dir ./prompts                without a server

Inclusions such as [[tone]] are replaced first, then the template is rendered. What cannot be
included is reported. The exit code is 1 if the template cannot be rendered.")]
    Render {
        /// The id of the prompt.
        id: String,
        /// The variables of the template, as a JSON object.
        #[arg(default_value = "{}")]
        variables: String,
        /// Render it as an application gets it that uses this label.
        #[arg(long, conflicts_with = "dir")]
        label: Option<String>,
        /// Read the prompts of this folder, without a server. May be repeated.
        #[arg(long, value_name = "DIR", conflicts_with = "url")]
        dir: Vec<PathBuf>,
        #[command(flatten)]
        target: PromptTarget,
    },
    /// List the revisions of a prompt, newest first.
    #[command(after_help = "\
Examples:
  oxikit prompt history joke
  oxikit prompt history joke --limit 5 --before 120

Everything that was submitted is kept, also texts that were merged with those of others or
refused.")]
    History {
        /// The id of the prompt or fragment.
        id: String,
        /// Maximum number of revisions.
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: u32,
        /// Only revisions before this one.
        #[arg(long, value_name = "REV")]
        before: Option<u64>,
        #[command(flatten)]
        target: PromptTarget,
    },
    /// Show what differs between two revisions of a prompt.
    #[command(after_help = "\
Examples:
  oxikit prompt diff joke                                  the last change
  oxikit prompt diff joke 7                                since revision 7
  oxikit prompt diff joke production 12                    between a label and a revision")]
    Diff {
        /// The id of the prompt or fragment.
        id: String,
        /// The older revision, by number or label. Default: the one before the newer.
        from: Option<String>,
        /// The newer revision, by number or label. Default: the current one.
        to: Option<String>,
        #[command(flatten)]
        target: PromptTarget,
    },
    /// Check prompts: front matter, templates and inclusions.
    #[command(after_help = "\
Examples:
  oxikit prompt lint ./prompts                             for CI: needs no server
  oxikit prompt lint                                       all prompts of the manager

Errors are broken front matter, templates that do not parse, and missing, circular or too
deeply nested inclusions. Warnings are unknown keys, ambiguous names, missing partials and
helpers, which an application may define, and fragments that nothing includes. The exit code
is 1 if there is an error.")]
    Lint {
        /// Folders with prompts. Default: all prompts of the manager.
        #[arg(value_name = "DIR", conflicts_with = "url")]
        dirs: Vec<PathBuf>,
        #[command(flatten)]
        target: PromptTarget,
    },
    /// Show, set or remove the labels of a prompt, such as `production`.
    #[command(after_help = "\
Examples:
  oxikit prompt label joke                                 list the labels
  oxikit prompt label joke production                      set it to the current revision
  oxikit prompt label joke production 12                   set it to revision 12
  oxikit prompt label joke production --remove

Applications that load their prompts with this label get the revision within a second.")]
    Label {
        /// The id of the prompt or fragment.
        id: String,
        /// The label: letters, digits, `-`, `_` and `.`.
        label: Option<String>,
        /// The revision. Default: the current one.
        #[arg(conflicts_with = "remove")]
        rev: Option<u64>,
        /// Remove the label. Applications that use it lose the prompt.
        #[arg(long, requires = "label")]
        remove: bool,
        #[command(flatten)]
        target: PromptTarget,
    },
}

/// Selects a revision.
#[derive(Debug, Args)]
pub(crate) struct RevisionArgs {
    /// The revision with this number. Default: the current one.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) rev: Option<u64>,
    /// The revision with this label.
    #[arg(long, conflicts_with = "rev")]
    pub(crate) label: Option<String>,
}

/// The prompt manager that a command calls.
#[derive(Debug, Args)]
pub(crate) struct PromptTarget {
    /// The URL of a prompt manager, such as `http://127.0.0.1:8081`. Default: the developer tools
    /// that run for the project.
    #[arg(long, value_name = "URL", env = "OXIKIT_PROMPTS_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// The token of that prompt manager. Other users of the machine can see the arguments of a
    /// command, so pass it in the variable.
    #[arg(long, value_name = "TOKEN", env = "OXIKIT_PROMPTS_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
}
