// Texts of the viewers of values, conversations and differences.

const number = (count: number): string => count.toLocaleString('en');
const plural = (count: number, one: string, many: string): string => `${number(count)} ${count === 1 ? one : many}`;

export const viewerTexts = {
  json: {
    label: 'JSON value',
    search: 'Search in it',
    searchLabel: 'Search in names and values',
    closeSearch: 'Close the search',
    next: 'Next match',
    matches: (at: number, count: number, isCut: boolean) =>
      count === 0 ? 'no match' : `${number(at + 1)} of ${number(count)}${isCut ? ' or more' : ''}`,
    copyValue: 'Copy value',
    copyPath: 'Copy path',
    copyAll: 'Copy all',
    copiedValue: 'Value copied',
    copiedPath: (path: string) => `Path copied: ${path}`,
    unfoldAll: 'Unfold all',
    foldAll: 'Fold all',
    showAll: (size: string) => `Show all ${size}`,
    showLess: 'Show less',
    more: (count: number, rest: number) => `Show ${number(count)} more of ${number(rest)}`,
    broken: 'This is not valid JSON. It is shown as text.',
    absent: 'No value',
  },
  diff: {
    label: 'Differences',
    none: 'No differences',
    counts: ({ added, removed, changed }: { added: number; removed: number; changed: number }) =>
      [
        added > 0 ? plural(added, 'addition', 'additions') : '',
        removed > 0 ? plural(removed, 'removal', 'removals') : '',
        changed > 0 ? plural(changed, 'change', 'changes') : '',
      ]
        .filter(Boolean)
        .join(', ') || 'no differences',
    view: 'Form of the differences',
    diff: 'Diff',
    patch: 'JSON Patch',
    copyPatch: 'Copy the JSON Patch',
    copiedPatch: 'JSON Patch copied',
    same: (count: number) => plural(count, 'unchanged member', 'unchanged members'),
    marks: { '+': 'added', '−': 'removed', '~': 'changed', '': '' } as Record<string, string>,
  },
  conversation: {
    label: 'Conversation',
    answer: 'answer',
    earlier: (messages: number, turns: number) =>
      turns > 0
        ? `${plural(messages, 'earlier message', 'earlier messages')}, ${turns === 1 ? 'turn 1' : `turns 1 to ${turns}`}`
        : plural(messages, 'earlier message', 'earlier messages'),
    hideEarlier: 'Fold the earlier messages',
    reasoning: 'Reasoning',
    calls: 'calls',
    answers: 'answers',
    partial: 'partial',
    noInput: 'No input',
    empty: 'Nothing was said',
    data: 'data',
    custom: 'custom part',
    resource: 'resource',
    media: (kind: string, type: string) => `${kind}, ${type}`,
    otherServer: 'of another server: not loaded',
    mediaFailed: 'The browser cannot show it.',
  },
};
