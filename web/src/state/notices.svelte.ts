// What the page tells: toasts for the end of one's own actions, and texts for screen readers.

export interface Toast {
  id: number;
  text: string;
  isError: boolean;
  /** A button, such as Undo. */
  action?: { label: string; run: () => void };
}

/** Time that a toast is shown, in milliseconds. */
const TOAST_TIME = 6_000;

class Notices {
  #toasts = $state<Toast[]>([]);
  #announced = $state('');
  #last = 0;

  get toasts(): readonly Toast[] {
    return this.#toasts;
  }

  /** The last text for screen readers. */
  get announced(): string {
    return this.#announced;
  }

  /** Shows a toast. One with an action stays twice as long. */
  show(text: string, action?: Toast['action']): void {
    this.#add({ id: this.#newId(), text, isError: false, ...(action && { action }) });
  }

  /** Shows why an action has failed whose place on the page is gone. */
  fail(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.#add({ id: this.#newId(), text, isError: true });
  }

  #newId(): number {
    this.#last += 1;
    return this.#last;
  }

  #add(toast: Toast): void {
    this.#toasts = [...this.#toasts.slice(-2), toast];
    const isLong = toast.action !== undefined || toast.isError;
    setTimeout(() => this.dismiss(toast.id), isLong ? 2 * TOAST_TIME : TOAST_TIME);
    this.announce(toast.text);
  }

  dismiss(id: number): void {
    this.#toasts = this.#toasts.filter((toast) => toast.id !== id);
  }

  /** Says a text to screen readers, also if it is the same as the last one. */
  announce(text: string): void {
    this.#announced = text === this.#announced ? `${text}\u00a0` : text;
  }
}

export const notices = new Notices();
