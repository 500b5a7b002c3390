use oxikit_wire::{
    AgentFinishReason, Artifact, RuntimeError, SessionSnapshot, SessionState, SnapshotStatus,
};

use crate::sample::{check_refuses, check_wire};

#[test]
fn a_snapshot_as_the_official_file_store_writes_it() {
    check_wire::<SessionSnapshot>(
        r#"{"snapshotId":"2841734b-9716-42c8-a09b-ebbe4fc4516a","sessionId":"sess-A",
            "createdAt":"2026-11-15T06:32:35.495Z","updatedAt":"2026-11-15T06:32:35.495Z",
            "state":{"artifacts":[],"messages":[{"role":"user","content":[{"text":"hello"}]},
            {"role":"model","content":[{"text":"echo(1): hello"}]}],"sessionId":"sess-A"},
            "status":"completed","finishReason":"stop"}"#,
    );
    check_wire::<SessionSnapshot>(
        r#"{"snapshotId":"s","parentId":"p","createdAt":"2026-11-15T06:32:40.396Z","status":"aborted",
            "heartbeatAt":"2026-11-15T06:32:40.396Z","error":{"status":"INTERNAL","message":"m","details":{"a":1}}}"#,
    );
    check_refuses::<SessionSnapshot>(r#"{"snapshotId":"s"}"#);
}

#[test]
fn a_state_tells_absent_from_empty() {
    check_wire::<SessionState>("{}");
    check_wire::<SessionState>(r#"{"messages":[],"artifacts":[]}"#);
    check_wire::<SessionState>(r#"{"custom":null}"#);
    check_wire::<SessionState>(
        r#"{"custom":{"turns":1},"artifacts":[{"name":"note","parts":[{"text":"note this"}]}]}"#,
    );
}

#[test]
fn parts_of_a_snapshot_on_their_own() {
    check_wire::<Artifact>(r#"{"parts":[],"metadata":{"k":1}}"#);
    check_wire::<RuntimeError>(r#"{"message":"m"}"#);
    for status in ["pending", "completed", "aborted", "failed", "expired"] {
        check_wire::<SnapshotStatus>(&format!("\"{status}\""));
        let read: SnapshotStatus = serde_json::from_str(&format!("\"{status}\"")).unwrap();
        assert_eq!(read.as_str(), status);
    }
    for reason in [
        "stop",
        "length",
        "blocked",
        "interrupted",
        "other",
        "unknown",
        "aborted",
        "detached",
        "failed",
    ] {
        check_wire::<AgentFinishReason>(&format!("\"{reason}\""));
    }
}
