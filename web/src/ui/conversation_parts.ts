// Messages of a model, arranged for reading: earlier turns apart, media by type, code in texts.

export interface Part {
  text?: string;
  reasoning?: string;
  media?: { url: string; contentType?: string };
  toolRequest?: { name: string; ref?: string; input?: unknown; partial?: boolean };
  toolResponse?: { name: string; ref?: string; output?: unknown; content?: Part[] };
  data?: unknown;
  custom?: unknown;
  resource?: { uri: string };
  metadata?: Record<string, unknown>;
}

export interface Message {
  role: string;
  content: Part[];
  metadata?: Record<string, unknown>;
}

export interface Arranged {
  /** Instructions before the first turn. */
  system: Message[];
  /** Messages of earlier turns, folded at first. */
  earlier: Message[];
  /** The number of earlier turns. */
  turns: number;
  /** The messages of the last turn. */
  current: Message[];
}

/** Whether a value is a list of messages, so that it can be shown as a conversation. */
export function isMessages(value: unknown): value is Message[] {
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

export function isMessage(value: unknown): value is Message {
  if (typeof value !== 'object' || value === null) return false;
  const { role, content } = value as Partial<Message>;
  return typeof role === 'string' && Array.isArray(content) && content.every((part) => typeof part === 'object' && part !== null);
}

/** Divides messages into instructions, earlier turns and the last turn. A turn starts with a user's message. */
export function arrange(messages: readonly Message[]): Arranged {
  const start = messages.findIndex(({ role }) => role !== 'system');
  const system = messages.slice(0, start < 0 ? messages.length : start);
  const rest = start < 0 ? [] : messages.slice(start);
  const last = rest.findLastIndex(({ role }) => role === 'user');
  const earlier = last > 0 ? rest.slice(0, last) : [];
  const turns = earlier.filter(({ role }) => role === 'user').length;
  return { system, earlier, turns, current: rest.slice(earlier.length) };
}

/** The texts of a message, joined. */
export function textOf(message: Message | null | undefined): string {
  return (message?.content ?? []).map(({ text }) => text ?? '').join('');
}

export interface Media {
  kind: 'image' | 'audio' | 'video' | 'file';
  type: string;
  /** The address, if the page may load it: a `data:` URL, or one of this server. */
  source: string | null;
  url: string;
  /** The number of bytes of a `data:` URL. */
  bytes: number | null;
}

/** What a media part shows. Files of other servers are never loaded. */
export function mediaOf(media: { url: string; contentType?: string }, origin: string): Media {
  const url = typeof media.url === 'string' ? media.url : '';
  const isData = /^data:/i.test(url);
  const type = media.contentType ?? /^data:([^;,]+)/i.exec(url)?.[1] ?? '';
  const family = type.split('/')[0] ?? '';
  const kind = family === 'image' || family === 'audio' || family === 'video' ? family : 'file';
  const isOwn = isData || isOfOrigin(url, origin);
  const comma = url.indexOf(',');
  const bytes = isData && comma > 0 ? dataSize(url, comma) : null;
  return { kind, type: type || 'unknown type', source: isOwn ? url : null, url, bytes };
}

function dataSize(url: string, comma: number): number {
  const length = url.length - comma - 1;
  return url.slice(0, comma).endsWith(';base64') ? Math.floor((length * 3) / 4) : length;
}

function isOfOrigin(url: string, origin: string): boolean {
  try {
    return new URL(url, origin).origin === origin && !/^(?:blob|javascript):/i.test(url);
  } catch {
    return false;
  }
}

export interface TextPiece {
  form: 'text' | 'code' | 'block';
  text: string;
}

/** A text cut into code between backticks and the rest. Other marks stay as they are. */
export function textPieces(text: string): TextPiece[] {
  const result: TextPiece[] = [];
  const code = /```[^\n`]*\n([\s\S]*?)(?:\n?```|$)|`([^`\n]+)`/g;
  let from = 0;
  for (const match of text.matchAll(code)) {
    if (match.index > from) result.push({ form: 'text', text: text.slice(from, match.index) });
    if (match[1] !== undefined) result.push({ form: 'block', text: match[1] });
    else result.push({ form: 'code', text: match[2] ?? '' });
    from = match.index + match[0].length;
  }
  if (from < text.length) result.push({ form: 'text', text: text.slice(from) });
  return result;
}
