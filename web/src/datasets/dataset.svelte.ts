// The data sets of the project, and the open one.

import { get, patch, post, remove } from '../api/tools';
import type { Dataset, DatasetInfo, DatasetList, Done, NewDataset, Sample, SampleInput } from '../api/tools_types';

class Datasets {
  #list = $state.raw<readonly DatasetInfo[] | null>(null);
  #error = $state<string | null>(null);
  #open = $state.raw<Dataset | null>(null);
  #openError = $state<string | null>(null);

  /** Newest change first; `null` until they are read. */
  get list(): readonly DatasetInfo[] | null {
    return this.#list;
  }

  get error(): string | null {
    return this.#error;
  }

  get open(): Dataset | null {
    return this.#open;
  }

  get openError(): string | null {
    return this.#openError;
  }

  async read(): Promise<void> {
    try {
      const { datasets, warning } = await get<DatasetList>('/datasets');
      this.#list = datasets.toSorted((a, b) => b.updateTime.localeCompare(a.updateTime));
      this.#error = warning ?? null;
    } catch (error) {
      this.#error = messageOf(error);
    }
  }

  /** Reads a data set with its cases; none for `null`. */
  async show(id: string | null): Promise<void> {
    this.#openError = null;
    if (id === null || this.#open?.dataset.datasetId !== id) this.#open = null;
    if (id === null) return;
    try {
      this.#open = await get<Dataset>(path(id));
    } catch (error) {
      this.#open = null;
      this.#openError = messageOf(error);
    }
  }

  async create(dataset: NewDataset): Promise<DatasetInfo> {
    const created = await post<DatasetInfo>('/datasets', dataset);
    await this.read();
    return created;
  }

  /** Adds cases, or replaces those with the same ids. One without input and reference is deleted. */
  async change(id: string, data: SampleInput[]): Promise<void> {
    await patch<DatasetInfo>(path(id), { data });
    await Promise.all([this.read(), this.show(id)]);
  }

  async delete(id: string): Promise<void> {
    await remove<Done>(path(id));
    await this.read();
  }

  find(testCaseId: string): Sample | undefined {
    return this.#open?.samples.find((sample) => sample.testCaseId === testCaseId);
  }
}

export const datasets = new Datasets();

function path(id: string): string {
  return `/datasets/${encodeURIComponent(id)}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
