// The areas of the page. Each is a component `<folder>/<Name>Area.svelte`, loaded when it is opened
// first.

import type { Component } from 'svelte';

import { texts } from './texts';
import type { IconName } from './ui/icons';

type Load = () => Promise<{ default: Component }>;

export interface Area {
  /** The first segment of its places; empty for the overview. */
  id: string;
  name: string;
  icon: IconName;
  /** The letter after G that opens it. */
  key: string;
  load: Load;
}

const names = texts.areas;
const components = import.meta.glob<{ default: Component }>('./*/*Area.svelte');

/** Areas of the upper group, then those of the lower one. */
export const AREAS: readonly (readonly Area[])[] = [
  [
    ...area('', names.overview, 'home', 'o', './overview/OverviewArea.svelte'),
    ...area('actions', names.actions, 'bolt', 'a', './actions/ActionsArea.svelte'),
    ...area('sessions', names.sessions, 'chat', 's', './sessions/SessionsArea.svelte'),
    ...area('traces', names.traces, 'trace', 't', './traces/TracesArea.svelte'),
  ],
  [
    ...area('datasets', names.datasets, 'table', 'd', './datasets/DatasetsArea.svelte'),
    ...area('evals', names.evaluations, 'bars', 'e', './evals/EvalsArea.svelte'),
    ...area('prompts', names.prompts, 'file', 'p', './prompts/PromptsArea.svelte'),
    ...area('a2a', names.a2a, 'link', '2', './a2a/A2aArea.svelte'),
  ],
];

export const ALL_AREAS: readonly Area[] = AREAS.flat();

/** The area of a first segment; the overview if there is none of this name. */
export function areaOf(segment: string): Area {
  const found = ALL_AREAS.find((one) => one.id === segment) ?? ALL_AREAS[0];
  if (!found) throw new Error('The page has no areas.');
  return found;
}

/** An area, if the page is built with its component. */
function area(id: string, name: string, icon: IconName, key: string, component: string): Area[] {
  const load = components[component];
  return load ? [{ id, name, icon, key, load }] : [];
}
