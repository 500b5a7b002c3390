// The file of traces that is open in this tab. It is kept nowhere else.

import type { WholeTrace } from '../api/tools_types';
import { MAX_FILE, readTraces } from './file';
import { texts } from './texts';

class OpenedFile {
  name = $state('');
  traces = $state.raw<readonly WholeTrace[]>([]);
  error = $state('');

  async read(file: File): Promise<void> {
    this.error = '';
    try {
      if (file.size > MAX_FILE) throw new Error(texts.file.tooLarge);
      this.traces = readTraces(await file.text());
      this.name = file.name;
    } catch (error) {
      this.error = error instanceof Error ? error.message : String(error);
    }
  }

  close(): void {
    this.traces = [];
    this.name = '';
  }
}

export const openedFile = new OpenedFile();
