// Made by `cargo xtask web --types` from the OpenAPI document of the prompt manager.

/** A request for revisions, newest first. */
export interface AskHistory {
  /** Maximum number of revisions. */
  limit?: number | null;
  /** Only revisions with a smaller number. */
  before?: number | null;
  /** A text that the answer repeats. */
  op?: string | null;
}

/** A request to make an old revision the newest one. */
export interface AskRestore {
  /** The revision. */
  rev: number;
  /** See [`SubmitUpdate::op`]. */
  op?: string | null;
  /** See [`SubmitUpdate::author`]. */
  author?: string | null;
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

/** An event of the stream. */
export interface ChangesEvent {
  event: "change";
  data: string;
}

/** The data of `ChangesEvent`, parsed, by the name of the event. */
export interface ChangesEventData {
  change: ChangeEvent;
}

/**
 * A message of a client.
 *
 * `update`, `update_metadata` and `expand` are the plain protocol; the others are additions. A
 * client sends `hello` before it uses them.
 */
export type ClientMessage = SubmitUpdate | SubmitMetadata | ExpandText | Hello | SubmitPatch | SetPresence | AskHistory | AskRestore;

/** The query of `compareRevisionsById`. */
export interface CompareRevisionsByIdQuery {
  /** The document. */
  id: string;
  /** The older revision, by number or label. Default: the one before `to`. */
  from?: string;
  /** The newer revision, by number or label. Default: the newest. */
  to?: string;
}

/** The query of `compareRevisions`. */
export interface CompareRevisionsQuery {
  /** The older revision, by number or label. Default: the one before `to`. */
  from?: string;
  /** The newer revision, by number or label. Default: the newest. */
  to?: string;
}

/** `POST /api/prompts/filesystem/complete_path`: the beginning of a path. */
export interface CompletePath {
  /** The beginning. */
  partial_path: string;
}

/** The response to [`CompletePath`]. */
export interface Completion {
  /** The longest path that all suggestions begin with. */
  completed_path: string;
  /** The folders that begin so. */
  suggestions: string[];
  /** Whether the completed path is a folder. */
  is_directory: boolean;
}

/** A text that two edits have changed in different ways. */
export interface Conflict {
  /** The text before both edits. */
  base: string;
  /** The text of the earlier edit. */
  stored: string;
  /** The text of the later edit. */
  incoming: string;
}

/** The query of `deleteDocument`. */
export interface DeleteDocumentQuery {
  /** The document. */
  id: string;
}

/** A document that another one names by `[[name]]`. */
export interface Dependency {
  /** The id, or the name if there is no such document. */
  id: string;
  /** Whether there is no such document. */
  is_missing: boolean;
}

/** An included document has changed. */
export interface DependencyChanged {
  /** The included document. */
  id: string;
  /** Its current revision. */
  rev: number;
}

/** A line of a comparison. */
export interface DiffLine {
  /** In which of the two texts it is. */
  op: DiffOp;
  /** The text, with its line end. */
  text: string;
  /** Start and end of the changed words in the line, in UTF-16 units. */
  words?: ([number, number])[];
}

/** In which of two texts a line is. */
export type DiffOp = "same" | "insert" | "delete";

/** `PUT /api/prompts/directories/{path}`: a change. Absent members change nothing. */
export interface DirectoryChange {
  /** The name. */
  name?: string | null;
  /** The description. */
  description?: string | null;
  /** Whether its documents are listed. */
  enabled?: boolean | null;
}

/** The directory of a document. */
export interface DirectoryInfo {
  /** Its name. */
  name: string;
  /** Its path. */
  path: string;
}

/** `DELETE /api/prompts/directories/{path}`: the directory is no longer registered. Its files stay. */
export interface DirectoryRemoved {
  /** Always true. */
  success: boolean;
  /** Its path. */
  path: string;
}

/** The response to [`Toggle`]. */
export interface DirectoryToggled {
  /** Always true. */
  success: boolean;
  /** Its path. */
  path: string;
  /** Whether its documents are listed. */
  enabled: boolean;
  /** Number of its documents. */
  affected_prompts: number;
}

/** `PUT /api/prompts/{id}`: a change. Absent members, and `null`, change nothing. */
export interface DocumentChange {
  /** The whole new content. */
  content?: string | null;
  /** The description; an empty text removes it. */
  description?: string | null;
  /** The tags; an empty list removes them. */
  tags?: string[] | null;
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /**
   * An addition: the revision that the content was made from. Edits that came between are
   * merged. Without it, and without `If-Match`, the content replaces the current one.
   */
  base_rev?: number | null;
  /**
   * An addition: a text that is unique to this change. If it is sent twice, the second changes
   * nothing.
   */
  op?: string | null;
  /** An addition: what happens if another edit has changed the same text. */
  on_conflict?: OnConflict | null;
  /** An addition: the author in the history. */
  author?: string | null;
}

/** What a document is. */
export type DocumentKind = "prompt" | "fragment";

/** Why a request was refused. */
export type ErrorCode = "conflict" | "bad_request" | "too_large" | "not_found" | "read_only" | "storage" | "unauthorized";

/** The error of an `update_status`. */
export interface ErrorInfo {
  /** The kind of error, for programs. */
  code: ErrorCode;
  /** The error, for people. */
  message: string;
}

/** A message that could not be read or fulfilled. */
export interface ErrorMessage {
  /** The kind of error, for programs. */
  code: ErrorCode;
  /** The error, for people. */
  message: string;
  /** The `op` of the message, if it has one. */
  op?: string | null;
}

/** `GET /api/prompts/check_exists/{id}`: whether there is such a document. */
export interface Existence {
  /** Whether there is one. */
  exists: boolean;
  /** The id of the request. */
  id: string;
}

/** `POST /api/prompts/expand`: a text, or the content of a document, to expand. */
export interface ExpandRequest {
  /** The text. Default: the content of `prompt_id`. */
  content?: string | null;
  /** The document that the text belongs to. */
  prompt_id?: string | null;
  /** The directory of that document, if its id is ambiguous. */
  directory?: string | null;
}

/** A text to expand. */
export interface ExpandText {
  /** The text, which may be a draft. */
  content: string;
  /** A text that the answer repeats. */
  op?: string | null;
}

/** A text with its inclusions replaced. */
export interface Expanded {
  /** The text as it was sent. */
  content: string;
  /** The text with the included documents in place. */
  expanded: string;
  /** The included documents, direct and indirect, each once. */
  dependencies: string[];
  /** What could not be included, and why. */
  warnings: string[];
  /** The `op` of the request. */
  op?: string | null;
  /** The revisions of the included documents. */
  revs?: Record<string, number> | null;
  /** Which part of `expanded` comes from which document. */
  spans?: ExpansionSpan[] | null;
}

/** The response to [`ExpandRequest`]. */
export interface Expansion {
  /** The text as it was sent. */
  content: string;
  /** The text with the included documents in place. */
  expanded: string;
  /** The included documents, direct and indirect, each once. */
  dependencies: string[];
  /** What could not be included, and why. */
  warnings: string[];
  /** The document, if the request named one without a text. */
  prompt_id?: string | null;
  /** The same as `content`, if the request named a document without a text. */
  original_content?: string | null;
  /** The same as `expanded`, if the request named a document without a text. */
  expanded_content?: string | null;
  /** An addition: the revisions of the included documents. */
  revs: Record<string, number>;
  /** An addition: which part of `expanded` comes from which document. */
  spans: ExpansionSpan[];
}

/** A part of an expanded text, in UTF-16 units. */
export interface ExpansionSpan {
  /** Position of its first unit. */
  start: number;
  /** Position behind its last unit. */
  end: number;
  /** The document that it comes from. */
  id: string;
}

/** The query of `exportPrompts`. */
export interface ExportPromptsQuery {
  /** Only prompts with this label, at its revision. Default: all prompts at their newest one. */
  label?: string;
}

/** A prompt of an [`Export`]. */
export interface ExportedPrompt {
  /**
   * The name for the application: the path of the file below its directory, without extension,
   * and of a partial without the `_` of its file. It does not change when another file gets the
   * same name, as the id does.
   */
  name: string;
  /**
   * A prompt; or a fragment, which templates include as the partial of this name. A fragment may
   * have several names.
   */
  kind: DocumentKind;
  /** The id of the document. */
  id: string;
  /** Its revision. */
  rev: number;
  /**
   * The text of a Dotprompt file: front matter and template, with the included documents in
   * place.
   */
  source: string;
  /** The revisions of the included documents, direct and indirect, by id. */
  fragments: Record<string, number>;
  /** What could not be included, and why. */
  warnings?: string[];
}

/** An error of a body that is not valid. */
export interface FieldError {
  /** Where the error is, such as `["body", "content"]`. */
  loc: string[];
  /** The error for people. */
  msg: string;
  /** The kind of error. */
  type: string;
}

/** A mistake in a document. */
export interface Finding {
  /** The path of the registered directory. */
  directory: string;
  /** The path of the file below it; empty if the directory itself cannot be read. */
  file: string;
  /** The id of the document; absent if the file cannot be read. */
  id?: string | null;
  /** The line of the file, counted from 1; absent if the mistake is not in one line. */
  line?: number | null;
  /** Whether a call of the prompt would fail or send a wrong text. */
  severity: Severity;
  /** What is wrong. */
  code: FindingCode;
  /** The mistake, and what to do about it. */
  message: string;
}

/** The kind of a mistake. */
export type FindingCode = "unreadable" | "front_matter" | "unknown_key" | "template" | "missing_partial" | "missing_inclusion" | "circular_inclusion" | "inclusion_limit" | "ambiguous_inclusion" | "ambiguous_name" | "unused_fragment";

/** The query of `getDocument`. */
export interface GetDocumentQuery {
  /** The document. */
  id: string;
  /** The path or name of the document's directory, if its id is ambiguous. */
  directory?: string;
  /** A revision. Default: the newest. */
  rev?: number;
  /** A label, in place of a revision. */
  label?: string;
}

/** The query of `getFragment`. */
export interface GetFragmentQuery {
  /** The path or name of the document's directory, if its id is ambiguous. */
  directory?: string;
  /** A revision. Default: the newest. */
  rev?: number;
  /** A label, in place of a revision. */
  label?: string;
}

/** The query of `getPrompt`. */
export interface GetPromptQuery {
  /** The path or name of the document's directory, if its id is ambiguous. */
  directory?: string;
  /** A revision. Default: the newest. */
  rev?: number;
  /** A label, in place of a revision. */
  label?: string;
}

/** The query of `getReferencesById`. */
export interface GetReferencesByIdQuery {
  /** The document. */
  id: string;
}

/** The query of `getRevisionById`. */
export interface GetRevisionByIdQuery {
  /** The document. */
  id: string;
}

/** The first message of a client that understands the additions. */
export interface Hello {
  /** The protocol that the client knows. */
  protocol?: ProtocolInput | null;
  /** The client's label, which is the author of its edits. */
  client?: string | null;
  /** What the client had before it lost its connection. */
  resume?: Resume | null;
}

/** Revisions of the document, newest first. */
export interface History {
  /** The revisions. */
  revisions: PromptRevision[];
  /** The labels of revisions. */
  labels: Record<string, number>;
  /** The `op` of the request. */
  op?: string | null;
}

/** The document has another id. */
export interface IdChanged {
  /** The new id. */
  id: string;
}

/** The document at the moment of the connection. */
export interface Initial {
  /** The content, without front matter. */
  content: string;
  /** The description; `null` if there is none. */
  description: string | null;
  /** The tags. */
  tags: string[];
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /** When the document was changed last. */
  updated_at: string;
  /** The current revision. */
  rev?: number | null;
  /** The hash of the current file. */
  hash?: string | null;
  /** The id of the document. */
  id?: string | null;
  /** Whether it is a prompt or a fragment. */
  kind?: DocumentKind | null;
  /** The additions that the server understands. */
  protocol?: Protocol | null;
}

/** `GET /api/prompts/{id}/labels`, an addition: the labels of a document. */
export interface LabelList {
  /** The document. */
  id: string;
  /** The revision of each label. */
  labels: Record<string, number>;
}

/** The query of `listLabelsById`. */
export interface ListLabelsByIdQuery {
  /** The document. */
  id: string;
}

/** The query of `listRevisionsById`. */
export interface ListRevisionsByIdQuery {
  /** The document. */
  id: string;
  /** Maximum number of revisions. Default: 50. */
  limit?: number;
  /** Only revisions with a smaller number. */
  before?: number;
}

/** The query of `listRevisions`. */
export interface ListRevisionsQuery {
  /** Maximum number of revisions. Default: 50. */
  limit?: number;
  /** Only revisions with a smaller number. */
  before?: number;
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

/** The metadata after a change, complete. */
export interface MetadataUpdated {
  /** The description; `null` if there is none. */
  description: string | null;
  /** The tags. */
  tags: string[];
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /** When it was changed. */
  timestamp: string;
  /** The revision. */
  rev?: number | null;
  /** The `op` of the change. */
  op?: string | null;
  /** The author of the change. */
  author?: string | null;
}

/** `POST /api/prompts/directories`: another directory. */
export interface NewDirectory {
  /** Its path, below an allowed one. */
  path: string;
  /** Its name. Default: the name of the folder. */
  name?: string | null;
  /** Its description. */
  description?: string | null;
}

/** `POST /api/prompts`: a new document. */
export interface NewDocument {
  /** The id, which is the name of the file, without extension. Spaces become `_`. */
  id?: string | null;
  /** The same as `id`, for clients of newer versions of Prompt Manager. */
  name?: string | null;
  /** The content. */
  content?: string;
  /** The path or name of a registered directory. Default: the first that is enabled. */
  directory?: string | null;
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /** The description. */
  description?: string | null;
  /** The tags. */
  tags?: string[] | null;
  /** An addition: the author in the history. */
  author?: string | null;
}

/**
 * The body of a route that needs none: empty, or an object without members. Its media type
 * still has to be JSON.
 */
export type Nothing = Record<string, unknown>;

/** What happens if another edit has changed the same text. */
export type OnConflict = "merge" | "reject";

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

/**
 * One step through a text: `["keep", n]`, `["insert", text]` or `["delete", n]`. Counts are UTF-16
 * code units, as in JavaScript, and never end between the two units of a character.
 *
 * ```
 * use oxikit_wire::prompts::PatchOp;
 *
 * let ops: Vec<PatchOp> = serde_json::from_str(r#"[["keep",4],["insert","!"]]"#).unwrap();
 * assert_eq!(ops, [PatchOp::Keep(4), PatchOp::Insert("!".to_owned())]);
 * ```
 */
export type PatchOp = [PatchOpName, PatchOpOperand];

/** The name of a step. */
export type PatchOpName = "keep" | "insert" | "delete";

/** The second member of a step. */
export type PatchOpOperand = number | string;

/** A change of the content, in steps. */
export interface Patched {
  /** The revision. */
  rev: number;
  /** The revision that the steps apply to. */
  base_rev: number;
  /** The steps. */
  ops: PatchOp[];
  /** The hash of the revision. */
  hash?: string | null;
  /** Why the content has changed. */
  reason?: UpdateReason | null;
  /** The author of the change. */
  author?: string | null;
  /** When the content was changed. */
  timestamp?: string | null;
}

/** A connection that has the document open. */
export interface Presence {
  /** The id of the connection, see [`Welcome::session`]. */
  session: string;
  /** The name of the person or program. */
  name?: string | null;
  /** Position of the cursor, in UTF-16 units. */
  cursor?: number | null;
  /** The selected part. */
  selection?: Selection | null;
  /** The revision that the positions refer to. */
  rev?: number | null;
}

/** Everybody who has the document open. */
export interface PresenceList {
  /** The others and the receiver itself. */
  clients: Presence[];
}

/** The response to [`PreviewRequest`]. */
export interface Preview {
  /** The document. */
  id: string;
  /** The text with the included documents in place. */
  expanded: string;
  /** The included documents, direct and indirect, each once. */
  dependencies: string[];
  /** What could not be included, and why. */
  warnings: string[];
  /** The revisions of the included documents. */
  revs: Record<string, number>;
  /** Which part of `expanded` comes from which document. */
  spans: ExpansionSpan[];
  /** The messages of the template; absent if it cannot be rendered. */
  messages?: Message[] | null;
  /** The model that the front matter names. */
  model?: string | null;
  /** The configuration of the model in the front matter. */
  config?: unknown;
  /** The variables that the template looks up, as far as they are known without rendering. */
  variables: string[];
  /** Why the template cannot be rendered. */
  error?: string | null;
}

/** `POST /api/prompts/preview`, an addition: the messages that a model would get. */
export interface PreviewRequest {
  /** The document. */
  id: string;
  /** A draft of its content. Default: its current content. */
  content?: string | null;
  /** The values of the variables in the template. */
  variables?: Record<string, unknown>;
}

/** `DELETE /api/prompts/{id}`: the document was deleted. Its history stays. */
export interface PromptDeleted {
  /** Always true. */
  success: boolean;
  /** The document. */
  id: string;
  /** The same, for people. */
  message: string;
}

/** A registered directory. */
export interface PromptDirectory {
  /** Its path. */
  path: string;
  /** Its name. */
  name: string;
  /** Its description. */
  description: string;
  /** Whether its documents are listed. */
  enabled: boolean;
}

/** A prompt or a fragment. */
export interface PromptDocument {
  /** The id: the name of the file without its extension, with its folder if the name is not unique. */
  id: string;
  /** The path of the file below `directory`. */
  filename: string;
  /** The path of the registered directory. */
  directory: string;
  /** The name of the registered directory. */
  directory_name: string;
  /** The content, without front matter. */
  content: string;
  /** The description; `null` if there is none. */
  description: string | null;
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /** The tags. */
  tags: string[];
  /** When the document was made. */
  created_at: string;
  /** When it was changed last. */
  updated_at: string;
  /** The name of the file without folder and extension. */
  name: string;
  /** The name to show, which is the id. */
  display_name: string;
  /** The name of the directory and the path of the file, without extension. */
  unique_id: string;
  /** Whether the content includes others by `[[name]]`. */
  is_composite: boolean;
  /** The directory; in responses for one document. */
  directory_info?: DirectoryInfo | null;
  /** The documents that the content names; in responses for one document. */
  dependencies?: Dependency[] | null;
  /** What cannot be included or read; in responses for one document. */
  warnings?: string[] | null;
  /** How the name differs from the one that was asked for; after a creation or a rename. */
  sanitized_message?: string | null;
  /** An addition: whether it is a prompt or a fragment. */
  kind: DocumentKind;
  /** An addition: the revision. */
  rev: number;
  /** An addition: the hash of the file. */
  hash: string;
  /** An addition: whether the file is a Dotprompt file, whose content has its front matter. */
  is_dotprompt: boolean;
  /** An addition: the labels of revisions; in responses for one document. */
  labels?: Record<string, number> | null;
  /**
   * An addition: whether the content differs from the one that was sent, because others have
   * changed it too; in the response to a change.
   */
  merged?: boolean | null;
  /** An addition: the texts that another edit had changed too; in the response to a change. */
  conflicts?: Conflict[] | null;
}

/** An error response. */
export interface PromptError {
  /** The error for people; for a body that is not valid (422) the list of its errors. */
  detail: string | FieldError[];
  /** An addition: the documents that an ambiguous id may mean (409). */
  candidates?: string[] | null;
  /**
   * An addition: the current document, if `If-Match` names another revision (412) or the change
   * conflicts (409).
   */
  document?: PromptDocument | null;
}

/**
 * `GET /api/prompts/export?label=`, an addition: all prompts for an application, ready to be
 * compiled.
 *
 * With a label these are the prompts that have it, at the revision that it names. Included
 * documents without a pin are taken at the revision of the same label, or at the newest one if
 * they do not have it.
 */
export interface PromptExport {
  /** The label of the request. */
  label?: string | null;
  /**
   * The prompts, and the fragments as partials, ordered by name. It is never absent: an answer
   * without it is not an export, and must not empty an application.
   */
  prompts: ExportedPrompt[];
}

/** The response to [`SetLabel`]. */
export interface PromptLabel {
  /** The document. */
  id: string;
  /** The label. */
  label: string;
  /** Its revision; absent if the label was removed. */
  rev?: number | null;
}

/** `GET /api/prompts/lint`, an addition: the mistakes in all documents. */
export interface PromptLint {
  /** Number of documents that were checked. */
  documents: number;
  /** The mistakes, ordered by file and line. */
  findings: Finding[];
}

/** The response to [`Rename`]. */
export interface PromptRenamed {
  /** Always true. */
  success: boolean;
  /** The id before. */
  old_id: string;
  /** The id now. */
  new_id: string;
  /** The same, for people. */
  message: string;
  /** How the name differs from the one that was asked for. */
  sanitized_message?: string | null;
  /** An addition: the documents whose inclusions were changed. */
  updated: string[];
  /** An addition: the revision of the renamed document. */
  rev?: number | null;
}

/** A revision of a document, without its text. */
export interface PromptRevision {
  /** Its number, counted from 1. */
  rev: number;
  /** The revision that it was made from; absent for the first. */
  parent?: number | null;
  /** What has made it. */
  kind: RevisionKind;
  /** The author. */
  author: string;
  /** When it was stored. */
  timestamp: string;
  /** The hash of the file; empty for a deletion. */
  hash: string;
  /** Number of bytes of the file. */
  bytes: number;
  /**
   * Whether the document had this text. Contents that were merged or refused are kept, and are
   * not applied.
   */
  applied: boolean;
  /** The labels of this revision. */
  labels?: string[];
}

/** The use of a prompt. Fragments have none. */
export type PromptType = "standard" | "composite" | "system" | "user" | "custom";

/** The extended protocol as a peer knows it. */
export interface Protocol {
  /** Its name, [`PROTOCOL`]. */
  name: string;
  /** Its version, [`VERSION`]. */
  version: number;
  /** Its parts, see [`FEATURES`]. */
  features: string[];
}

/** The extended protocol as a peer knows it. */
export interface ProtocolInput {
  /** Its name, [`PROTOCOL`]. */
  name: string;
  /** Its version, [`VERSION`]. */
  version: number;
  /** Its parts, see [`FEATURES`]. */
  features?: string[];
}

/** `GET /api/prompts/{id}/referenced_by`: a document that includes another one. */
export interface Reference {
  /** Its id. */
  id: string;
  /** Its description; `null` if there is none. */
  description: string | null;
  /** The path of its directory. */
  directory: string;
}

/** The response of routes that read files again. */
export interface Reloaded {
  /** Always true. */
  success: boolean;
  /** Number of documents. */
  count: number;
  /** The same, for people. */
  message: string;
}

/** The query of `removeLabelById`. */
export interface RemoveLabelByIdQuery {
  /** The document. */
  id: string;
}

/** `POST /api/prompts/rename`: another id for a document. */
export interface RenamePrompt {
  /** The document. */
  old_id?: string | null;
  /** The new id. Spaces become `_`. */
  new_id?: string | null;
  /** The same as `new_id`, for clients of newer versions of Prompt Manager. */
  new_name?: string | null;
  /** A new content. */
  content?: string | null;
  /** A new description. */
  description?: string | null;
  /** New tags. */
  tags?: string[] | null;
  /**
   * An addition: whether `[[old_id]]` in other documents becomes `[[new_id]]`, in all of them or
   * in none.
   */
  update_references?: boolean;
  /** An addition: the author in the history. */
  author?: string | null;
}

/** The query of `renderPromptById`. */
export interface RenderPromptByIdQuery {
  /** The document. */
  id: string;
}

/** `GET /api/prompts/{id}/render`: a document with its inclusions replaced. */
export interface Rendered {
  /** The document. */
  id: string;
  /** Its content. */
  original: string;
  /** The content with the included documents in place. */
  rendered: string;
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /** An addition: what could not be included. */
  warnings: string[];
}

/** A resource named by its URI. */
export interface ResourceRef {
  /** The URI that a resource action answers to. */
  uri: string;
}

/** `POST /api/prompts/{id}/restore`, an addition: an old revision becomes the newest one. */
export interface Restore {
  /** The revision. */
  rev: number;
  /** The author in the history. */
  author?: string | null;
}

/** The query of `restoreRevisionById`. */
export interface RestoreRevisionByIdQuery {
  /** The document. */
  id: string;
}

/** The last state that a client has seen. */
export interface Resume {
  /** The revision. */
  rev: number;
  /** Its hash. */
  hash?: string | null;
}

/** `GET /api/prompts/{id}/diff`: the lines that differ between two revisions. */
export interface RevisionDiff {
  /** The document. */
  id: string;
  /** The older revision of the comparison. */
  from: number;
  /** The newer revision of the comparison. */
  to: number;
  /** The lines of both, in order. */
  lines: DiffLine[];
}

/** What has made a revision. */
export type RevisionKind = "edit" | "merge" | "external" | "metadata" | "rename" | "restore" | "delete" | "refused";

/** `GET /api/prompts/{id}/history`: revisions, newest first. */
export interface RevisionList {
  /** The document. */
  id: string;
  /** The current revision. */
  rev: number;
  /** The revisions. */
  revisions: PromptRevision[];
  /** The value of `before` for the next page; absent on the last one. */
  next?: number | null;
  /** The labels of the document. */
  labels: Record<string, number>;
}

/** `GET /api/prompts/{id}/history/{rev}`: one revision with its text. */
export interface RevisionText {
  /** The document. */
  id: string;
  /** The revision. */
  revision: PromptRevision;
  /** The content, without front matter; absent for a deletion. */
  content?: string | null;
  /** The whole file; absent for a deletion. */
  text?: string | null;
}

/** The role of the author of a message. */
export type Role = "system" | "user" | "model" | "tool";

/** A part of a content, in UTF-16 units. */
export interface Selection {
  /** Position of its first unit. */
  start: number;
  /** Position behind its last unit. */
  end: number;
}

/**
 * A message of the server.
 *
 * The first five are the plain protocol. The others are sent to clients that have said `hello`,
 * except `error`, which answers every message that cannot be read.
 */
export type ServerMessage = Initial | UpdateStatus | Updated | MetadataUpdated | Expanded | Welcome | Patched | PresenceList | DependencyChanged | IdChanged | History | ErrorMessage;

/** `PUT /api/prompts/{id}/labels/{label}`, an addition: the revision of a label. */
export interface SetLabel {
  /** The revision. */
  rev: number;
}

/** The query of `setLabelById`. */
export interface SetLabelByIdQuery {
  /** The document. */
  id: string;
}

/** Where a client's cursor is. It is shown to the others and not stored. */
export interface SetPresence {
  /** The name that the others see. Default: the label of `hello`. */
  name?: string | null;
  /** Position of the cursor in the content, in UTF-16 units. */
  cursor?: number | null;
  /** The selected part of the content. */
  selection?: Selection | null;
  /** The revision that the positions refer to. */
  rev?: number | null;
}

/** How serious a mistake is. */
export type Severity = "error" | "warning";

/** New metadata. Absent members, and `null`, change nothing; an empty text or list clears. */
export interface SubmitMetadata {
  /** The description. */
  description?: string | null;
  /** The tags. */
  tags?: string[] | null;
  /** The type; prompts only. */
  prompt_type?: PromptType | null;
  /** See [`SubmitUpdate::op`]. */
  op?: string | null;
  /** See [`SubmitUpdate::author`]. */
  author?: string | null;
}

/** A change of parts of the content. */
export interface SubmitPatch {
  /** The revision that the change applies to. */
  base_rev: number;
  /** The steps, over the whole content of that revision. */
  ops: PatchOp[];
  /** See [`SubmitUpdate::op`]. */
  op?: string | null;
  /** See [`SubmitUpdate::on_conflict`]. */
  on_conflict?: OnConflict | null;
  /** See [`SubmitUpdate::author`]. */
  author?: string | null;
}

/** The whole new content. */
export interface SubmitUpdate {
  /** The content. */
  content: string;
  /**
   * The revision that the client has changed. Without it the server finds the most similar text
   * among those that this connection has seen.
   */
  base_rev?: number | null;
  /**
   * A text that is unique to this edit. If it is sent twice, the second is answered like the first
   * and changes nothing.
   */
  op?: string | null;
  /** What happens if another edit has changed the same text. Default: `merge`. */
  on_conflict?: OnConflict | null;
  /** The author in the history. Default: the label of the connection. */
  author?: string | null;
}

/** The query of `suggestNames`. */
export interface SuggestNamesQuery {
  /** A part of the name. */
  query?: string;
  /** A document that is left out. */
  exclude?: string;
}

/** `GET /api/prompts/search_suggestions`: a name for `[[`. */
export interface Suggestion {
  /** The id. */
  id: string;
  /** The name to show. */
  display_name: string;
  /** An addition: whether it is a prompt or a fragment. */
  kind: DocumentKind;
}

/** `POST /api/prompts/directories/{path}/toggle`: lists its documents or not. */
export interface Toggle {
  /** Whether its documents are listed. Default: the opposite of now. */
  enabled?: boolean | null;
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

/** `POST /api/prompts/{id}/undelete`, an addition: a deleted document returns. */
export interface Undelete {
  /** The author in the history. */
  author?: string | null;
}

/** The query of `undeleteById`. */
export interface UndeleteByIdQuery {
  /** The document. */
  id: string;
}

/** The query of `updateDocument`. */
export interface UpdateDocumentQuery {
  /** The document. */
  id: string;
}

/** Why a content has changed. */
export type UpdateReason = "edit" | "merge" | "external" | "restore";

/** The answer to an edit. */
export interface UpdateStatus {
  /** Whether the edit is stored, and will be found after a crash. */
  success: boolean;
  /** When it was stored or refused. */
  timestamp: string;
  /** The revision that the edit has made. */
  rev?: number | null;
  /** The hash of that revision. */
  hash?: string | null;
  /** The `op` of the edit. */
  op?: string | null;
  /**
   * Whether the stored content differs from the one that was sent, because another edit came
   * between. The stored content follows in an `update`.
   */
  merged?: boolean | null;
  /** The texts that another edit had changed too. The incoming text was stored. */
  conflicts?: Conflict[];
  /** Why the edit was refused. */
  error?: ErrorInfo | null;
}

/** The new content. */
export interface Updated {
  /** The content. */
  content: string;
  /** When it was changed. */
  timestamp: string;
  /** The revision. */
  rev?: number | null;
  /** The revision before. */
  base_rev?: number | null;
  /** The hash of the revision. */
  hash?: string | null;
  /** Why it has changed. */
  reason?: UpdateReason | null;
  /** The author of the change. */
  author?: string | null;
}

/** The query of `watchPrompts`. */
export interface WatchPromptsQuery {
  /**
   * Ends the stream after this number of seconds. Without it the stream ends when the reader
   * disconnects or the tools shut down.
   */
  seconds?: number;
}

/** The answer to `hello`. */
export interface Welcome {
  /** The id of this connection in lists of presence. */
  session: string;
  /** The current revision. */
  rev: number;
  /** The additions that the server understands. */
  features: string[];
}
