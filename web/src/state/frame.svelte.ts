// Dialogs of the frame, which every area can ask for.

export type FrameDialog = 'keys' | 'person' | 'more';

class Frame {
  #dialog = $state<FrameDialog | null>(null);

  get dialog(): FrameDialog | null {
    return this.#dialog;
  }

  ask(dialog: FrameDialog): void {
    this.#dialog = dialog;
  }

  close(): void {
    this.#dialog = null;
  }
}

export const frame = new Frame();
