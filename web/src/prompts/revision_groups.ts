// Revisions in groups: one person's edits of a few minutes are one row of the history.

import type { PromptRevision } from '../api/types';

export interface Group {
  /** The newest revision of the group. */
  newest: PromptRevision;
  /** The revisions that the document had, newest first. */
  revisions: PromptRevision[];
}

/** Longest pause between two edits of a group, in milliseconds. */
const PAUSE = 5 * 60_000;
/** Longest time of a group: a whole day of work is more than one row. */
const LONGEST = 60 * 60_000;

/** Groups revisions that are sorted newest first. Labelled ones stay alone. */
export function groupsOf(revisions: readonly PromptRevision[]): Group[] {
  const groups: Group[] = [];
  for (const revision of revisions) {
    // A text as it was sent is found below the merge that was made of it.
    const group = groups.at(-1);
    const last = group?.revisions.at(-1);
    if (group && last && belongs(group, last, revision)) group.revisions.push(revision);
    else groups.push({ newest: revision, revisions: [revision] });
  }
  return groups;
}

function belongs(group: Group, last: PromptRevision, revision: PromptRevision): boolean {
  const isTyping = (it: PromptRevision): boolean => it.kind === 'edit' || it.kind === 'merge';
  if (!isTyping(last) || !isTyping(revision)) return false;
  if (last.author !== revision.author) return false;
  if (revision.labels?.length || group.newest.labels?.length) return false;
  const time = (it: PromptRevision): number => Date.parse(it.timestamp);
  return time(last) - time(revision) <= PAUSE && time(group.newest) - time(revision) <= LONGEST;
}
