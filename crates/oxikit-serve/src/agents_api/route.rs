//! The paths of the API.

use std::borrow::Cow;

use axum::http::Method;
use percent_encoding::percent_decode_str;

/// The beginning of all paths.
pub(crate) const ROOT: &str = "/api/agents";

/// A requested path.
#[derive(Debug, PartialEq)]
pub(super) struct Route {
    /// Empty for the list of agents.
    pub(super) agent: String,
    pub(super) place: Place,
}

/// The resource at a path.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// All agents.
    Agents,
    /// One agent.
    Agent,
    /// A turn.
    Execute,
    /// A turn that was recorded, by its stream id.
    Stream(String),
    /// The sessions of an agent.
    Sessions,
    /// One session.
    Session(String),
    /// Stops the detached work of a session.
    Abort(String),
    /// Creates a session from another one.
    Fork(String),
    /// The snapshots of a session.
    Tree(String),
    /// One snapshot of a session.
    Snapshot(String, String),
    /// The changes of a turn.
    Diff(String, String),
}

/// All paths, with names in place of ids.
pub(crate) fn templates() -> [&'static str; 11] {
    [
        "/api/agents",
        "/api/agents/{agent}",
        "/api/agents/{agent}/execute",
        "/api/agents/{agent}/streams/{stream}",
        "/api/agents/{agent}/sessions",
        "/api/agents/{agent}/sessions/{session}",
        "/api/agents/{agent}/sessions/{session}/abort",
        "/api/agents/{agent}/sessions/{session}/fork",
        "/api/agents/{agent}/sessions/{session}/tree",
        "/api/agents/{agent}/sessions/{session}/snapshots/{snapshot}",
        "/api/agents/{agent}/sessions/{session}/snapshots/{snapshot}/diff",
    ]
}

impl Route {
    /// The name of the resource for context providers and the log: the key of the agent, or
    /// the path of the list of agents.
    pub(super) fn action(&self) -> String {
        match self.place {
            Place::Agents => ROOT.to_owned(),
            _ => format!("/agent/{}", self.agent),
        }
    }

    /// Names and ids may be percent-encoded; one slash at the end does not matter.
    pub(super) fn parse(path: &str) -> Option<Self> {
        let path =
            path.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Option<Vec<Cow<'_, str>>> = path
            .split('/')
            .skip(1)
            .map(|part| percent_decode_str(part).decode_utf8().ok())
            .collect();
        let segments = segments?;
        let segments: Vec<&str> = segments.iter().map(AsRef::as_ref).collect();
        if segments.contains(&"") {
            return None;
        }
        let id = |id: &str| id.to_owned();
        let place = match segments.as_slice() {
            [] => Place::Agents,
            [_] => Place::Agent,
            [_, "execute"] => Place::Execute,
            [_, "streams", stream] => Place::Stream(id(stream)),
            [_, "sessions"] => Place::Sessions,
            [_, "sessions", session] => Place::Session(id(session)),
            [_, "sessions", session, "abort"] => Place::Abort(id(session)),
            [_, "sessions", session, "fork"] => Place::Fork(id(session)),
            [_, "sessions", session, "tree"] => Place::Tree(id(session)),
            [_, "sessions", session, "snapshots", snapshot] => {
                Place::Snapshot(id(session), id(snapshot))
            }
            [_, "sessions", session, "snapshots", snapshot, "diff"] => {
                Place::Diff(id(session), id(snapshot))
            }
            _ => return None,
        };
        let agent = segments.first().copied().unwrap_or_default().to_owned();
        Some(Self { agent, place })
    }
}

impl Place {
    /// The methods, as the header `Allow` lists them.
    pub(super) fn allowed(&self) -> &'static str {
        match self {
            Self::Execute | Self::Abort(_) | Self::Fork(_) => "POST",
            Self::Session(_) => "GET, HEAD, DELETE",
            _ => "GET, HEAD",
        }
    }

    pub(super) fn allows(&self, method: &Method) -> bool {
        self.allowed().split(", ").any(|allowed| allowed == method.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<(&str, Place)>) {
        let expected = expected.map(|(agent, place)| Route { agent: agent.into(), place });
        assert_eq!(Route::parse(path), expected, "{path}");
    }

    #[test]
    fn names_and_ids_are_decoded_and_nothing_else_is_a_path() {
        check("/api/agents", Some(("", Place::Agents)));
        check("/api/agents/", Some(("", Place::Agents)));
        check("/api/agents/a%2Fb/", Some(("a/b", Place::Agent)));
        check("/api/agents/a/sessions/%20x", Some(("a", Place::Session(" x".into()))));
        check("/api/agents/a/sessions/s/fork", Some(("a", Place::Fork("s".into()))));
        let snapshot = Place::Diff("s/1".into(), "p".into());
        check("/api/agents/a/sessions/s%2F1/snapshots/p/diff", Some(("a", snapshot)));
        for path in [
            "/api/agentsx",
            "/api/agents//",
            "/api/agents//execute",
            "/api/agents/a/other",
            "/api/agents/a/sessions//tree",
            "/api/agents/a/sessions/s/snapshots",
            "/api/agents/a/sessions/%ff",
            "/api/agents/a/sessions/s/tree/x",
        ] {
            check(path, None);
        }
    }

    #[test]
    fn every_template_is_a_path() {
        for template in templates() {
            assert!(Route::parse(template).is_some(), "{template}");
        }
    }
}
