//! Arguments of `oxikit prompts`.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxikit prompts                            serve the folder `prompts` of the project
  oxikit prompts team/prompts --port 9000
  oxikit prompts --host 0.0.0.0 --allow-host prompts.example --token
  oxikit prompts --database postgres://localhost/prompts

The page is at http://127.0.0.1:8081/, live editing at ws://127.0.0.1:8081/api/prompts/ws/ID.
Every version of every prompt is kept: in .oxikit/project.db of the project, or in the
database. Programs of this machine need no token, unless --token is given; pages of other
sites cannot use the server. Ctrl-C ends it, with exit code 0.")]
pub(crate) struct PromptServerArgs {
    /// Folders with prompts (.md and .prompt files). Default: the folder `prompts` of the project.
    #[arg(value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// The port.
    #[arg(long, short, default_value_t = 8081)]
    pub(crate) port: u16,
    /// The address that the server listens on. Other machines can only reach another one than
    /// 127.0.0.1, which needs a token.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub(crate) host: IpAddr,
    /// Keep the history in this PostgreSQL database, which several servers may share. Default:
    /// .oxikit/project.db of the project.
    #[arg(long, value_name = "URL", env = "OXIKIT_PROMPTS_DATABASE", hide_env_values = true)]
    pub(crate) database: Option<String>,
    /// Require a token: this one (32 to 256 letters and digits), or without a value a new one at
    /// each start. Other users of the machine can see the arguments of a command, so pass a value in
    /// the variable.
    #[arg(
        long,
        value_name = "TOKEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        env = "OXIKIT_PROMPTS_TOKEN",
        hide_env_values = true
    )]
    pub(crate) token: Option<String>,
    /// An additional host name that requests may use, besides those of this machine. Repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// The origin of a web page that may use the server, such as http://localhost:5173.
    /// Repeatable.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
    /// Refuse all changes.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Print the OpenAPI document of the REST API, and the schemas of the messages of WebSockets, and
    /// exit.
    #[arg(long)]
    pub(crate) openapi: bool,
}
