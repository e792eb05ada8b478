/** Cancellation: scopes that end with an `AbortSignal`, pauses, and waits with a limit. */

/** Something that may be cancelled by the caller. */
export interface Cancellable {
  /** Ends the call. It rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** An abort controller that also ends with a parent signal. It must be disposed of. */
export class Scope {
  private readonly controller = new AbortController();
  private readonly forward = (): void => this.controller.abort(this.parent?.reason);

  constructor(private readonly parent?: AbortSignal | undefined) {
    if (parent?.aborted) {
      this.controller.abort(parent.reason);
    } else {
      parent?.addEventListener("abort", this.forward);
    }
  }

  /** The signal of this scope. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Ends what the scope contains. */
  abort(reason?: unknown): void {
    this.controller.abort(reason);
  }

  /** Stops listening to the parent. */
  dispose(): void {
    this.parent?.removeEventListener("abort", this.forward);
  }
}

/** Waits for a time. Rejects with the signal's reason if it is aborted. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, ms);
    const aborted = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** Returns the result of `work`. Rejects with `expired()` if it takes longer than `ms`. `undefined`: no limit. */
export async function within<T>(work: Promise<T>, ms: number | undefined, expired: () => unknown): Promise<T> {
  if (ms === undefined) {
    return work;
  }
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(expired()), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** Runs tasks one after the other. */
export class Turns {
  private last: Promise<unknown> = Promise.resolve();

  /** Runs a task after all earlier ones have ended. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const next = this.last.then(task);
    this.last = next.catch(() => undefined);
    return next;
  }
}
