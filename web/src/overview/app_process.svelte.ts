// Stopping and restarting the application.

import { post } from '../api/tools';
import { notices } from '../state/notices.svelte';
import { texts } from './texts';

class AppProcess {
  #isBusy = $state(false);

  /** Whether a request is on its way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  stop(): Promise<void> {
    return this.#request('/app/stop', texts.app.stopped);
  }

  restart(): Promise<void> {
    return this.#request('/app/restart', texts.app.restarted);
  }

  async #request(path: string, done: string): Promise<void> {
    this.#isBusy = true;
    try {
      await post(path);
      notices.show(done);
    } catch (error) {
      notices.fail(error);
    } finally {
      this.#isBusy = false;
    }
  }
}

export const appProcess = new AppProcess();
