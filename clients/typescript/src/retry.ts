/** Retries: bounded, growing pauses with jitter, up to the time limits of `Patience`. */

import { sleep } from "./cancel.js";
import { AirlockError, RejectedError, isPassing } from "./errors.js";

/** A connection that lasted this long counts as a success. */
const HELD_MS = 1_000;

/** The times, in milliseconds, for which a client retries without success, and its pauses. */
export interface Patience {
  /** The time for a call or for the start of a command. Default: 20 s, and 5 s for a local `airlock dev`. */
  readonly callMs: number;
  /** The time for a view of an execution, since its last event. Default: 120 s. */
  readonly viewMs: number;
  /** The time for a download or an output reader that receives nothing new on an open connection. Default: 600 s. */
  readonly silenceMs: number;
  /** The pause before the first retry; it doubles with each retry. Default: 50 ms. */
  readonly backoffFirstMs: number;
  /** The longest pause between two attempts. Default: 3 s. */
  readonly backoffMaxMs: number;
}

/** The patience of a client that does not set it. */
export const PATIENCE: Patience = {
  callMs: 20_000,
  viewMs: 120_000,
  silenceMs: 600_000,
  backoffFirstMs: 50,
  backoffMaxMs: 3_000,
};

/** The attempts since the last success. */
export class Retries {
  private step: number;
  private since: number | undefined;

  constructor(private readonly patience: Patience) {
    this.step = patience.backoffFirstMs;
  }

  /** Records a success: the next pause is the shortest again. */
  reset(): void {
    this.step = this.patience.backoffFirstMs;
    this.since = undefined;
  }

  /** Records that a connection that was open since `began` broke. If it lasted, it counts as a success. */
  heldSince(began: number): void {
    if (performance.now() - began >= HELD_MS) {
      this.reset();
    }
  }

  /** Returns the pause after `error`, or `undefined` if no attempt has succeeded for `limit` milliseconds. */
  pause(error: AirlockError, limit: number): number | undefined {
    const now = performance.now();
    this.since ??= now;
    const left = limit - (now - this.since);
    if (left < 0) {
      return undefined;
    }
    let pause = this.step * (0.5 + Math.random() / 2);
    this.step = Math.min(this.step * 2, this.patience.backoffMaxMs);
    if (error instanceof RejectedError) {
      pause = Math.max(pause, error.retryAfterMs ?? 0);
    }
    return Math.min(pause, this.patience.backoffMaxMs, Math.max(left, this.patience.backoffFirstMs));
  }

  /** Pauses if `error` may pass. Throws it if it may not, or if the time is over. */
  async outlast(error: unknown, limit: number, signal?: AbortSignal): Promise<void> {
    if (!(error instanceof AirlockError) || !isPassing(error)) {
      throw error;
    }
    const pause = this.pause(error, limit);
    if (pause === undefined) {
      throw error;
    }
    await sleep(pause, signal);
  }
}

/** Repeats a call that is safe to repeat, until it succeeds, fails permanently, or reaches its time limit. */
export async function retrying<T>(patience: Patience, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const retries = new Retries(patience);
  for (;;) {
    try {
      return await call();
    } catch (error) {
      await retries.outlast(error, patience.callMs, signal);
    }
  }
}
