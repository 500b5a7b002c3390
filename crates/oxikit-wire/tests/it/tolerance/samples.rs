//! A sample of every type that is read, or as many as it takes to have all its members.

use oxikit_wire::action_http::*;
use oxikit_wire::rpc::*;
use oxikit_wire::trace::*;
use oxikit_wire::*;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::members::members_of;

/// A type with its samples.
pub(super) struct Sampled {
    pub(super) name: &'static str,
    samples: &'static [&'static str],
    /// Reads a text and returns the value that was read as JSON.
    pub(super) read: fn(&str) -> Result<Value, String>,
    members: fn() -> Option<&'static [&'static str]>,
}

impl Sampled {
    pub(super) fn values(&self) -> impl Iterator<Item = Value> {
        self.samples.iter().map(|sample| serde_json::from_str(sample).unwrap())
    }

    #[track_caller]
    pub(super) fn read(&self, text: &str) -> Value {
        (self.read)(text).unwrap_or_else(|error| panic!("{}: {text}: {error}", self.name))
    }

    /// The members that it knows, or at least those of its samples.
    pub(super) fn members(&self) -> Vec<String> {
        match (self.members)() {
            Some(members) => members.iter().map(|member| (*member).to_owned()).collect(),
            None => self
                .values()
                .filter_map(|sample| Some(sample.as_object()?.clone()))
                .flat_map(super::names)
                .collect(),
        }
    }
}

macro_rules! sampled {
    ($($type:ident $(<$life:lifetime>)? $(shown by $show:ident)? : $($sample:literal),+;)*) => {
        vec![$(Sampled {
            name: stringify!($type),
            samples: &[$($sample),+],
            read: |text| {
                let read: $type $(<$life>)? =
                    serde_json::from_str(text).map_err(|error| error.to_string())?;
                sampled!(@show read $($show)?)
            },
            members: members_of::<$type $(<$life>)?>,
        }),*]
    };
    (@show $read:ident) => { serde_json::to_value(&$read).map_err(|error| error.to_string()) };
    (@show $read:ident $show:ident) => { Ok($show(&$read)) };
}

// After the macro, which it uses.
mod a2a;
mod prompts;

pub(super) fn all() -> Vec<Sampled> {
    let mut all = conversations();
    all.extend(sessions());
    all.extend(enums());
    all.extend(reflection());
    all.extend(traces());
    all.extend(a2a::all());
    all.extend(prompts::all());
    all
}

fn conversations() -> Vec<Sampled> {
    sampled! {
        Part: r#"{"text":"t","metadata":{"n":1}}"#, r#"{"media":{"url":"data:,x","contentType":"a/b"}}"#,
            r#"{"toolRequest":{"name":"t"}}"#, r#"{"toolResponse":{"name":"t","output":1}}"#,
            r#"{"data":{"a":1}}"#, r#"{"custom":{"a":1}}"#, r#"{"reasoning":"r"}"#,
            r#"{"resource":{"uri":"u"}}"#, r#"{}"#;
        Media: r#"{"url":"u","contentType":"image/png"}"#;
        ResourceRef: r#"{"uri":"u"}"#;
        ToolRequest: r#"{"name":"t","ref":"r","input":{"n":1},"partial":true}"#;
        ToolResponse: r#"{"name":"t","ref":"r","output":[1,2.5],"content":[{"text":"t"}]}"#;
        Message: r#"{"role":"user","content":[{"text":"t"},{}],"metadata":{"n":7}}"#;
        Document: r#"{"content":[{"text":"t"}],"metadata":{"n":1}}"#;
        EmbedRequest: r#"{"input":[{"content":[]}],"options":{"n":1}}"#;
        EmbedResponse: r#"{"embeddings":[{"embedding":[1,2,0.5]}]}"#;
        Embedding: r#"{"embedding":[1,-2,0.5],"metadata":{"n":1}}"#;
        EmbedderInfo: r#"{"label":"l","dimensions":768,"supports":{"input":["text"]}}"#;
        RetrieveRequest: r#"{"query":{"content":[]},"options":{"k":3}}"#;
        RetrieveResponse: r#"{"documents":[{"content":[]}]}"#;
        IndexRequest: r#"{"documents":[{"content":[]}],"options":{"n":1}}"#;
        RerankRequest: r#"{"query":{"content":[]},"documents":[{"content":[]}],"options":{"k":3}}"#;
        RerankResponse: r#"{"documents":[{"content":[],"metadata":{"score":1}}]}"#;
        RankedDocument: r#"{"content":[],"metadata":{"score":1,"other":2}}"#;
        RankedDocumentMetadata: r#"{"score":1,"other":2}"#;
        ToolDefinition: r#"{"name":"t","description":"d","inputSchema":{"minimum":1},
            "outputSchema":{"maximum":2},"key":"/tool/t","metadata":{"n":1}}"#;
        MultipartToolResponse: r#"{"output":1,"content":[{"text":"t"}],"metadata":{"n":1}}"#;
        MiddlewareRef: r#"{"name":"m","config":{"n":1}}"#;
        MiddlewareDescriptor: r#"{"name":"m","description":"d","configSchema":{"n":1},"metadata":{"n":1}}"#;
        ModelInfo: r#"{"label":"l","versions":["1"],"supports":{"media":true},"customOptions":{"n":1},
            "configSchema":{"n":1},"stage":"stable"}"#;
        ModelSupports: r#"{"multiturn":true,"media":true,"tools":true,"systemRole":true,"output":["text"],
            "contentType":["a/b"],"context":true,"constrained":"no-tools","toolChoice":true,
            "longRunning":true}"#;
        GenerateRequest: r#"{"messages":[{"role":"user","content":[]}],"config":{"topK":40},
            "tools":[{"name":"t","description":"d"}],"toolChoice":"auto","output":{"format":"json"},
            "docs":[{"content":[]}]}"#;
        OutputConfig: r#"{"format":"json","schema":{"minimum":1},"constrained":true,"contentType":"a/b"}"#;
        OutputOptions: r#"{"format":"json","contentType":"a/b","instructions":true,"jsonSchema":{"minimum":1},
            "constrained":false}"#;
        Instructions: r#"true"#, r#""words""#;
        ResumeOptions: r#"{"respond":[{"toolResponse":{"name":"t"}}],"restart":[{"toolRequest":{"name":"t"}}],
            "metadata":{"n":1}}"#;
        GenerateResponse: r#"{"message":{"role":"model","content":[]},"finishReason":"stop","finishMessage":"m",
            "latencyMs":12,"usage":{"inputTokens":3},"custom":{"n":1},"raw":{"n":1},
            "request":{"messages":[]},"operation":{"id":"o"}}"#,
            r#"{"candidates":[{"index":0,"message":{"role":"model","content":[]},"finishReason":"stop",
            "finishMessage":"m","usage":{"inputTokens":3},"custom":{"n":1}}]}"#;
        GenerateResponseChunk: r#"{"role":"model","index":2,"content":[{"text":"t"}],"custom":{"n":1},
            "aggregated":true}"#;
        Usage: r#"{"inputTokens":1,"outputTokens":2,"totalTokens":3,"inputCharacters":4,"outputCharacters":5,
            "inputImages":6,"outputImages":7,"inputVideos":8,"outputVideos":9,"inputAudioFiles":10,
            "outputAudioFiles":11,"thoughtsTokens":12,"cachedContentTokens":13,"custom":{"n":14}}"#;
        GenerateActionOptions: r#"{"model":"m","messages":[],"tools":["t"],"resources":["r"],
            "toolChoice":"none","config":{"n":1},"docs":[{"content":[]}],"output":{"format":"json"},
            "resume":{"metadata":{"n":1}},"returnToolRequests":true,"maxTurns":5,"stepName":"s",
            "use":[{"name":"m"}]}"#;
        Operation: r#"{"action":"/a/b","id":"o","done":true,"output":{"n":1},"error":{"message":"m"},
            "metadata":{"n":1}}"#;
        OperationError: r#"{"message":"m"}"#;
        EvalRequest: r#"{"dataset":[{"input":1}],"evalRunId":"e","options":{"n":1},"batchSize":10}"#;
        EvalDataPoint: r#"{"input":1,"output":2,"error":"e","context":[3],"reference":4,"testCaseId":"t",
            "traceIds":["x"]}"#;
        EvalFnResponse: r#"{"sampleIndex":4,"testCaseId":"t","traceId":"x","spanId":"s",
            "evaluation":{"score":1}}"#;
        Scores: r#"{"score":1}"#, r#"[{"score":2},{"id":"b","score":true}]"#;
        Score: r#"{"id":"i","score":3,"status":"PASS","error":"e","details":{"n":1}}"#;
        ScoreValue: r#"4"#, r#"0.5"#, r#"true"#, r#""good""#;
        ScoreDetails: r#"{"reasoning":"r","n":1}"#;
    }
}

fn sessions() -> Vec<Sampled> {
    sampled! {
        SessionState: r#"{"sessionId":"s","messages":[{"role":"user","content":[]}],"custom":{"n":1},
            "artifacts":[{"parts":[]}]}"#;
        Artifact: r#"{"name":"a","parts":[{"data":1}],"metadata":{"n":1}}"#;
        SessionSnapshot: r#"{"snapshotId":"i","sessionId":"s","parentId":"p","createdAt":"c","updatedAt":"u",
            "heartbeatAt":"h","status":"pending","finishReason":"stop","error":{"message":"m"},
            "state":{"custom":1}}"#;
        RuntimeError: r#"{"status":"INTERNAL","message":"m","details":{"n":1}}"#;
        PatchOperation: r#"{"op":"move","path":"/a","from":"/b","value":1}"#;
        AgentInit: r#"{"snapshotId":"i","sessionId":"s","state":{"custom":1}}"#;
        AgentInput: r#"{"message":{"role":"user","content":[]},"resume":{"respond":[]},"detach":true}"#;
        AgentResume: r#"{"respond":[{"toolResponse":{"name":"t"}}],"restart":[{"toolRequest":{"name":"t"}}]}"#;
        AgentOutput: r#"{"sessionId":"s","snapshotId":"i","state":{"custom":1},
            "message":{"role":"model","content":[]},"artifacts":[{"parts":[]}],"finishReason":"stop",
            "error":{"message":"m"}}"#;
        AgentStreamChunk: r#"{"modelChunk":{"index":1,"content":[]}}"#,
            r#"{"customPatch":[{"op":"add","path":"/a","value":1}]}"#, r#"{"artifact":{"parts":[]}}"#,
            r#"{"turnEnd":{"finishReason":"stop"}}"#;
        TurnEnd: r#"{"snapshotId":"i","finishReason":"stop"}"#;
        GetSnapshotRequest: r#"{"snapshotId":"i","sessionId":"s"}"#;
        AgentAbortRequest: r#"{"snapshotId":"i"}"#;
        AgentAbortResponse: r#"{"snapshotId":"i","status":"aborted"}"#;
        AgentMetadata: r#"{"stateManagement":"server","abortable":true,"stateSchema":{"n":1}}"#;
        AgentList: r#"{"agents":{"a":{"name":"a","hasStore":true}}}"#;
        AgentSummary: r#"{"name":"a","description":"d","hasStore":true,"storeType":"memory","metadata":{"n":1}}"#;
        AgentDetails: r#"{"name":"a","description":"d","hasStore":true,"storeType":"memory","initSchema":{},
            "inputSchema":{},"outputSchema":{},"streamSchema":{},"metadata":{"n":1}}"#;
        SessionList: r#"{"sessions":[],"continuationToken":"c"}"#;
        SessionInfo: r#"{"sessionId":"s","agentName":"a","createdAt":1794724507238,"updatedAt":1794724507239,
            "status":"active","messageCount":4,"hasArtifacts":true,"metadata":{"n":1},
            "snapshotStatus":"pending","finishReason":"stop"}"#;
        SessionDetails: r#"{"sessionId":"s","agentName":"a","createdAt":1794724507238,"updatedAt":1794724507239,
            "status":"completed","state":{"n":1},"threads":{"main":[]},"metadata":{"n":1},"snapshotId":"i",
            "snapshotStatus":"completed","finishReason":"stop","error":{"message":"m"},"snapshots":[]}"#;
        SnapshotInfo: r#"{"snapshotId":"i","parentId":"p","status":"completed","finishReason":"stop",
            "createdAt":1794724507238,"messageCount":4,"children":["c"]}"#;
        SnapshotTree: r#"{"sessionId":"s","agentName":"a","snapshotId":"i","snapshots":[]}"#;
        SnapshotDiff: r#"{"sessionId":"s","snapshotId":"i","parentId":"p","patch":[]}"#;
        SessionDeleted: r#"{"success":true,"sessionId":"s"}"#;
        SessionAborted: r#"{"sessionId":"s","snapshotId":"i","status":"pending","aborted":["i"]}"#;
        SessionForked: r#"{"sessionId":"s","snapshotId":"i","parentSessionId":"p","parentSnapshotId":"q"}"#;
        ExecuteRequest: r#"{"input":{"n":1},"init":{"sessionId":"s"},"stream":true,"telemetryLabels":{"n":1}}"#;
        ExecuteInit: r#"{"sessionId":"s","snapshotId":"i","messages":[],"state":{"n":1},"artifacts":[]}"#;
        ExecuteResponse: r#"{"result":{"state":1},"telemetry":{"traceId":"t","spanId":"s"}}"#;
        ExecuteResult: r#"{"sessionId":"s","messages":[],"state":{"n":1},"artifacts":[],"snapshotId":"i",
            "finishReason":"stop","message":{"role":"model","content":[]},"error":{"message":"m"}}"#;
        Telemetry: r#"{"traceId":"t","spanId":"s"}"#;
    }
}

/// Values that are one word of several.
fn enums() -> Vec<Sampled> {
    sampled! {
        Role: r#""system""#, r#""tool""#;
        ToolChoice: r#""required""#;
        FinishReason: r#""interrupted""#;
        AgentFinishReason: r#""detached""#, r#""unknown""#;
        ConstrainedSupport: r#""no-tools""#;
        ModelStage: r#""featured""#;
        EvalStatus: r#""UNKNOWN""#;
        PatchKind: r#""replace""#;
        SnapshotStatus: r#""expired""#;
        StateManagement: r#""client""#;
        SessionActivity: r#""active""#;
        StatusCode: r#""NOT_FOUND""#;
    }
}

fn reflection() -> Vec<Sampled> {
    sampled! {
        ActionDescriptor: r#"{"key":"/flow/f","name":"f","actionType":"flow","description":"d",
            "inputSchema":{"minimum":1},"outputSchema":{},"streamSchema":{},"initSchema":{},"metadata":{"n":1}}"#;
        RpcMessage<'_> shown by message: r#"{"id":"1","method":"m","params":{"n":1}}"#,
            r#"{"id":1,"result":{"n":1}}"#, r#"{"id":"1","error":{"code":-32000}}"#;
        RuntimeMessage<'_> shown by runtime_message: r#"{"id":"1","method":"m"}"#,
            r#"{"method":"streamChunk","params":{"requestId":"1","chunk":{"n":1}}}"#,
            r#"{"id":1,"result":{"n":1}}"#, r#"{"id":"1","error":{"code":-32000}}"#;
        RunNotification<'_> shown by run_notification: r#"{"requestId":"1","chunk":{"n":1}}"#,
            r#"{"requestId":1,"state":{"traceId":"t"}}"#;
        RpcError: r#"{"code":-32000,"message":"m","data":{"code":13}}"#;
        ErrorData: r#"{"code":13,"message":"m","details":{"stack":"s"},"stack":"s"}"#;
        ErrorDetails: r#"{"stack":"s","traceId":"t"}"#;
        RegisterParams: r#"{"id":"31913","pid":31913,"name":"n","genkitVersion":"python/0.12.0",
            "reflectionApiSpecVersion":1,"envs":["dev"]}"#;
        RegisterResult: r#"{"telemetryServerUrl":"u","managerId":"m"}"#;
        ConfigureParams: r#"{"telemetryServerUrl":"u"}"#;
        ListActionsResult: r#"{"actions":{"/flow/f":{"key":"/flow/f","name":"f"}}}"#;
        ListValuesParams: r#"{"type":"defaultModel"}"#;
        ListValuesResult: r#"{"values":{"v":{"n":1}}}"#;
        RunActionParams<'_>: r#"{"key":"/flow/f","input":{"n":1},"init":{"n":1},"context":{"n":1},
            "telemetryLabels":{"l":"v"},"stream":true,"streamInput":true,"runtimeId":"r"}"#;
        RunActionResult<'_>: r#"{"result":{"n":1},"telemetry":{"traceId":"t"}}"#;
        RunEnd<'_> shown by run_end: r#"{"error":{"code":13}}"#;
        ActionCallText<'_> shown by action_call: r#"{"data":{"n":1},"init":{"n":1}}"#;
        ActionReply<'_> shown by action_reply: r#"{"message":{"n":1}}"#, r#"{"result":{"n":1}}"#,
            r#"{"error":{"status":"NOT_FOUND"}}"#;
        RunTelemetry: r#"{"traceId":"t"}"#;
        RunActionStateParams<'_>: r#"{"requestId":"1","state":{"traceId":"t"}}"#;
        ChunkParams<'_>: r#"{"requestId":"1","chunk":{"n":1}}"#;
        EndInputParams<'_>: r#"{"requestId":"1"}"#;
        CancelActionParams: r#"{"traceId":"t"}"#;
        CancelActionResult: r#"{"message":"m"}"#;
        ListSessionsParams: r#"{"agent":"a","limit":20,"continuationToken":"c","status":"active","context":{"n":1}}"#;
        SessionParams: r#"{"agent":"a","sessionId":"s","context":{"n":1}}"#;
        ForkSessionParams: r#"{"agent":"a","sessionId":"s","snapshotId":"i","context":{"n":1}}"#;
        NotifyParams: r#"{"telemetryServerUrl":"u","reflectionApiSpecVersion":1}"#;
        RuntimeFile: r#"{"id":"4242-3100","pid":4242,"name":"n","reflectionServerUrl":"http://localhost:3100",
            "timestamp":"t","genkitVersion":"v","reflectionApiSpecVersion":1}"#;
    }
}

fn traces() -> Vec<Sampled> {
    sampled! {
        TraceData: r#"{"traceId":"t","displayName":"d","startTime":1794724507238,"endTime":0,"spans":{}}"#;
        SpanData: r#"{"spanId":"s","traceId":"t","parentSpanId":"p","startTime":1794724507238,
            "endTime":1794724507330.5,"attributes":{"n":1},"displayName":"d","links":[{"n":1}],
            "instrumentationLibrary":{"name":"n"},"spanKind":"INTERNAL",
            "sameProcessAsParentSpan":{"value":true},"status":{"code":2},"timeEvents":{"timeEvent":[]}}"#;
        RawMembers<'_> shown by raw_members: r#"{"m":{"n":1},"o":"t"}"#;
        TraceText<'_> shown by trace_text: r#"{"traceId":"t","displayName":"d","startTime":1794724507238,
            "endTime":0,"spans":{"s":{"spanId":"s"}}}"#;
        SpanText<'_> shown by span_text: r#"{"spanId":"s","traceId":"t","parentSpanId":"p","startTime":1794724507238,
            "endTime":1794724507330.5,"attributes":{"n":1},"displayName":"d",
            "instrumentationLibrary":{"name":"n"},"spanKind":"INTERNAL","status":{"code":2}}"#;
        StatusText<'_> shown by status_text: r#"{"code":2,"message":"m"}"#;
        SpanIds shown by span_ids: r#"{"traceId":"t","spanId":"s"}"#;
        SpanSearchText<'_> shown by span_search_text: r#"{"displayName":"d","attributes":{"n":1},"status":{"message":"m"}}"#;
        StatusSearchText<'_> shown by status_search_text: r#"{"message":"m"}"#;
        SpanAttributes<'_> shown by span_attributes: r#"{"attributes":{"n":1}}"#;
        SpanEnd<'_> shown by span_end: r#"{"parentSpanId":"p","endTime":1794724507330.5}"#;
        InstrumentationLibrary: r#"{"name":"n","version":"v","schemaUrl":"u"}"#;
        SameProcess: r#"{"value":true}"#;
        SpanStatusData: r#"{"code":0,"message":"m"}"#, r#"{"code":2}"#;
        TimeEvents: r#"{"timeEvent":[{"time":1,"annotation":{"description":"d","attributes":{}}}]}"#;
        TimeEvent: r#"{"time":1794724507238,"annotation":{"description":"d","attributes":{}}}"#;
        Annotation: r#"{"description":"d","attributes":{"n":1}}"#;
        LogRecord: r#"{"logId":"l","traceId":"t","spanId":"s","timestamp":1794724507238,"severityNumber":9,
            "severityText":"INFO","body":"b","attributes":{"n":1},"instrumentationLibrary":{"name":"n"}}"#;
    }
}

fn raw(text: Option<&RawValue>) -> Option<Value> {
    text.map(|text| serde_json::from_str(text.get()).unwrap())
}

fn message(it: &RpcMessage<'_>) -> Value {
    json!([raw(it.id), it.method, raw(it.params), raw(it.result), raw(it.error)])
}

fn runtime_message(it: &RuntimeMessage<'_>) -> Value {
    let (params, result) = (it.params.as_ref().map(run_notification), present(it.result));
    json!([raw(it.id), it.method, params, result, raw(it.error)])
}

fn run_end(it: &RunEnd<'_>) -> Value {
    json!([raw(it.error)])
}

fn action_call(it: &ActionCallText<'_>) -> Value {
    json!([present(it.data), present(it.init)])
}

fn action_reply(it: &ActionReply<'_>) -> Value {
    let error = it.error.as_ref().map_or(Value::Null, |error| json!({ "is": error }));
    json!([present(it.message), present(it.result), error])
}

fn raw_members(it: &RawMembers<'_>) -> Value {
    it.0.iter().map(|(name, value)| (name.clone(), raw(Some(value)))).collect()
}

fn trace_text(it: &TraceText<'_>) -> Value {
    json!([it.trace_id, it.display_name, it.start_time, it.end_time, raw_members(&it.spans)])
}

fn span_text(it: &SpanText<'_>) -> Value {
    let (parent, status) =
        (it.parent_span_id.as_ref().and_then(Option::as_ref), it.status.as_ref());
    let attributes = raw_members(&it.attributes);
    json!([
        parent,
        it.start_time,
        it.end_time,
        attributes,
        it.display_name,
        status.map(status_text)
    ])
}

fn status_text(it: &StatusText<'_>) -> Value {
    json!([it.code, raw(it.message)])
}

fn span_ids(it: &SpanIds) -> Value {
    json!([it.trace_id, it.span_id])
}

fn span_search_text(it: &SpanSearchText<'_>) -> Value {
    json!([it.display_name, raw_members(&it.attributes), status_search_text(&it.status)])
}

fn status_search_text(it: &StatusSearchText<'_>) -> Value {
    json!([it.message])
}

fn span_attributes(it: &SpanAttributes<'_>) -> Value {
    raw_members(&it.attributes)
}

fn span_end(it: &SpanEnd<'_>) -> Value {
    json!([it.parent_span_id, it.end_time])
}

fn run_notification(it: &RunNotification<'_>) -> Value {
    json!([raw(it.request_id), present(it.chunk), raw(it.state)])
}

/// A value whose `null` is not an absence.
fn present(text: Option<&RawValue>) -> Value {
    raw(text).map_or(Value::Null, |value| json!({ "is": value }))
}
