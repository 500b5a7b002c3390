// Shapes of A2A 1.0, as far as this area reads them, and of the tools' answers.

export interface A2aPart {
  text?: string;
  url?: string;
  /** Base64. */
  raw?: string;
  data?: unknown;
  mediaType?: string;
  filename?: string;
}

export interface A2aMessage {
  messageId?: string;
  role?: string;
  parts?: A2aPart[];
  contextId?: string;
  taskId?: string;
}

export interface A2aArtifact {
  artifactId?: string;
  name?: string;
  description?: string;
  parts?: A2aPart[];
}

export interface TaskStatus {
  state?: string;
  message?: A2aMessage;
  timestamp?: string;
}

export interface Task {
  id: string;
  contextId?: string;
  status?: TaskStatus;
  artifacts?: A2aArtifact[];
  history?: A2aMessage[];
}

/** One event of a stream; one member is set. */
export interface Update {
  task?: Task;
  message?: A2aMessage;
  statusUpdate?: { taskId?: string; contextId?: string; status?: TaskStatus };
  artifactUpdate?: { taskId?: string; contextId?: string; artifact?: A2aArtifact; append?: boolean; lastChunk?: boolean };
}

export interface Interface {
  binding: string;
  version: string;
  url: string;
}

export interface CardAnswer {
  url: string;
  /** The card as it was sent, of any version. */
  card: unknown;
  name: string;
  interfaces: Interface[];
  chosen?: Interface | null;
  /** Why no interface can be used. */
  unusable?: string | null;
  problems: string[];
}

/** A step of the exchange with the agent. */
export interface Exchange {
  step: 'request' | 'response' | 'body';
  method?: string;
  url?: string;
  http?: number | string;
  headers?: [string, string][];
  text?: string;
}
