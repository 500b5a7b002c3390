//! Where our runtime sends other frames than the recorded one, how, and why.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compare::{Difference, masked};

/// How ours differ.
#[derive(Clone, Copy)]
enum Ours {
    /// They are this JSON; ids are `<id>`.
    Are(&'static str),
    /// The same is said in other words.
    Words,
    /// The recorded text goes on: with the data and its schema.
    Shorter,
    /// Ours have it, the recorded ones have not.
    More,
    /// The recorded ones have it, ours have not.
    Less,
    /// Ours say all that the tools show of a failure, with this code.
    Failure(u8),
}

struct Row {
    cases: &'static [&'static str],
    /// The place; a `*` at its beginning stands for anything.
    at: &'static str,
    ours: Ours,
    why: &'static str,
}

const ROWS: &[Row] = &[
    // Failures.
    Row {
        cases: &["js-runtime-edge-cases: unknown method"],
        at: "/error/data",
        ours: Ours::Failure(12),
        why: TOLD,
    },
    Row { cases: &["list-values-bad-type"], at: "/error/data", ours: Ours::Failure(3), why: TOLD },
    Row {
        cases: &[
            "run-unknown-action",
            "run-unknown-action-streaming",
            "run-bad-key",
            "cancel-unknown",
            "cancel-ignored-by-action",
        ],
        at: "/error/data",
        ours: Ours::Failure(5),
        why: TOLD,
    },
    Row { cases: UNREADABLE, at: "/error/data", ours: Ours::Failure(3), why: TOLD },
    Row {
        cases: UNREADABLE,
        at: "/error/message",
        ours: Ours::Words,
        why: "which member is wrong is said in a sentence",
    },
    Row {
        cases: &["run-bad-output", "run-bad-input", "bidi-bad-chunk"],
        at: "*/message",
        ours: Ours::Shorter,
        why: "the data may be a secret, and the schema is listed",
    },
    Row {
        cases: &["run-bad-input-streaming", "bidi-bad-init"],
        at: "*/message",
        ours: Ours::Words,
        why: "a count is an integer, and an `Option` takes `null` as well",
    },
    Row {
        cases: &["agent-store-snapshot-missing", "agent-store-bad-init", "agent-client-snapshot"],
        at: "*/message",
        ours: Ours::Words,
        why: "our own words",
    },
    Row {
        cases: &["agent-store-missing-snapshot"],
        at: "/result/result/error/message",
        ours: Ours::Words,
        why: "the status stands beside the message",
    },
    Row {
        cases: &["agent-custom-fail"],
        at: "/result/result/error/details",
        ours: Ours::More,
        why: "under the tools a failed turn names its trace, with its causes",
    },
    // What is read.
    Row {
        cases: &[
            "js-runtime-edge-cases: runAction numeric id",
            "js-runtime-edge-cases: runAction id 0",
        ],
        at: "frames",
        ours: Ours::Are(r#"["state",{"result":{"text":"Hi n"}}]"#),
        why: "JSON-RPC allows numbers as ids, and 0 is one",
    },
    Row {
        cases: &[
            "js-runtime-edge-cases: runAction stream null",
            "js-runtime-edge-cases: runAction telemetryLabels null",
        ],
        at: "frames",
        ours: Ours::Are(r#"["state",{"result":{"text":"Hi n"}}]"#),
        why: "a member that is `null` is as good as none",
    },
    Row {
        cases: &["bidi-no-init"],
        at: "frames",
        ours: Ours::Are(r#"["state",{"result":{"count":1}}]"#),
        why: "no init is an empty one",
    },
    Row {
        cases: &["agent-no-init"],
        at: "frames",
        ours: Ours::Are(
            r#"["state",{"result":{"sessionId":"<id>","state":{"sessionId":"<id>","messages":[{"role":"user","content":[{"text":"x"}]},{"role":"model","content":[{"text":"Echo: x"}]}],"artifacts":[]},"message":{"role":"model","content":[{"text":"Echo: x"}]},"finishReason":"stop"}}]"#,
        ),
        why: "no init is an empty one",
    },
    Row {
        // Errors without an id are counted at the end of the session.
        cases: &["js-runtime-edge-cases: still works after null register result"],
        at: "frames",
        ours: Ours::Are(
            r#"[{"error":"Parse error: a frame must be JSON"},{"error":"Invalid Request: send one JSON-RPC message a frame"}]"#,
        ),
        why: "what is not a JSON-RPC message is answered with -32700 or -32600",
    },
    // Inputs and ends of runs.
    Row {
        cases: &["js-runtime-edge-cases: bidi: chunks sent at once with the request"],
        at: "frames",
        ours: Ours::Are(r#"["state",{"chunk":"ONE"},{"chunk":"TWO"},{"result":{"count":2}}]"#),
        why: "inputs right behind their request are not lost",
    },
    Row {
        cases: &["js-runtime-edge-cases: manager closes with a bidi run in flight"],
        at: "frames",
        ours: Ours::Are(r#"["state",{"result":{"count":0}}]"#),
        why: "a result that has no connection waits for the next one",
    },
    Row {
        cases: &["cancel-ignored-by-action"],
        at: "frames",
        ours: Ours::Are(r#"["state",{"error":"Action was cancelled"}]"#),
        why: CANCELLED,
    },
    Row {
        cases: &["bidi-cancel"],
        at: "frames",
        ours: Ours::Are(r#"["state",{"chunk":"ONE"},{"error":"Action was cancelled"}]"#),
        why: CANCELLED,
    },
    Row {
        cases: &["agent-cancel"],
        at: "frames",
        ours: Ours::Are(
            r#"["state",{"chunk":{"customPatch":[{"op":"replace","path":"","value":{"turns":1}}]}},{"error":"Action was cancelled"}]"#,
        ),
        why: CANCELLED,
    },
    Row {
        cases: &["agent-detach-abort"],
        at: "/result/result/heartbeatAt",
        ours: Ours::Less,
        why: "what is aborted has no heart that beats",
    },
    Row {
        cases: &["agent-detach-abort"],
        at: "/result/result/finishReason",
        ours: Ours::Are(r#""aborted""#),
        why: "how the work ended is part of its snapshot",
    },
    // Results.
    Row {
        cases: &["run-executable-prompt"],
        at: "/result/result/config",
        ours: Ours::Less,
        why: "an empty configuration is none",
    },
    Row {
        cases: &["run-util-generate-tool"],
        at: "*/$schema",
        ours: Ours::Less,
        why: "schemas of one dialect need not name it",
    },
    Row {
        cases: &["run-util-generate-tool"],
        at: "*/additionalProperties",
        ours: Ours::Less,
        why: "`true` is the default",
    },
    Row {
        cases: &["run-util-generate-tool"],
        at: "*/type",
        ours: Ours::Are(r#""integer""#),
        why: "the tool adds integers",
    },
    // Lists.
    Row {
        cases: &["list-actions", "cli-flow-run-ephemeral"],
        at: "*/actionType",
        ours: Ours::More,
        why: "the tools keep it",
    },
    Row {
        cases: &["list-actions"],
        at: "*/streamSchema",
        ours: Ours::More,
        why: "the tools keep it",
    },
    Row {
        cases: &["list-actions"],
        at: "*/initSchema",
        ours: Ours::More,
        why: "our own tools show it",
    },
    Row {
        cases: &["list-actions"],
        at: "*/outputSchema",
        ours: Ours::More,
        why: "every function of Rust has an output type",
    },
    Row {
        cases: &["list-actions"],
        at: "*/members/candidates",
        ours: Ours::Less,
        why: "the form of answers that one message has replaced",
    },
    Row {
        cases: &["list-actions"],
        at: "*/outputSchema/members/message",
        ours: Ours::Are(r#""object""#),
        why: "there it points at another place of the schema",
    },
    Row {
        cases: &["list-actions"],
        at: "/model/echo/model/metadata/type",
        ours: Ours::Are(r#""model""#),
        why: "as other kinds have it",
    },
    Row {
        cases: &["list-actions"],
        at: "/tool/askUser/outputSchema",
        ours: Ours::Less,
        why: "the answer to an interrupt has no type",
    },
    Row {
        cases: &["list-actions"],
        at: "/tool.v2/askUser",
        ours: Ours::More,
        why: "an interrupt is a tool as others are",
    },
    Row {
        cases: &["list-actions"],
        at: "/flow/noSchema/metadata",
        ours: Ours::Are(r#"{"bidi":true}"#),
        why: "only a bidirectional action sees that there is no input",
    },
    Row { cases: &["list-actions"], at: "*/description", ours: Ours::Words, why: "our own words" },
    Row {
        cases: &["list-values-middleware"],
        at: "/shout/metadata",
        ours: Ours::Less,
        why: "middleware has no metadata",
    },
    Row { cases: &["list-values-middleware"], at: "/cache", ours: Ours::More, why: BUILT_IN },
    Row { cases: &["list-values-middleware"], at: "/fallback", ours: Ours::More, why: BUILT_IN },
    Row { cases: &["list-values-middleware"], at: "/logging", ours: Ours::More, why: BUILT_IN },
    Row { cases: &["list-values-middleware"], at: "/retry", ours: Ours::More, why: BUILT_IN },
];

const TOLD: &str = "the tools show nothing of a failure without data";
const CANCELLED: &str = "a future that is cancelled is not polled again";
const BUILT_IN: &str = "every application has it";

/// Requests whose parameters cannot be read.
const UNREADABLE: &[&str] = &[
    "run-missing-key",
    "run-bad-labels",
    "js-runtime-edge-cases: listValues without params",
    "js-runtime-edge-cases: listValues null params",
    "js-runtime-edge-cases: runAction without params",
    "js-runtime-edge-cases: runAction without key",
    "js-runtime-edge-cases: cancel without params",
];

/// The table, and what of it was needed.
#[derive(Default)]
pub(super) struct Table {
    used: BTreeSet<(usize, &'static str)>,
}

impl Table {
    /// Whether a case differs in nothing but what the table says.
    pub(super) fn judge(&mut self, case: &str, found: Vec<Difference>) -> Result<(), String> {
        let unknown: Vec<_> = found.iter().filter(|it| !self.knows(case, it)).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let show =
            |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), Value::to_string);
        let show = |it: &&Difference| {
            format!("{}\n- recorded: {}\n+ ours:     {}", it.at, show(&it.recorded), show(&it.ours))
        };
        Err(unknown.iter().map(show).collect::<Vec<_>>().join("\n"))
    }

    fn knows(&mut self, case: &str, difference: &Difference) -> bool {
        let rows = ROWS.iter().enumerate().filter(|(_, row)| row.is_about(difference));
        for (index, row) in rows {
            if let Some(case) = row.cases.iter().find(|known| **known == case)
                && row.ours.is_in(difference)
            {
                self.used.insert((index, case));
                return true;
            }
        }
        false
    }

    /// Rows, with a case each, that nothing was found for.
    pub(super) fn unused(&self) -> Vec<String> {
        let rows = ROWS.iter().enumerate();
        let all = rows.flat_map(|(index, row)| row.cases.iter().map(move |case| (index, *case)));
        all.filter(|entry| !self.used.contains(entry))
            .map(|(index, case)| format!("{case} at {} ({})", ROWS[index].at, ROWS[index].why))
            .collect()
    }

    /// How many cases are not as recorded.
    pub(super) fn differing_cases(&self) -> usize {
        self.used.iter().map(|(_, case)| case).collect::<BTreeSet<_>>().len()
    }
}

impl Row {
    fn is_about(&self, difference: &Difference) -> bool {
        match self.at.strip_prefix('*') {
            Some(end) => difference.at.ends_with(end),
            None => difference.at == self.at,
        }
    }
}

impl Ours {
    fn is_in(self, difference: &Difference) -> bool {
        match (self, &difference.recorded, &difference.ours) {
            (Self::Are(json), _, Some(ours)) => {
                let json: Value = serde_json::from_str(json).expect("it is written here");
                masked(ours) == json
            }
            (Self::Words, Some(Value::String(_)), Some(Value::String(ours))) => !ours.is_empty(),
            (Self::Shorter, Some(Value::String(recorded)), Some(Value::String(ours))) => {
                recorded.starts_with(ours.as_str())
            }
            (Self::More, None, Some(_)) | (Self::Less, Some(_), None) => true,
            (Self::Failure(code), _, Some(ours)) => {
                let has = |pointer| ours.pointer(pointer).is_some_and(Value::is_string);
                ours["code"] == code && has("/message") && has("/details/stack")
            }
            _ => false,
        }
    }
}
