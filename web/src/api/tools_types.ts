// Made by `cargo xtask web --types` from the OpenAPI document of the developer tools.

/** The end of a call. */
export interface A2aDone {
  /** The state of the task, such as `TASK_STATE_COMPLETED`; missing if the answer is a message. */
  state?: string | null;
  contextId?: string | null;
  taskId?: string | null;
  /** The text of the answer. */
  text: string;
}

/** An event of a call: `exchange`s and `update`s in any number, then `done` or `error`. */
export type A2aEvent = {
  event: "exchange";
  data: string;
} | {
  event: "update";
  data: string;
} | {
  event: "done";
  data: string;
} | {
  event: "error";
  data: string;
};

/** The data of `A2aEvent`, parsed, by the name of the event. */
export interface A2aEventData {
  exchange: ExchangeStep;
  update: Record<string, unknown>;
  done: A2aDone;
  error: Failed;
}

/** A call of an agent. */
export interface A2aRequest {
  /** The URL of the agent, or of its card. */
  url: string;
  /** Headers for the agent, such as an API key. They go only to the server of the card. */
  headers?: Record<string, string>;
  /** Only this version of the protocol. The default is 1.0 if the card lists it, else 0.3. */
  version?: ProtocolVersion | null;
  /** Other origins that may get the headers, because the card names them as the agent's address. */
  trustOrigins?: string[];
  /** The text of the message to send. */
  text?: string | null;
  /** The parts of the message, in the JSON of A2A 1.0, after the text. */
  parts?: (Record<string, unknown>)[];
  /** The conversation to continue. */
  contextId?: string | null;
  /** The task to continue, to show, to cancel or to follow. */
  taskId?: string | null;
}

/** The query of `abortSession`. */
export interface AbortSessionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/**
 * One entry of `listActions`.
 *
 * The official manager rejects a whole list for one `null`, so every absent
 * member is left out.
 */
export interface ActionDescriptor {
  /** The full key, `/type/name`. */
  key: string;
  /** The name without its type. */
  name: string;
  /** The type, such as `flow`. */
  actionType?: string | null;
  /** Description for people, and for models if the action is a tool. */
  description?: string | null;
  /** JSON Schema of one input. */
  inputSchema?: unknown;
  /** JSON Schema of the output. */
  outputSchema?: unknown;
  /** JSON Schema of one chunk. */
  streamSchema?: unknown;
  /** JSON Schema of the value that a conversation starts with. */
  initSchema?: unknown;
  /** Members that the tools show, such as labels and capabilities. */
  metadata?: Record<string, unknown> | null;
}

/** The actions of a runtime. */
export interface ActionList {
  /** By key, such as `/flow/greet`. */
  actions: Record<string, ActionDescriptor>;
  /** Entries that could not be read. */
  skipped: SkippedAction[];
}

/** `GET /api/agents/{agent}`: one agent with its schemas. */
export interface AgentDetails {
  /** Its name. */
  name: string;
  /** Description for people. */
  description?: string | null;
  /** Whether the server keeps its sessions. */
  hasStore: boolean;
  /** Name of the kind of store, such as `memory`; absent without a store. */
  storeType?: string | null;
  /** JSON Schema of the starting point of an invocation. */
  initSchema: unknown;
  /** JSON Schema of one turn. */
  inputSchema: unknown;
  /** JSON Schema of the output of an invocation. */
  outputSchema: unknown;
  /** JSON Schema of the chunks of an invocation's stream. */
  streamSchema: unknown;
  /** Metadata of the action. */
  metadata: Record<string, unknown>;
}

/** Why an agent's turn ended. */
export type AgentFinishReason = "stop" | "length" | "blocked" | "interrupted" | "other" | "aborted" | "detached" | "failed" | "unknown";

/** `GET /api/agents`: all agents by name. */
export interface AgentList {
  /** The agents. */
  agents: Record<string, AgentSummary>;
}

/** An agent in a list. */
export interface AgentSummary {
  /** Its name. */
  name: string;
  /** Description for people. */
  description?: string | null;
  /** Whether the server keeps its sessions. */
  hasStore: boolean;
  /** Name of the kind of store, such as `memory`; absent without a store. */
  storeType?: string | null;
  /** Metadata of the action. */
  metadata: Record<string, unknown>;
}

/** Kind and attributes of an event. */
export interface Annotation {
  /** The kind of event, such as `exception`. */
  description: string;
  /** Attributes of the event, such as `exception.message`. */
  attributes: Record<string, unknown>;
}

/** Whether an application runs. */
export type AppState = "running" | "stopped";

/** The status of an application. */
export interface AppStatus {
  /** Whether it runs. */
  state: AppState;
  /** The id of its process, while it runs. */
  pid?: number | null;
  /** The command: the program and its arguments. */
  command: string[];
  /** How it ended, such as `exit status: 1`; missing while it runs. */
  exit?: string | null;
  /** The last lines of its output. */
  lastLines: string[];
  /** Number of times it was restarted. */
  restarts: number;
}

/** A result of an agent beside its messages, such as a document. */
export interface Artifact {
  /** A later artifact of the same name replaces this one. */
  name?: string | null;
  /** Its content. */
  parts: Part[];
  /** Members of any names. */
  metadata?: Record<string, unknown> | null;
}

/** The query of `cancelRun`. */
export interface CancelRunQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
}

/** The response to a cancellation. */
export interface Cancelled {
  message: string;
}

/** A case as evaluators receive it, and with their metrics as it is stored. */
export interface Case {
  /** The id of the case in its data set or request. */
  testCaseId: string;
  /** The input of the action. */
  input?: unknown;
  /** The output of the action. */
  output?: unknown;
  /** Why the run has no output. Evaluators do not judge such a case. */
  error?: string | null;
  /** The texts that retrievers returned during the run. */
  context?: unknown[] | null;
  /** The expected output. */
  reference?: unknown;
  /** Further results of the run, such as the rendered prompt. */
  custom?: Custom | null;
  /** The traces of the runs. */
  traceIds: string[];
  /** The metrics of the evaluators; `None` before they were called. */
  metrics?: Metric[] | null;
}

/** A case as evaluators receive it, and with their metrics as it is stored. */
export interface CaseInput {
  /** The id of the case in its data set or request. */
  testCaseId?: string;
  /** The input of the action. */
  input?: unknown;
  /** The output of the action. */
  output?: unknown;
  /** Why the run has no output. Evaluators do not judge such a case. */
  error?: string | null;
  /** The texts that retrievers returned during the run. */
  context?: unknown[] | null;
  /** The expected output. */
  reference?: unknown;
  /** Further results of the run, such as the rendered prompt. */
  custom?: Custom | null;
  /** The traces of the runs. */
  traceIds?: string[];
  /** The metrics of the evaluators; `None` before they were called. */
  metrics?: MetricInput[] | null;
}

/** `GET /api/prompts/changes`: an event of the feed. */
export interface ChangeEvent {
  /** What has happened. */
  change: ChangeKind;
  /** The document. Absent for `reload`: the whole list has to be read again. */
  id?: string | null;
  /** The id before a rename. */
  old_id?: string | null;
  /** Whether it is a prompt or a fragment. */
  kind?: DocumentKind | null;
  /** Its current revision. */
  rev?: number | null;
  /** The hash of that revision. */
  hash?: string | null;
}

/** What has happened to a document. */
export type ChangeKind = "created" | "updated" | "renamed" | "deleted" | "labelled" | "reload";

/** A data set or an evaluation that was made, changed or deleted. */
export interface ChangedDocument {
  id: string;
}

/** Traces that are new or have changed. */
export interface ChangedTraces {
  /**
   * The number of traces that have changed. It is at least this number if spans arrived faster than
   * they were counted.
   */
  count: number;
  /**
   * Their summaries, as in the list of traces; empty if too many have changed, then the list has to
   * be read again.
   */
  traces: TraceInfo[];
}

/** Further results of the run on a case. */
export interface Custom {
  /** The request to the model that the prompt was rendered to. */
  renderedPrompt?: unknown;
}

/** Where the cases come from: a data set, or the request itself. */
export interface DataSource {
  datasetId?: string | null;
  data?: CaseInput[] | null;
}

/** A data set with its samples. */
export interface Dataset {
  dataset: DatasetInfo;
  /** The samples as stored JSON. */
  samples: Sample[];
}

/** A change of a data set. Members that are missing stay as they are. */
export interface DatasetChange {
  /**
   * Samples to add. A sample with a known id replaces the old one, or deletes it if it has
   * neither input nor reference.
   */
  data?: SampleInput[] | null;
  /** JSON Schemas of inputs and references. */
  schema?: unknown;
  /** The evaluators that are called if a request names none. */
  metricRefs?: string[] | null;
  /** The action that the data set is for. */
  targetAction?: string | null;
}

/** The description of a data set, without its samples. */
export interface DatasetInfo {
  /** The id of the data set. */
  datasetId: string;
  /** Number of samples. */
  size: number;
  /** JSON Schemas of inputs and references. */
  schema?: unknown;
  /** The kind of action that the data set is for. */
  datasetType: DatasetType;
  /** The action that the data set is for, such as `/flow/greet`. */
  targetAction?: string | null;
  /** The evaluators that are called if a request names none. */
  metricRefs: string[];
  /** 1 at first; each change of the samples adds one. */
  version: number;
  /** When the data set was created (RFC 3339). */
  createTime: string;
  /** When it was changed last (RFC 3339). */
  updateTime: string;
}

/** The data sets of the project. */
export interface DatasetList {
  /** Oldest first. */
  datasets: DatasetInfo[];
  /** Names the entries that cannot be read because the file is damaged. */
  warning?: string | null;
}

/** The kind of action that a data set is for. */
export type DatasetType = "UNKNOWN" | "FLOW" | "MODEL" | "EXECUTABLE_PROMPT";

/** The query of `deleteSession`. */
export interface DeleteSessionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** What a document is. */
export type DocumentKind = "prompt" | "fragment";

/** The response of a route that has no data to return: `{}`. */
export type Done = Record<string, unknown>;

/** An error response. */
export interface Error {
  /** The HTTP status. */
  code: number;
  status: StatusCode;
  /** The reason, and how to correct the request. */
  message: string;
  /** Further data of the error. */
  details?: unknown;
}

/** An evaluation with its results. */
export interface EvalRun {
  /** The part that lists show. */
  key: EvalRunKey;
  /** The cases with their outputs and metrics, in the order of the data set. */
  results: Case[];
}

/** The key of an evaluation: what lists show of it. */
export interface EvalRunKey {
  /** The action that was run; `None` if the cases had their outputs already. */
  actionRef?: string | null;
  /** The data set of the cases; `None` if they were in the request. */
  datasetId?: string | null;
  /** The version of the data set. */
  datasetVersion?: number | null;
  /** The id of the evaluation. */
  evalRunId: string;
  /** When the evaluation began (RFC 3339). */
  createdAt: string;
  /** The configuration of the runs, without secrets. */
  actionConfig?: unknown;
  /** Summaries of the metrics, by evaluator and score. */
  metricSummaries: MetricSummary[];
  /** The descriptions of the evaluators, by their names. */
  metricsMetadata: Record<string, MetricInfo>;
}

/** The verdict of an evaluator on one case. */
export type EvalStatus = "UNKNOWN" | "PASS" | "FAIL";

/** An event of an evaluation: `progress`, then `done` with its key or `error`. */
export type EvaluationEvent = {
  event: "progress";
  data: string;
} | {
  event: "done";
  data: string;
} | {
  event: "error";
  data: string;
};

/** The data of `EvaluationEvent`, parsed, by the name of the event. */
export interface EvaluationEventData {
  progress: Progress;
  done: EvalRunKey;
  error: Failed;
}

/** A list of evaluations. */
export interface EvaluationList {
  /** The evaluations as stored JSON, newest first. */
  evaluations: EvalRunKey[];
  /** Names the entries that cannot be read because the file is damaged. */
  warning?: string | null;
}

/** A request to make an evaluation. */
export interface EvaluationRequest {
  /** Where the cases come from. */
  dataSource: DataSource;
  /** The action to run on each case. Without it the cases have their outputs already. */
  actionRef?: string | null;
  /**
   * The evaluators to call, by key or name. Without it those that the data set names, else
   * all of the runtime.
   */
  evaluators?: string[] | null;
  /** Options of the runs. */
  options?: RunOptions;
  /** The id of the runtime. The default is the current one. */
  runtimeId?: string | null;
}

/** One step of the exchange as it is on the wire. */
export interface ExchangeStep {
  /** `request`, `response` (its head) or `body` (of a response, or one event of a stream). */
  step: string;
  method?: string | null;
  url?: string | null;
  /** The HTTP status of a response. */
  http?: number | null;
  /** Values that may be secrets are replaced. */
  headers?: ([string, string])[] | null;
  /** The text of a body. */
  text?: string | null;
}

/**
 * The starting point of a turn. If the server keeps the sessions, `sessionId` or
 * `snapshotId` names it; otherwise the other members contain the state.
 */
export interface ExecuteInit {
  /** The session. */
  sessionId?: string | null;
  /** An addition: the snapshot. If it is not the latest one, the session forks. */
  snapshotId?: string | null;
  /** The conversation so far. */
  messages?: Message[] | null;
  /** The custom state, or a whole state with `messages`, `custom` or `artifacts`. */
  state?: unknown;
  /** The artifacts that the agent has produced. */
  artifacts?: Artifact[] | null;
}

/** `POST /api/agents/{agent}/execute`: one turn. */
export interface ExecuteRequest {
  /** A message, a text, or an input with `message`, `resume` or `detach`. */
  input: unknown;
  /** The starting point of the turn; a new session if absent. */
  init?: ExecuteInit | null;
  /** Whether the response is a stream of events (SSE). */
  stream?: boolean | null;
  /** Attributes of the trace's root span. */
  telemetryLabels?: Record<string, unknown> | null;
}

/** The response to an [`ExecuteRequest`] that does not stream. */
export interface ExecuteResponse {
  /** The result of the turn. */
  result: ExecuteResult;
  /** The ids of its trace. */
  telemetry: Telemetry;
}

/** The result of a turn; also the event `done`. */
export interface ExecuteResult {
  /** The session; absent if the turn failed before there was one. */
  sessionId?: string | null;
  /**
   * The conversation. This and the next two are absent if the snapshot could not
   * be read although the turn ended.
   */
  messages?: Message[] | null;
  /** The custom state. */
  state?: unknown;
  /** The artifacts that the agent has produced. */
  artifacts?: Artifact[] | null;
  /** An addition: the last snapshot that completed, if the server keeps the sessions. */
  snapshotId?: string | null;
  /** An addition: why the turn ended. */
  finishReason?: AgentFinishReason | null;
  /** An addition: only the last message of the model. */
  message?: Message | null;
  /** An addition: why the turn failed. */
  error?: RuntimeError | null;
}

/** The query of `executeTurn`. */
export interface ExecuteTurnQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** The query of `exportSession`. */
export interface ExportSessionQuery {
  /** The id of the session. */
  session: string;
}

/** The query of `extractCases`. */
export interface ExtractCasesQuery {
  /** Traces of this flow. */
  flow: string;
  /** Only traces of a batch run with this label. */
  label?: string;
  /** Maximum number of entries. The default is 100. */
  limit?: number;
}

/** The cases that were found, newest first. */
export interface Extracted {
  cases: Case[];
  /** Number of traces that were skipped because their input is missing or was cut. */
  skipped: number;
}

/** An error in an event, which has no HTTP status. */
export interface Failed {
  status: StatusCode;
  message: string;
  /** Further data of the error. */
  details?: unknown;
}

/**
 * An event of the feed. First `hello`, `runtimes` and `app` with the present state, then whatever
 * changes. All have an id; a reader that sends the last one gets what it has missed, or `lagged`.
 */
export type FeedEvent = {
  event: "hello";
  data: string;
} | {
  event: "runtimes";
  data: string;
} | {
  event: "app";
  data: string;
} | {
  event: "traces";
  data: string;
} | {
  event: "datasets";
  data: string;
} | {
  event: "evaluations";
  data: string;
} | {
  event: "prompts";
  data: string;
} | {
  event: "lagged";
  data: string;
};

/** The data of `FeedEvent`, parsed, by the name of the event. */
export interface FeedEventData {
  hello: Hello;
  runtimes: RuntimeList;
  app: AppStatus | null;
  traces: ChangedTraces;
  datasets: ChangedDocument;
  evaluations: ChangedDocument;
  prompts: ChangeEvent;
  lagged: Lagged;
}

/**
 * The finding of one check, and how to fix it.
 *
 * ```
 * use oxikit_devtools::{Finding, Verdict};
 *
 * let finding = Finding::bad("tools", "no developer tools run", "start them: oxikit start");
 * assert_eq!(finding.verdict, Verdict::Bad);
 * ```
 */
export interface Finding {
  /** What was checked, such as `runtimes`. */
  check: string;
  /** The result. */
  verdict: Verdict;
  /** What was found. */
  detail: string;
  /** What to do, unless the result is good. */
  fix?: string | null;
}

/** What the checks have found. */
export interface Findings {
  findings: Finding[];
}

/** The body of a fork. It may be empty. */
export interface ForkBody {
  /** The snapshot that the new session begins with. The default is the latest one. */
  snapshotId?: string | null;
}

/** The query of `forkSession`. */
export interface ForkSessionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** An agent card, and what is wrong with it. */
export interface FoundAgent {
  /** The URL of the card. */
  url: string;
  /** The card as the server sent it. */
  card: Record<string, unknown>;
  /** The name of the agent. */
  name: string;
  /** The addresses of the agent, of both versions of cards. */
  interfaces: Interface[];
  /** The address that is called; missing if none of them can be. */
  chosen?: Interface | null;
  /** Why no address can be called. */
  unusable?: string | null;
  /** Faults that clients may fail on. */
  problems: string[];
}

/** A task. */
export interface FoundTask {
  /** The task in the JSON of A2A 1.0. */
  task: Record<string, unknown>;
}

/** A chunk of a streamed response. */
export interface GenerateResponseChunk {
  /** The role of the message that the chunk belongs to. */
  role?: Role | null;
  /** Index of the message in the stream, from 0; a tool message has an index of its own. */
  index?: number | null;
  /** The parts that are new since the last chunk, unless `aggregated` is set. */
  content: Part[];
  /** A value of any form that only this provider sends. */
  custom?: unknown;
  /** Whether `content` is the whole message so far and not only its new parts. */
  aggregated?: boolean | null;
}

/** The query of `getAction`. */
export interface GetActionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
}

/** The query of `getAgent`. */
export interface GetAgentQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** The query of `getSession`. */
export interface GetSessionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** The query of `getSnapshot`. */
export interface GetSnapshotQuery {
  /** The id of the snapshot. */
  snapshotId?: string;
  /** The session whose latest snapshot is read. */
  sessionId?: string;
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** The server that sends the feed. */
export interface Hello {
  /** Another one after each start of the server. */
  start: string;
}

/** A failure, where there is no HTTP status. */
export interface HttpError {
  status: StatusCode;
  message: string;
  /** More about it. */
  details?: unknown;
}

/** The result of an import. */
export interface Imported {
  /** Number of imported data sets. */
  datasets: number;
  /** Number of imported evaluations. */
  evaluations: number;
  /** Files that were not imported. */
  skipped: SkippedFile[];
}

export interface ImportedTraces {
  imported: number;
  skipped: SkippedTraceFile[];
}

/** Information about the tools. */
export interface Info {
  /** The version of the tools. */
  version: string;
  /** The id of their process. */
  pid: number;
  /** The name of the project's folder. */
  project: string | null;
  /** The project's folder. */
  root: string;
  /** The names of the environment's variables. */
  environment: string[];
}

/** The library that recorded a span or a log line. */
export interface InstrumentationLibrary {
  /** Its name. */
  name: string;
  /** Its version. */
  version?: string | null;
  /** The schema of its attributes. */
  schemaUrl?: string | null;
}

/** An address of an agent. */
export interface Interface {
  /** Such as `JSONRPC`. */
  binding: string;
  /** Such as `1.0`. */
  version: string;
  url: string;
}

/** Events are missing here: all lists have to be read again. */
export type Lagged = Record<string, unknown>;

/** The query of `listActions`. */
export interface ListActionsQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
}

/** The query of `listAgents`. */
export interface ListAgentsQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
}

/** The query of `listEvaluations`. */
export interface ListEvaluationsQuery {
  /** Evaluations of this action, such as `/flow/greet`. */
  action?: string;
  /** Evaluations of this data set. */
  dataset?: string;
  /** Maximum number of entries. The default is 100. */
  limit?: number;
}

/** The query of `listLogs`. */
export interface ListLogsQuery {
  /** Lines of this trace. */
  traceId?: string;
  /** Lines of this span. */
  spanId?: string;
  /** The lowest severity number: 9 is info, 13 a warning, 17 an error. */
  minSeverity?: number;
  /** The severity as text, such as `INFO`. */
  severity?: string;
  /** Maximum number of lines, up to 1000. The default is 100. */
  limit?: number;
  /** The `continuationToken` of the previous page. */
  continuationToken?: string;
}

/** The query of `listSessions`. */
export interface ListSessionsQuery {
  /** Maximum number of entries. The default is 50. */
  limit?: number;
  /** The `continuationToken` of the previous page. */
  continuationToken?: string;
  /** Only active sessions, or only completed ones. */
  status?: SessionActivity;
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** The context of the run, such as the identity of the user: a JSON object as text. */
  context?: string;
}

/** The query of `listTraces`. */
export interface ListTracesQuery {
  /** The name of the root span. */
  name?: string;
  /** The type of the root span, such as `flow`. */
  type?: string;
  status?: TraceStatus;
  /** Traces that began at this time or later, in milliseconds since 1970. */
  from?: number;
  /** Traces that began before this time, in milliseconds since 1970. */
  to?: number;
  /** In milliseconds. */
  minDuration?: number;
  /** In milliseconds. */
  maxDuration?: number;
  /** Words that occur in one span; `word*` matches the beginning of a word. */
  text?: string;
  /** An attribute as `name=value`. It may be repeated; a trace must have all of them. */
  attribute?: string[];
  /** Traces of this session. */
  session?: string;
  /** Traces of this runtime: its id, or the name of its application. */
  runtime?: string;
  /** Maximum number of traces, up to 1000. The default is 20. */
  limit?: number;
  /** The `continuationToken` of the previous page. */
  continuationToken?: string;
}

/** The query of `listValues`. */
export interface ListValuesQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
}

/** Log lines. */
export interface LogList {
  /** Newest first. */
  logs: LogRecord[];
  continuationToken?: string | null;
}

/** A log line of a runtime, as the developer tools list it. */
export interface LogRecord {
  /** Id of the line. The receiving server sets it, because OTLP has none. */
  logId: string;
  /** The trace it was written in. */
  traceId?: string | null;
  /** The span it was written in. */
  spanId?: string | null;
  /** Time of the line, in milliseconds since 1970. */
  timestamp: number;
  /** Severity in the numbers of OpenTelemetry: 5 debug, 9 info, 13 warning, 17 error. */
  severityNumber: number;
  /** Name of the severity, such as `INFO`. */
  severityText: string;
  /** The message: a string, or any JSON value of a structured line. */
  body: unknown;
  /** Further members of the line, such as its fields. */
  attributes: Record<string, unknown>;
  /** The library that wrote the line. */
  instrumentationLibrary: InstrumentationLibrary;
}

/** A file by its `data:` or `https:` URL. */
export interface Media {
  /** Location of the content, or the content itself as a `data:` URL. */
  url: string;
  /** The media type, such as `image/png`. */
  contentType?: string | null;
}

/** One message of a conversation. */
export interface Message {
  /** The role of its author. */
  role: Role;
  /** The parts of the message, in order. */
  content: Part[];
  /** Members of any names, such as `resumed` of a tool message. */
  metadata?: Record<string, unknown> | null;
}

/** One score that an evaluator has given to a case, or why it has given none. */
export interface Metric {
  /** The key of the evaluator, such as `/evaluator/politeness`. */
  evaluator: string;
  /** The id of the score, if the evaluator gives several. */
  scoreId?: string | null;
  /** The score. */
  score?: ScoreValue | null;
  /** Whether the case has passed. */
  status?: EvalStatus | null;
  /** The evaluator's reasons. */
  rationale?: string | null;
  /** Why there is no score. */
  error?: string | null;
  /** The trace of the evaluator's run. */
  traceId?: string | null;
  /** The span of this case in that trace. */
  spanId?: string | null;
}

/** The description of an evaluator. */
export interface MetricInfo {
  /** The name that people read. */
  displayName: string;
  /** A description of the measured property. */
  definition: string;
}

/** One score that an evaluator has given to a case, or why it has given none. */
export interface MetricInput {
  /** The key of the evaluator, such as `/evaluator/politeness`. */
  evaluator?: string;
  /** The id of the score, if the evaluator gives several. */
  scoreId?: string | null;
  /** The score. */
  score?: ScoreValue | null;
  /** Whether the case has passed. */
  status?: EvalStatus | null;
  /** The evaluator's reasons. */
  rationale?: string | null;
  /** Why there is no score. */
  error?: string | null;
  /** The trace of the evaluator's run. */
  traceId?: string | null;
  /** The span of this case in that trace. */
  spanId?: string | null;
}

/** The summary of one score of an evaluator over all cases. */
export interface MetricSummary {
  /** The key of the evaluator, followed by the id of the score if there are several. */
  evaluator: string;
  /** Number of cases that were judged. */
  testCaseCount: number;
  /** Number of cases that the evaluator could not judge. */
  errorCount: number;
  /** Number of metrics without a score. */
  scoreUndefinedCount: number;
  /** Number of metrics by `PASS`, `FAIL`, `UNKNOWN` and, without a status, `undefined`. */
  statusDistribution: Record<string, number>;
  /** The mean, if the scores are numbers. */
  averageScore?: number | null;
  /** Number of metrics by score, if the scores are texts or booleans. */
  scoreDistribution?: Record<string, number> | null;
}

/** A new code. */
export interface NewCode {
  /** The URL to open in a browser, `http://127.0.0.1:4000/#code=…`. */
  url: string;
  /** Seconds in which it must be opened. It works once. */
  expiresIn: number;
}

/** A request to create a data set. */
export interface NewDataset {
  /** The samples. */
  data: SampleInput[];
  /** The id of the data set. Without one a random id is assigned. */
  datasetId?: string | null;
  /** The kind of action that the data set is for. */
  datasetType?: DatasetType;
  /** JSON Schemas of inputs and references. */
  schema?: unknown;
  /** The evaluators that are called if a request names none. */
  metricRefs?: string[];
  /** The action that the data set is for, such as `/flow/greet`. */
  targetAction?: string | null;
}

/**
 * The body of a route that needs none: empty, or an object without members. Its media type
 * still has to be JSON.
 */
export type Nothing = Record<string, unknown>;

/** Sessions that occur in traces, those with the newest trace first. */
export interface ObservedList {
  sessions: ObservedSession[];
  continuationToken?: string | null;
  /**
   * Always `traces`: sessions without a stored trace are missing, and listed ones may have
   * been deleted.
   */
  source: string;
}

/** A session as in the list of a runtime, without the members that only its store knows. */
export interface ObservedSession {
  sessionId: string;
  agentName: string;
  createdAt: number;
  updatedAt: number;
  status: SessionActivity;
  /** Number of traces of the session. */
  turns: number;
  metadata: Record<string, unknown>;
}

/** A part as it is on the wire: an object of which one content member is set. */
export interface Part {
  text?: string | null;
  media?: Media | null;
  toolRequest?: ToolRequest | null;
  toolResponse?: ToolResponse | null;
  data?: unknown;
  custom?: Record<string, unknown> | null;
  reasoning?: string | null;
  resource?: ResourceRef | null;
  metadata?: Record<string, unknown> | null;
}

/** The operations of RFC 6902. */
export type PatchKind = "add" | "remove" | "replace" | "move" | "copy" | "test";

/** One change of a JSON document. */
export interface PatchOperation {
  /** The operation. */
  op: PatchKind;
  /** Location of the change, as a JSON Pointer; the empty pointer is the whole document. */
  path: string;
  /** Source of a move or a copy, as a JSON Pointer; absent for other operations. */
  from?: string | null;
  /** The value to add, to replace with or to compare; `null` is a value. */
  value?: unknown;
}

/** One step of a running evaluation. */
export type Progress = {
  type: "started";
  /** The id of the evaluation. */
  evalRunId: string;
  /** Number of cases. */
  cases: number;
  /** The keys of the evaluators. */
  evaluators: string[];
} | {
  type: "case";
  /** Number of cases that were run so far. */
  done: number;
  /** The id of the case. */
  testCaseId: string;
  /** Why the run has failed. */
  error?: string | null;
} | {
  type: "evaluator";
  /** Number of evaluators that have finished so far. */
  done: number;
  /** The key of the evaluator. */
  evaluator: string;
  /** Number of cases that it could not judge. */
  errors: number;
};

/** A version of the protocol. */
export type ProtocolVersion = "1.0" | "0.3";

/** A resource named by its URI. */
export interface ResourceRef {
  /** The URI that a resource action answers to. */
  uri: string;
}

/** The role of the author of a message. */
export type Role = "system" | "user" | "model" | "tool";

/** The query of `runAction`. */
export interface RunActionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
}

/** The result of a run. */
export interface RunDone {
  /** The output; missing if the action has none. */
  result?: unknown;
  telemetry?: RunTrace | null;
}

/**
 * The end of a run. It may be an error although the HTTP status is 200: the headers are sent
 * before the run has ended.
 */
export type RunEnd = RunFailed | RunDone;

/** The error of a runtime. */
export interface RunError {
  /** The numeric code of the status. */
  code: number;
  status: StatusCode;
  message: string | null;
  details: RunErrorDetails | null;
}

/** Details of an error. */
export interface RunErrorDetails {
  /** The causes, or the stack trace in languages that have one. */
  stack?: string | null;
  traceId?: string | null;
}

/**
 * An event of a run: `state` if the run has a trace, chunks, then `done` or `error`. All
 * but the first have their number as `id`.
 */
export type RunEvent = {
  event: "state";
  data: string;
} | {
  event: "chunk";
  data: string;
} | {
  event: "done";
  data: string;
} | {
  event: "error";
  data: string;
};

/** The data of `RunEvent`, parsed, by the name of the event. */
export interface RunEventData {
  state: RunTrace;
  chunk: unknown;
  done: RunDone;
  error: RunError;
}

/** Why a run has failed. */
export interface RunFailed {
  error: RunError;
}

/** Options of the runs of an evaluation. */
export interface RunOptions {
  /** The context of the runs: an object, or its JSON in a text. */
  context?: unknown;
  /** The configuration of the model. For a prompt it may name another `model`. */
  actionConfig?: unknown;
  /** Number of cases that are run at the same time. */
  batchSize?: number | null;
  /** Maximum time of a run in seconds. A longer run is cancelled, and its case has an error. */
  timeout?: number | null;
}

/** The parameters of a run. */
export interface RunRequest {
  /** The action, such as `/flow/greet`. */
  key: string;
  /** The input of the action. `null` differs from a missing input. */
  input?: unknown;
  /** The initial data of a bidirectional action. */
  init?: unknown;
  /** The context of the run, such as the identity of the user. */
  context?: Record<string, unknown> | null;
  /** Attributes of the root span. */
  telemetryLabels?: Record<string, unknown> | null;
  /** The id of the runtime. The query may name it instead. */
  runtimeId?: string | null;
}

/** The trace of a run. */
export interface RunTrace {
  traceId: string;
}

/** Why a turn failed. */
export interface RuntimeError {
  /** The name of a status code, such as `NOT_FOUND`. */
  status?: string | null;
  /** Description of the failure. */
  message: string;
  /** Details of the failure, of any form. */
  details?: unknown;
}

/** A runtime as the tools show it. */
export interface RuntimeInfo {
  /** The id with which the runtime registered. */
  id: string;
  /** The id of its process. */
  pid: number;
  /** The name of the application. */
  name?: string | null;
  /** Language and version, such as `nodejs/1.20.0`. */
  genkitVersion?: string | null;
  /** The version of the reflection protocol. */
  reflectionApiSpecVersion?: number | null;
  /** The URL over which it is reached, without the token. */
  reflectionServerUrl: string;
  /** When it registered or was started, as an RFC 3339 timestamp. */
  timestamp: string;
  /** The name of the project folder. */
  projectName?: string | null;
  /** The environments that it is configured for; `None` if it was found by its file. */
  envs?: string[] | null;
  /** Whether it does not react to requests: it is stopped, blocked or busy. */
  isSilent?: boolean;
}

/** The runtimes. */
export interface RuntimeList {
  /** Oldest first. */
  runtimes: RuntimeInfo[];
  /** The id of the runtime that is called if a request names none. */
  current: string | null;
}

/** An event of the stream of lists. */
export interface RuntimesEvent {
  event: "runtimes";
  data: string;
}

/** The data of `RuntimesEvent`, parsed, by the name of the event. */
export interface RuntimesEventData {
  runtimes: RuntimeList;
}

/** Tells whether the parent span ran in the same process. */
export interface SameProcess {
  /** `true` if both spans were recorded by one process. */
  value: boolean;
}

/** A case of a data set. */
export interface Sample {
  /** The id of the case. Without one a random id is assigned. */
  testCaseId: string;
  /** The input of the action. */
  input?: unknown;
  /** The expected output, for evaluators that compare with it. */
  reference?: unknown;
}

/** A case of a data set. */
export interface SampleInput {
  /** The id of the case. Without one a random id is assigned. */
  testCaseId?: string;
  /** The input of the action. */
  input?: unknown;
  /** The expected output, for evaluators that compare with it. */
  reference?: unknown;
}

/** The value of a score: a number, a text or a boolean. */
export type ScoreValue = boolean | number | string;

/** `POST …/sessions/{session}/abort`: the turns that were asked to stop. */
export interface SessionAborted {
  /** The session. */
  sessionId: string;
  /** The pending snapshot, or else the latest one. */
  snapshotId: string;
  /** Its status before the request. */
  status?: SnapshotStatus | null;
  /** All snapshots whose turns were aborted. */
  aborted: string[];
}

/** Activity of a session. */
export type SessionActivity = "active" | "completed";

/** `DELETE …/sessions/{session}`: the session was deleted. */
export interface SessionDeleted {
  /** Always true. */
  success: boolean;
  /** The session. */
  sessionId: string;
}

/** `GET /api/agents/{agent}/sessions/{session}`: a session with its content. */
export interface SessionDetails {
  /** The session. */
  sessionId: string;
  /** The agent it belongs to. */
  agentName: string;
  /** When its first snapshot was written. */
  createdAt: number;
  /** When its latest snapshot was written. */
  updatedAt: number;
  /** Whether a turn runs or waits for a response. */
  status: SessionActivity;
  /**
   * Members of the custom state, and `artifacts`. A custom state that is not an
   * object, or has its own member `artifacts`, is in the member `custom`.
   */
  state: Record<string, unknown>;
  /** The conversation, under `main`. */
  threads: Record<string, Message[]>;
  /** Members of any names about the session. */
  metadata: Record<string, unknown>;
  /** An addition: the latest snapshot. */
  snapshotId: string;
  /** An addition: the latest snapshot's status. */
  snapshotStatus?: SnapshotStatus | null;
  /** An addition: why the latest turn ended. */
  finishReason?: AgentFinishReason | null;
  /** An addition: why the latest turn failed. */
  error?: RuntimeError | null;
  /** An addition: all snapshots, in the order they were written. */
  snapshots: SnapshotInfo[];
}

/** The traces of a session, without values that look like secrets. */
export interface SessionExport {
  sessionId: string;
  /** Oldest first. */
  traces: TraceData[];
}

/**
 * `POST …/sessions/{session}/fork`, an addition: a new session with the state of a snapshot
 * of another one.
 */
export interface SessionForked {
  /** The new session. */
  sessionId: string;
  /** Its only snapshot, with the same state as `parentSnapshotId`. */
  snapshotId: string;
  /** The session that it was made from. */
  parentSessionId: string;
  /** The snapshot that it was made from. */
  parentSnapshotId: string;
}

/** A session in a list. */
export interface SessionInfo {
  /** The session. */
  sessionId: string;
  /** The agent it belongs to. */
  agentName: string;
  /** When its first snapshot was written. */
  createdAt: number;
  /** When its latest snapshot was written. */
  updatedAt: number;
  /** Whether a turn runs or waits for a response. */
  status: SessionActivity;
  /** Number of messages. */
  messageCount: number;
  /** Whether it has artifacts. */
  hasArtifacts: boolean;
  /** Members of any names about the session. oxikit adds `snapshotId` and `snapshotCount`. */
  metadata: Record<string, unknown>;
  /** An addition: the latest snapshot's status. */
  snapshotStatus?: SnapshotStatus | null;
  /** An addition: why the latest turn ended. */
  finishReason?: AgentFinishReason | null;
}

/** `GET /api/agents/{agent}/sessions`: a page of sessions, those written last first. */
export interface SessionList {
  /** The sessions. */
  sessions: SessionInfo[];
  /** Token that a request for the next page sends; absent on the last page. */
  continuationToken?: string | null;
}

/** Sessions of the runtime's store, or else of the stored traces. */
export type SessionPage = SessionList | ObservedList;

/**
 * The state of a session at the end of a turn, or while a detached one runs.
 *
 * Snapshots of one session form a tree by `parentId`, normally a chain. Times
 * are RFC 3339 in UTC with milliseconds, such as `2026-11-15T06:32:35.495Z`.
 */
export interface SessionSnapshot {
  /** Id of the snapshot. */
  snapshotId: string;
  /** The session it belongs to. */
  sessionId?: string | null;
  /** The snapshot that the turn continued from. */
  parentId?: string | null;
  /** When it was first written. */
  createdAt: string;
  /** When it was last written. */
  updatedAt?: string | null;
  /** Last sign of life of the detached turn behind a pending snapshot. */
  heartbeatAt?: string | null;
  /** Progress of the turn. */
  status?: SnapshotStatus | null;
  /** Why the turn ended. */
  finishReason?: AgentFinishReason | null;
  /** Why the turn failed. */
  error?: RuntimeError | null;
  /** The state itself. */
  state?: SessionState | null;
}

/**
 * The state of a session. Messages, custom state and artifacts are shared between a session,
 * its snapshots and model requests, and never copied.
 *
 * An absent list is not the same as an empty one: a client that manages its own state
 * gets back no member that it did not send.
 */
export interface SessionState {
  /** The session it belongs to. */
  sessionId?: string | null;
  /** The conversation so far. */
  messages?: Message[] | null;
  /** The application's own state. */
  custom?: unknown;
  /** The artifacts that the agent has produced. */
  artifacts?: Artifact[] | null;
}

/** The code of a URL that the tools have printed. */
export interface SignInRequest {
  /** The text after `#code=`. */
  code: string;
}

/** An entry of a list that could not be parsed. */
export interface SkippedAction {
  /** The key of the entry. */
  key: string;
  /** Why it could not be parsed. */
  reason: string;
}

export interface SkippedFile {
  file: string;
  reason: string;
}

export interface SkippedTraceFile {
  file: string;
  reason: string;
}

/** A snapshot without its content. */
export interface SnapshotInfo {
  /** The snapshot. */
  snapshotId: string;
  /** The snapshot that its turn continued from; absent for the first of a session. */
  parentId?: string | null;
  /** Progress of its turn. */
  status?: SnapshotStatus | null;
  /** Why its turn ended. */
  finishReason?: AgentFinishReason | null;
  /** When it was first written. */
  createdAt: number;
  /** Number of messages. */
  messageCount: number;
  /** Snapshots whose turns continued from this one; several mean that the session forked. */
  children: string[];
}

/** Progress of the turn that a snapshot belongs to. */
export type SnapshotStatus = "pending" | "completed" | "aborted" | "failed" | "expired";

/** A span of a [`TraceData`]. */
export interface SpanData {
  /** 16 hexadecimal digits. */
  spanId: string;
  /** The trace it belongs to. */
  traceId: string;
  /** The parent span; absent for a root. The official server rejects `null` here. */
  parentSpanId?: string | null;
  /** When it began, in milliseconds since 1970. */
  startTime: number;
  /** When it ended; 0 while it runs. */
  endTime: number;
  /** Genkit's attributes and the labels of the run. */
  attributes: Record<string, unknown>;
  /** The name shown to people. */
  displayName: string;
  /** Links to other spans. */
  links: unknown[];
  /** The library that recorded the span. */
  instrumentationLibrary: InstrumentationLibrary;
  /** The span kind of OpenTelemetry; spans of actions have `INTERNAL`. */
  spanKind: string;
  /** Whether the parent ran in the same process. */
  sameProcessAsParentSpan?: SameProcess | null;
  /** Success or failure; absent while the span runs. */
  status?: SpanStatusData | null;
  /** Events while the span ran, such as an exception. */
  timeEvents?: TimeEvents | null;
}

/** A span, and the tokens that it has used. */
export interface SpanInfo {
  spanId: string;
  usage?: TokenUsage | null;
  /** The span as the runtime has sent it. */
  span: SpanData;
}

/** The status of a span that has ended. */
export interface SpanStatusData {
  /** 0 (unset) and 1 (ok) mean success, [`STATUS_ERROR`] means failure. */
  code: number;
  /** Description of the failure; absent after success. */
  message?: string | null;
}

/** The result of a call, in the codes that Genkit shares with gRPC. */
export type StatusCode = "OK" | "CANCELLED" | "UNKNOWN" | "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "NOT_FOUND" | "ALREADY_EXISTS" | "PERMISSION_DENIED" | "RESOURCE_EXHAUSTED" | "FAILED_PRECONDITION" | "ABORTED" | "OUT_OF_RANGE" | "UNIMPLEMENTED" | "INTERNAL" | "UNAVAILABLE" | "DATA_LOSS" | "UNAUTHENTICATED";

/** The query of `streamAction`. */
export interface StreamActionQuery {
  /** The id of a runtime. The default is the current one. */
  runtime?: string;
  /** Whether the client sends inputs during the run. */
  bidi?: boolean;
}

/** The ids of the trace of a turn; also the event `telemetry`. */
export interface Telemetry {
  /** The trace. */
  traceId: string;
  /** The turn's span in it. */
  spanId: string;
}

/** One event of a span. */
export interface TimeEvent {
  /** Time of the event, in milliseconds since 1970. */
  time: number;
  /** Kind and attributes of the event. */
  annotation: Annotation;
}

/** Events of a span. */
export interface TimeEvents {
  /** The events in the order in which they happened. */
  timeEvent: TimeEvent[];
}

/** Numbers of tokens, and their cost if the runtime or a configured price gives it. */
export interface TokenUsage {
  /** Tokens of the requests. */
  inputTokens: number;
  /** Tokens of the responses. */
  outputTokens: number;
  /** All tokens. */
  totalTokens: number;
  cost?: number | null;
}

/** A request of the model to run a tool. */
export interface ToolRequest {
  /** The tool's name as the model knows it. */
  name: string;
  /** Distinguishes several requests of one turn; the response repeats it. */
  ref?: string | null;
  /** The arguments. */
  input?: unknown;
  /** Whether this is a streamed fragment and not yet the whole request. */
  partial?: boolean | null;
}

/** The response of a tool to a [`ToolRequest`]. */
export interface ToolResponse {
  /** The tool's name, as in the request. */
  name: string;
  /** The request's `ref`. */
  ref?: string | null;
  /** The result; absent when the tool returned nothing. */
  output?: unknown;
  /** Further parts, such as pictures, for models that can take them. */
  content?: unknown[] | null;
}

/** A trace, or a part of one. */
export interface TraceData {
  /** 32 hexadecimal digits. */
  traceId: string;
  /** The name of the root span; only where that is among the spans. */
  displayName?: string | null;
  /** When the root began, in milliseconds since 1970. */
  startTime?: number | null;
  /** When the root ended; 0 while it runs. */
  endTime?: number | null;
  /** The spans by their ids. */
  spans: Record<string, SpanData>;
}

/** One event of a stream of spans. */
export interface TraceFeedEvent {
  data: string;
}

export interface TraceImportRequest {
  /** A folder of the official tools below the project. */
  path?: string;
}

/** The summary of a trace as the API sends it: a row of `GET /traces`. */
export interface TraceInfo {
  traceId: string;
  name: string;
  type?: string | null;
  status: TraceStatus;
  startTime: number;
  endTime?: number | null;
  duration?: number | null;
  sessionId?: string | null;
  rootSpanId: string;
  spans: number;
  droppedSpans: number;
  usage: TokenUsage;
  /** The beginning of the input of the root span, as JSON text. */
  input?: string | null;
  /** The beginning of the message with which the root span has failed. */
  error?: string | null;
}

/** A page of a list. */
export interface TraceList {
  traces: TraceInfo[];
  continuationToken?: string | null;
  /** The number of all stored traces, whatever the filter; only on the first page. */
  total?: number | null;
  /** Names the traces that cannot be read because the file is damaged. */
  warning?: string | null;
}

/** The content of an event. */
export type TraceNews = {
  type: "trace";
  trace: TraceData;
} | {
  type: "span_start";
  traceId: string;
  span: SpanData;
} | {
  type: "span_end";
  traceId: string;
  span: SpanData;
} | {
  type: "lagged";
  missed: number;
} | {
  type: "end";
};

/** The state of a trace, by its root span. */
export type TraceStatus = "running" | "success" | "error";

/** Something that the agent has made. */
export interface TurnArtifact {
  sessionId: string;
  artifact: Artifact;
}

/** A piece of a model's answer. */
export interface TurnChunk {
  sessionId: string;
  chunk: GenerateResponseChunk;
}

/** The end of a turn. */
export interface TurnEnd {
  /** The snapshot of the turn, if the server keeps the state. */
  snapshotId?: string | null;
  /** Why it ended. */
  finishReason?: AgentFinishReason | null;
}

/** The agent has ended one of its turns. */
export interface TurnEnded {
  sessionId: string;
  turnEnd: TurnEnd;
}

/** Why nothing came of a turn. */
export interface TurnError {
  error: HttpError;
}

/**
 * An event of a turn: `chunk`, `stateUpdate`, `artifact` and `turnEnd` in any number,
 * then `done` or `error`, then `telemetry`. Every event has an `id`.
 */
export type TurnEvent = {
  event: "chunk";
  data: string;
} | {
  event: "stateUpdate";
  data: string;
} | {
  event: "artifact";
  data: string;
} | {
  event: "turnEnd";
  data: string;
} | {
  event: "done";
  data: string;
} | {
  event: "error";
  data: string;
} | {
  event: "telemetry";
  data: string;
};

/** The data of `TurnEvent`, parsed, by the name of the event. */
export interface TurnEventData {
  chunk: TurnChunk;
  stateUpdate: TurnState;
  artifact: TurnArtifact;
  turnEnd: TurnEnded;
  done: ExecuteResult;
  error: TurnError;
  telemetry: Telemetry;
}

/** The custom state has changed. */
export interface TurnState {
  sessionId: string;
  /** The state as it is now. */
  stateUpdate: unknown;
  /** Makes the state before that of now. */
  patch: PatchOperation[];
}

/** A request to validate inputs against the schema of an action. */
export interface ValidateRequest {
  /** Where the cases come from. */
  dataSource: DataSource;
  /** The action, such as `/flow/greet`. */
  actionRef: string;
  /** The id of the runtime that has the action. The default is the current one. */
  runtimeId?: string | null;
}

/**
 * Whether all inputs match the schema, and the errors of those that do not: by the id of the
 * case for a data set, by the index for cases of the request.
 */
export interface Validity {
  valid: boolean;
  errors?: Record<string, unknown>;
}

/** The result of a check. */
export type Verdict = "good" | "suspicious" | "bad";

/** The query of `watchChanges`. */
export interface WatchChangesQuery {
  /** Ends the stream after this number of seconds. */
  seconds?: number;
  /** The id of the last event that was received. The header `Last-Event-ID` has the same meaning. */
  lastEventId?: string;
}

/** The query of `watchRuntimes`. */
export interface WatchRuntimesQuery {
  /**
   * Ends the stream after this number of seconds. Without it the stream ends when the reader
   * disconnects or the tools shut down.
   */
  seconds?: number;
}

/** The query of `watchTrace`. */
export interface WatchTraceQuery {
  /**
   * Ends the stream after this number of seconds. Without it the stream ends when the reader
   * disconnects or the tools shut down.
   */
  seconds?: number;
}

/** The query of `watchTraces`. */
export interface WatchTracesQuery {
  /**
   * Ends the stream after this number of seconds. Without it the stream ends when the reader
   * disconnects or the tools shut down.
   */
  seconds?: number;
}

/** A trace with its spans. */
export interface WholeTrace {
  trace: TraceInfo;
  spans: SpanInfo[];
}
