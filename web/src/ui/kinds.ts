// Kinds of actions and spans: a letter, a colour and a name. The colours are classes of `Kind`.

export interface KindInfo {
  letter: string;
  name: string;
  /** The class with the colour. */
  tone: 'agent' | 'flow' | 'model' | 'tool' | 'prompt' | 'other';
}

const KINDS: Record<string, KindInfo> = {
  agent: { letter: 'A', name: 'agent', tone: 'agent' },
  flow: { letter: 'F', name: 'flow', tone: 'flow' },
  model: { letter: 'M', name: 'model', tone: 'model' },
  'background-model': { letter: 'M', name: 'background model', tone: 'model' },
  tool: { letter: 'T', name: 'tool', tone: 'tool' },
  'tool.v2': { letter: 'T', name: 'tool', tone: 'tool' },
  prompt: { letter: 'P', name: 'prompt', tone: 'prompt' },
  'executable-prompt': { letter: 'P', name: 'prompt', tone: 'prompt' },
  embedder: { letter: 'V', name: 'embedder', tone: 'other' },
  retriever: { letter: 'R', name: 'retriever', tone: 'other' },
  reranker: { letter: 'R', name: 'reranker', tone: 'other' },
  indexer: { letter: 'I', name: 'indexer', tone: 'other' },
  evaluator: { letter: 'E', name: 'evaluator', tone: 'other' },
  flowStep: { letter: 'S', name: 'step', tone: 'other' },
  step: { letter: 'S', name: 'step', tone: 'other' },
  util: { letter: 'U', name: 'util', tone: 'other' },
  resource: { letter: 'D', name: 'resource', tone: 'other' },
};

/** The kind of this name. Unknown ones have their first letter. */
export function kindOf(name: string | null | undefined): KindInfo {
  if (!name) return { letter: '·', name: 'span', tone: 'other' };
  return KINDS[name] ?? { letter: name.slice(0, 1).toUpperCase(), name, tone: 'other' };
}

/** The kind in an action's key, `/flow/hello`. */
export function kindOfKey(key: string): string {
  return key.split('/')[1] ?? '';
}
