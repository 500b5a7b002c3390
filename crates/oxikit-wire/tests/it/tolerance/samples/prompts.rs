//! Samples of the types of the prompt manager.

use oxikit_wire::prompts::*;

use super::super::members::members_of;
use super::Sampled;

// The name is that of Genkit's type too.
type PromptDocument = Document;

pub(super) fn all() -> Vec<Sampled> {
    let mut all = of_clients();
    all.extend(of_the_server());
    all.extend(parts());
    all.extend(enums());
    all.extend(documents());
    all.extend(directories());
    all.extend(expansion());
    all.extend(history());
    all
}

fn of_clients() -> Vec<Sampled> {
    sampled! {
        ClientMessage: r#"{"action":"update","content":"c","base_rev":3,"op":"o","on_conflict":"reject","author":"a"}"#,
            r#"{"action":"update_metadata","description":"d","tags":["t"],"prompt_type":"system","op":"o",
            "author":"a"}"#, r#"{"action":"expand","content":"[[x]]","op":"o"}"#,
            r#"{"action":"hello","protocol":{"name":"oxikit.prompts","version":1},"client":"c","resume":{"rev":3}}"#,
            r#"{"action":"patch","base_rev":3,"ops":[["keep",2],["insert","é"],["delete",1]],"op":"o",
            "on_conflict":"merge","author":"a"}"#,
            r#"{"action":"presence","name":"n","cursor":3,"selection":{"start":1,"end":3},"rev":3}"#,
            r#"{"action":"history","limit":10,"before":4,"op":"o"}"#,
            r#"{"action":"restore","rev":2,"op":"o","author":"a"}"#;
        SubmitUpdate: r#"{"content":"c","base_rev":3,"op":"o","on_conflict":"reject","author":"a"}"#;
        SubmitMetadata: r#"{"description":"d","tags":["t"],"prompt_type":"user","op":"o","author":"a"}"#,
            r#"{"description":"","tags":[]}"#;
        ExpandText: r#"{"content":"[[x]]","op":"o"}"#;
        Hello: r#"{"protocol":{"name":"oxikit.prompts","version":1,"features":["op"]},"client":"c",
            "resume":{"rev":3,"hash":"00"}}"#;
        Resume: r#"{"rev":3,"hash":"00"}"#;
        SubmitPatch: r#"{"base_rev":3,"ops":[["keep",2],["insert","i"]],"op":"o","on_conflict":"merge","author":"a"}"#;
        SetPresence: r#"{"name":"n","cursor":3,"selection":{"start":1,"end":3},"rev":3}"#;
        AskHistory: r#"{"limit":10,"before":4,"op":"o"}"#;
        AskRestore: r#"{"rev":2,"op":"o","author":"a"}"#;
    }
}

fn of_the_server() -> Vec<Sampled> {
    sampled! {
        ServerMessage: r#"{"action":"initial","content":"c","description":"d","tags":["t"],"prompt_type":"custom",
            "updated_at":"2025-05-11T17:41:28.226Z","rev":3,"hash":"00","id":"i","kind":"prompt",
            "protocol":{"name":"oxikit.prompts","version":1,"features":["op"]}}"#,
            r#"{"action":"update_status","success":true,"timestamp":"t","rev":4,"hash":"00","op":"o","merged":true,
            "conflicts":[{"base":"b","stored":"s","incoming":"i"}]}"#,
            r#"{"action":"update_status","success":false,"timestamp":"t","error":{"code":"storage","message":"m"}}"#,
            r#"{"action":"update","content":"c","timestamp":"t","rev":4,"base_rev":3,"hash":"00","reason":"merge",
            "author":"a"}"#,
            r#"{"action":"update_metadata","description":"d","tags":["t"],"prompt_type":"user","timestamp":"t",
            "rev":5,"op":"o","author":"a"}"#,
            r#"{"action":"expanded","content":"[[x]]","expanded":"e","dependencies":["x"],"warnings":["w"],"op":"o",
            "revs":{"x":2},"spans":[{"start":0,"end":1,"id":"x"}]}"#,
            r#"{"action":"welcome","session":"s","rev":4,"features":["op"]}"#,
            r#"{"action":"patched","rev":4,"base_rev":3,"ops":[["delete",1]],"hash":"00","reason":"edit","author":"a",
            "timestamp":"t"}"#,
            r#"{"action":"presence","clients":[{"session":"s","cursor":3}]}"#,
            r#"{"action":"dependency_changed","id":"x","rev":2}"#, r#"{"action":"renamed","id":"j"}"#,
            r#"{"action":"history","revisions":[{"rev":1,"kind":"edit","author":"a","timestamp":"t","hash":"00",
            "bytes":1,"applied":true}],"labels":{"production":1},"op":"o"}"#,
            r#"{"action":"error","code":"bad_request","message":"m","op":"o"}"#;
        Initial: r#"{"content":"c","description":"d","tags":["t"],"prompt_type":"composite","updated_at":"u","rev":3,
            "hash":"00","id":"i","kind":"fragment","protocol":{"name":"oxikit.prompts","version":1}}"#;
        UpdateStatus: r#"{"success":false,"timestamp":"t","rev":4,"hash":"00","op":"o","merged":true,
            "conflicts":[{"base":"b","stored":"s","incoming":"i"}],"error":{"code":"conflict","message":"m"}}"#;
        Updated: r#"{"content":"c","timestamp":"t","rev":4,"base_rev":3,"hash":"00","reason":"restore","author":"a"}"#;
        MetadataUpdated: r#"{"description":"d","tags":["t"],"prompt_type":"standard","timestamp":"t","rev":5,"op":"o",
            "author":"a"}"#;
        Expanded: r#"{"content":"[[x]]","expanded":"e","dependencies":["x"],"warnings":["w"],"op":"o",
            "revs":{"x":2,"y":0},"spans":[{"start":0,"end":1,"id":"x"}]}"#;
        Welcome: r#"{"session":"s","rev":4,"features":["op"]}"#;
        Patched: r#"{"rev":4,"base_rev":3,"ops":[["keep",1]],"hash":"00","reason":"external","author":"a",
            "timestamp":"t"}"#;
        PresenceList: r#"{"clients":[{"session":"s","rev":3}]}"#;
        DependencyChanged: r#"{"id":"x","rev":2}"#;
        IdChanged: r#"{"id":"j"}"#;
        History: r#"{"revisions":[{"rev":2,"parent":1,"kind":"merge","author":"a","timestamp":"t","hash":"00",
            "bytes":1,"applied":true}],"labels":{"production":2},"op":"o"}"#;
        ErrorMessage: r#"{"code":"not_found","message":"m","op":"o"}"#;
    }
}

/// What messages consist of.
fn parts() -> Vec<Sampled> {
    sampled! {
        Protocol: r#"{"name":"oxikit.prompts","version":1,"features":["base_rev","op"]}"#;
        PatchOp: r#"["keep",2]"#, r#"["insert","é"]"#, r#"["insert","2"]"#, r#"["delete",0]"#;
        Selection: r#"{"start":0,"end":3}"#;
        Presence: r#"{"session":"s","name":"n","cursor":3,"selection":{"start":1,"end":3},"rev":3}"#;
        Span: r#"{"start":0,"end":1,"id":"x"}"#;
        Conflict: r#"{"base":"b","stored":"s","incoming":"i"}"#;
        ErrorInfo: r#"{"code":"too_large","message":"m"}"#;
    }
}

fn enums() -> Vec<Sampled> {
    sampled! {
        OnConflict: r#""merge""#, r#""reject""#;
        UpdateReason: r#""external""#;
        PromptType: r#""standard""#, r#""custom""#;
        DocumentKind: r#""fragment""#;
        ErrorCode: r#""bad_request""#, r#""read_only""#;
        RevisionKind: r#""refused""#;
        ChangeKind: r#""labelled""#;
        DiffOp: r#""same""#, r#""delete""#;
        Severity: r#""warning""#;
        FindingCode: r#""missing_inclusion""#;
    }
}

fn documents() -> Vec<Sampled> {
    sampled! {
        PromptDocument: r#"{"id":"i","filename":"i.md","directory":"/p","directory_name":"p","content":"c",
            "description":"d","prompt_type":"system","tags":["t"],"created_at":"c","updated_at":"u","name":"i",
            "display_name":"i","unique_id":"p/i","is_composite":true,"directory_info":{"name":"p","path":"/p"},
            "dependencies":[{"id":"x","is_missing":true}],"warnings":["w"],"sanitized_message":"s","kind":"prompt",
            "rev":3,"hash":"00","is_dotprompt":true,"labels":{"production":2},"merged":true,
            "conflicts":[{"base":"b","stored":"s","incoming":"i"}]}"#;
        DirectoryInfo: r#"{"name":"p","path":"/p"}"#;
        Dependency: r#"{"id":"x","is_missing":false}"#;
        NewDocument: r#"{"id":"i","name":"n","content":"c","directory":"/p","prompt_type":"user","description":"d",
            "tags":["t"],"author":"a"}"#;
        DocumentChange: r#"{"content":"c","description":"d","tags":["t"],"prompt_type":"user","base_rev":3,"op":"o",
            "on_conflict":"reject","author":"a"}"#;
        Deleted: r#"{"success":true,"id":"i","message":"m"}"#;
        Rename: r#"{"old_id":"i","new_id":"j","new_name":"j","content":"c","description":"d","tags":["t"],
            "update_references":true,"author":"a"}"#;
        Renamed: r#"{"success":true,"old_id":"i","new_id":"j","message":"m","sanitized_message":"s","updated":["x"],
            "rev":4}"#;
        Existence: r#"{"exists":true,"id":"i"}"#;
        Reference: r#"{"id":"x","description":"d","directory":"/p"}"#;
        Suggestion: r#"{"id":"x","display_name":"x","kind":"fragment"}"#;
        Reloaded: r#"{"success":true,"count":12,"message":"m"}"#;
        Detail: r#"{"detail":"d","candidates":["a/i","b/i"]}"#,
            r#"{"detail":[{"loc":["body","content"],"msg":"m","type":"missing"}]}"#,
            r#"{"detail":"d","document":{"id":"i","filename":"i.md","directory":"/p","directory_name":"p",
            "content":"c","description":null,"tags":[],"created_at":"c","updated_at":"u","name":"i",
            "display_name":"i","unique_id":"p/i","is_composite":false,"kind":"prompt","rev":3,"hash":"00"}}"#;
        FieldError: r#"{"loc":["body","content"],"msg":"m","type":"missing"}"#;
    }
}

fn directories() -> Vec<Sampled> {
    sampled! {
        Directory: r#"{"path":"/p","name":"p","description":"d","enabled":true}"#;
        NewDirectory: r#"{"path":"/p","name":"p","description":"d"}"#;
        DirectoryChange: r#"{"name":"p","description":"d","enabled":false}"#;
        DirectoryRemoved: r#"{"success":true,"path":"/p"}"#;
        Toggle: r#"{"enabled":true}"#;
        DirectoryToggled: r#"{"success":true,"path":"/p","enabled":false,"affected_prompts":7}"#;
        CompletePath: r#"{"partial_path":"/p"}"#;
        Completion: r#"{"completed_path":"/prompts","suggestions":["/prompts"],"is_directory":true}"#;
    }
}

fn expansion() -> Vec<Sampled> {
    sampled! {
        Rendered: r#"{"id":"i","original":"[[x]]","rendered":"r","prompt_type":"composite","warnings":["w"]}"#;
        ExpandRequest: r#"{"content":"[[x]]","prompt_id":"i","directory":"/p"}"#;
        Expansion: r#"{"content":"[[x]]","expanded":"e","dependencies":["x"],"warnings":["w"],"prompt_id":"i",
            "original_content":"[[x]]","expanded_content":"e","revs":{"x":2},"spans":[{"start":0,"end":1,"id":"x"}]}"#;
        PreviewRequest: r#"{"id":"i","content":"c","variables":{"n":1}}"#;
        Preview: r#"{"id":"i","expanded":"e","dependencies":["x"],"warnings":["w"],"revs":{"x":2},
            "spans":[{"start":0,"end":1,"id":"x"}],"messages":[{"role":"user","content":[{"text":"t"}]}],"model":"m",
            "config":{"topK":40},"variables":["v"],"error":"e"}"#;
        Export: r#"{"label":"production","prompts":[{"name":"n","kind":"prompt","id":"i","rev":3,"source":"s"}]}"#;
        ExportedPrompt: r#"{"name":"jokes/dad","kind":"prompt","id":"dad","rev":12,"source":"s","fragments":{"x":2},
            "warnings":["w"]}"#;
        LintReport: r#"{"documents":2,"findings":[{"directory":"/p","file":"i.md","severity":"error",
            "code":"template","message":"m"}]}"#;
        Finding: r#"{"directory":"/p","file":"i.md","id":"i","line":4,"severity":"warning","code":"unknown_key",
            "message":"m"}"#;
    }
}

fn history() -> Vec<Sampled> {
    sampled! {
        Revision: r#"{"rev":3,"parent":2,"kind":"edit","author":"a","timestamp":"t","hash":"00","bytes":9,
            "applied":true,"labels":["production"]}"#;
        RevisionList: r#"{"id":"i","rev":3,"revisions":[{"rev":3,"kind":"delete","author":"a","timestamp":"t",
            "hash":"","bytes":0,"applied":true}],"next":3,"labels":{"production":2}}"#;
        RevisionText: r#"{"id":"i","revision":{"rev":3,"kind":"edit","author":"a","timestamp":"t","hash":"00",
            "bytes":9,"applied":false},"content":"c","text":"t"}"#;
        RevisionDiff: r#"{"id":"i","from":1,"to":3,"lines":[{"op":"same","text":"a\n"},{"op":"insert","text":"b",
            "words":[[0,1]]}]}"#;
        DiffLine: r#"{"op":"delete","text":"a b","words":[[0,1],[2,3]]}"#;
        ChangeEvent: r#"{"change":"renamed","id":"j","old_id":"i","kind":"prompt","rev":3,"hash":"00"}"#,
            r#"{"change":"reload"}"#;
        Restore: r#"{"rev":2,"author":"a"}"#;
        Undelete: r#"{"author":"a"}"#;
        SetLabel: r#"{"rev":2}"#;
        Label: r#"{"id":"i","label":"production","rev":2}"#;
        LabelList: r#"{"id":"i","labels":{"production":2}}"#;
    }
}
