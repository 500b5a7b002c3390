// The messages of the socket, as `oxikit-wire` defines them in `prompts`.

import type { Conflict } from './merge';
import type { PatchOp } from './patch';
import type { DocumentKind, PromptType } from '../api/types';

/** The protocol that this page knows. */
export const PROTOCOL = { name: 'oxikit.prompts', version: 1, features: [] } as const;

/** Close codes of the server that a reconnection does not help against, and others. */
export const CLOSE = {
  goingAway: 1001,
  refused: 1008,
  tooLarge: 1009,
  internal: 1011,
  tryLater: 1013,
  notFound: 4004,
} as const;

export interface Selection {
  start: number;
  end: number;
}

export interface Person {
  session: string;
  name?: string;
  cursor?: number;
  selection?: Selection;
  rev?: number;
}

export interface Initial {
  action: 'initial';
  content: string;
  description: string | null;
  tags: string[];
  prompt_type?: PromptType;
  updated_at: string;
  rev?: number;
  id?: string;
  kind?: DocumentKind;
}

export interface UpdateStatus {
  action: 'update_status';
  success: boolean;
  timestamp: string;
  rev?: number;
  op?: string;
  merged?: boolean;
  conflicts?: Conflict[];
  error?: { code: string; message: string };
}

export interface Updated {
  action: 'update';
  content: string;
  timestamp: string;
  rev?: number;
  reason?: string;
  author?: string;
}

export interface Patched {
  action: 'patched';
  rev: number;
  base_rev: number;
  ops: PatchOp[];
  reason?: string;
  author?: string;
  timestamp?: string;
}

export interface MetadataUpdated {
  action: 'update_metadata';
  description: string | null;
  tags: string[];
  prompt_type?: PromptType;
  timestamp: string;
  rev?: number;
}

export type ServerMessage =
  | Initial
  | UpdateStatus
  | Updated
  | Patched
  | MetadataUpdated
  | { action: 'welcome'; session: string; rev: number; features: string[] }
  | { action: 'presence'; clients: Person[] }
  | { action: 'dependency_changed'; id: string; rev: number }
  | { action: 'renamed'; id: string }
  | { action: 'error'; code: string; message: string; op?: string };

export type ClientMessage =
  | { action: 'hello'; protocol: typeof PROTOCOL; client: string; resume?: { rev: number } }
  | { action: 'patch'; base_rev: number; op: string; ops: PatchOp[]; author: string }
  | {
      action: 'update_metadata';
      description?: string;
      tags?: string[];
      prompt_type?: PromptType;
      op: string;
      author: string;
    }
  | {
      action: 'presence';
      name: string;
      cursor?: number;
      selection?: Selection;
      rev?: number;
    };
