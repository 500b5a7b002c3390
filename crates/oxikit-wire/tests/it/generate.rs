use oxikit_wire::{
    FinishReason, GenerateActionOptions, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    MiddlewareRef, MultipartToolResponse, Operation, OutputConfig, OutputOptions, ResumeOptions,
    ToolDefinition, Usage,
};

use crate::sample::{check_reads, check_refuses, check_wire};

#[test]
fn a_model_request_with_everything() {
    check_wire::<GenerateRequest>(
        r#"{"messages":[{"role":"system","content":[{"text":"S"}]},{"role":"user","content":[{"text":"U"}]}],
            "config":{"temperature":0.5},"tools":[{"name":"slowT","description":"s",
            "outputSchema":{"$schema":"http://json-schema.org/draft-07/schema#"},"key":"/tool/slowT"}],
            "toolChoice":"required","output":{"format":"json","schema":{"type":"object"},
            "constrained":true,"contentType":"application/json"},
            "docs":[{"content":[{"text":"doc one"}],"metadata":{"ref":"R1"}}]}"#,
    );
    check_wire::<GenerateRequest>(r#"{"messages":[],"tools":[],"output":{}}"#);
    check_wire::<OutputConfig>(r#"{"constrained":false}"#);
    check_refuses::<GenerateRequest>(r#"{"tools":[]}"#);
}

#[test]
fn a_model_response_with_everything() {
    check_wire::<GenerateResponse>(
        r#"{"finishReason":"stop","message":{"role":"model","content":[{"text":"Echo: hi there"}]},
            "usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7},"latencyMs":0.13618299999870942}"#,
    );
    check_wire::<GenerateResponse>(
        r#"{"message":{"role":"model","content":[]},"finishReason":"blocked","finishMessage":"why",
            "custom":{},"usage":{},"raw":{"id":"x"},"request":{"messages":[]},
            "operation":{"id":"op1"}}"#,
    );
    check_wire::<GenerateResponse>("{}");
}

#[test]
fn an_unknown_finish_reason_is_refused() {
    for reason in
        ["stop", "length", "blocked", "aborted", "failed", "interrupted", "other", "unknown"]
    {
        check_wire::<FinishReason>(&format!("\"{reason}\""));
    }
    check_refuses::<GenerateResponse>(r#"{"finishReason":"weird"}"#);
}

#[test]
fn the_first_of_the_old_candidates_is_the_answer() {
    check_reads::<GenerateResponse>(
        r#"{"candidates":[{"index":0,"message":{"role":"model","content":[{"text":"a"}]},"finishReason":"length",
            "finishMessage":"long","usage":{"outputTokens":1},"custom":{"c":1}},
            {"index":1,"message":{"role":"model","content":[{"text":"b"}]},"finishReason":"stop"}],"latencyMs":2.5}"#,
        r#"{"message":{"role":"model","content":[{"text":"a"}]},"finishReason":"length","finishMessage":"long",
            "latencyMs":2.5,"usage":{"outputTokens":1},"custom":{"c":1}}"#,
    );
    // Members of the response have precedence over those of the candidate.
    check_reads::<GenerateResponse>(
        r#"{"candidates":[{"index":0,"message":{"role":"model","content":[]},"finishReason":"stop"}],
            "finishReason":"other"}"#,
        r#"{"message":{"role":"model","content":[]},"finishReason":"other"}"#,
    );
    check_reads::<GenerateResponse>(
        r#"{"message":{"role":"model","content":[]},"candidates":[{"index":0,"message":
            {"role":"model","content":[{"text":"no"}]},"finishReason":"stop"}]}"#,
        r#"{"message":{"role":"model","content":[]}}"#,
    );
    check_reads::<GenerateResponse>(r#"{"candidates":[]}"#, "{}");
}

#[test]
fn chunks_say_whose_they_are_only_when_known() {
    check_wire::<GenerateResponseChunk>(r#"{"content":[{"text":"par"}]}"#);
    check_wire::<GenerateResponseChunk>(
        r#"{"role":"model","index":0,"content":[{"text":"tial"}],"custom":{"c":1},"aggregated":true}"#,
    );
    check_refuses::<GenerateResponseChunk>(r#"{"role":"model"}"#);
}

#[test]
fn counts_may_be_written_as_javascript_writes_numbers() {
    check_wire::<Usage>(
        r#"{"inputTokens":1,"outputTokens":2,"totalTokens":3,"inputCharacters":4,"outputCharacters":5,
            "inputImages":6,"outputImages":7,"inputVideos":8,"outputVideos":9,"inputAudioFiles":10,
            "outputAudioFiles":11,"thoughtsTokens":12,"cachedContentTokens":13,"custom":{"x":1.5}}"#,
    );
    check_reads::<Usage>(
        r#"{"inputTokens":3.0,"outputTokens":-1,"totalTokens":null}"#,
        r#"{"inputTokens":3,"outputTokens":0}"#,
    );
    check_wire::<Usage>(r#"{"inputTokens":18446744073709551615}"#);
}

#[test]
fn options_of_a_generate_call() {
    check_wire::<GenerateActionOptions>(
        r#"{"model":"echo/model","messages":[{"role":"user","content":[{"text":"use-tool"}]}],"tools":["add"],
            "resources":["r"],"toolChoice":"none","config":{},"docs":[],"output":{"format":"json","jsonSchema":{},
            "instructions":false,"constrained":true,"contentType":"application/json"},"resume":{"respond":[],"restart":[],
            "metadata":{"by":"me"}},"returnToolRequests":true,"maxTurns":3,"stepName":"s",
            "use":[{"name":"shout","config":{"bang":true}},{"name":"plain"}]}"#,
    );
    check_wire::<OutputOptions>(r#"{"instructions":"Say it in JSON."}"#);
    check_wire::<MiddlewareRef>(r#"{"name":"shout"}"#);
    check_wire::<ResumeOptions>(
        r#"{"respond":[{"toolResponse":{"name":"ask","ref":"k","output":1},"metadata":{"interruptResponse":true}}]}"#,
    );
}

#[test]
fn tools_as_models_see_them() {
    check_wire::<ToolDefinition>(
        r#"{"name":"inner","description":"n","outputSchema":{"type":"string"},
            "inputSchema":{"type":"object","properties":{},"additionalProperties":true},
            "key":"/tool/ns/inner","metadata":{"originalName":"ns/inner"}}"#,
    );
    check_reads::<ToolDefinition>(
        r#"{"name":"a","description":"","inputSchema":null}"#,
        r#"{"name":"a","description":""}"#,
    );
    check_wire::<MultipartToolResponse>(
        r#"{"output":null,"content":[{"text":"extra"}],"metadata":{"k":1}}"#,
    );
    check_wire::<MultipartToolResponse>("{}");
}

#[test]
fn operations_end_well_or_badly() {
    check_wire::<Operation>(
        r#"{"action":"/background-model/veo","id":"op1","done":false,"metadata":{"p":1}}"#,
    );
    check_wire::<Operation>(r#"{"id":"op1","done":true,"output":null}"#);
    check_wire::<Operation>(r#"{"id":"op1","done":true,"error":{"message":"no"}}"#);
    check_refuses::<Operation>(r#"{"done":true}"#);
}
