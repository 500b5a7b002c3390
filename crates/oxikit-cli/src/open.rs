//! `oxikit open`: opens the page of the developer tools in a browser that is then signed in.

use std::process::{Command, Stdio};

use serde_json::json;

use super::args::OpenArgs;
use super::client::Client;
use super::failure::Failure;
use super::output::Output;

/// Programs that open a URL in the browser of the user: of Linux and of macOS.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Asks the tools for a one-time code, and opens or prints the URL with it.
pub(super) async fn run(
    args: OpenArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let answer = client.post("/api/v1/sign-in/codes", &json!({})).await?;
    let url = answer["url"].as_str().filter(|url| is_page(url, &client.manager().api_url));
    let url = url.ok_or_else(|| {
        Failure::internal("the developer tools answered with a URL that is not that of their page")
    })?;
    let is_opened = !args.print && open(url);
    if output.is_json() {
        return output.value(&json!({"url": url, "opened": is_opened}));
    }
    if is_opened {
        return output.line(format!("opened {}", client.manager().api_url));
    }
    if !args.print {
        output.remark(
            "no program opens a browser here; open this URL, which works once, within ten minutes:",
        );
    }
    output.line(url)
}

/// Whether this is the page of the tools with a code. Other URLs are not given to a browser.
fn is_page(url: &str, api_url: &str) -> bool {
    let code = url.strip_prefix(api_url).and_then(|rest| rest.strip_prefix("/#code="));
    code.is_some_and(|code| {
        !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Opens a URL in the browser of the user. Returns whether a program took it. Other users of this
/// machine can see the arguments of that program; the code in the URL is worth nothing once the
/// browser has used it.
fn open(url: &str) -> bool {
    OPENERS.iter().any(|opener| {
        let mut command = Command::new(opener);
        command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_of_the_tools_is_opened() {
        let check = |url: &str, expected| {
            assert_eq!(is_page(url, "http://127.0.0.1:4000"), expected, "{url}");
        };
        check("http://127.0.0.1:4000/#code=0a1b", true);
        check("http://127.0.0.1:4000/#code=", false);
        check("http://127.0.0.1:4000/#code=a b", false);
        check("http://127.0.0.1:40001/#code=0a1b", false);
        check("http://evil.example/#code=0a1b", false);
        check("--help", false);
    }
}
