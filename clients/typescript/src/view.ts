/** A stream of responses. Its end is reported as an error, because each stream has a closing message. */

import { Scope, within } from "./cancel.js";
import type { UnreachableError } from "./errors.js";

/** The timeout for the start of a stream. */
const OPEN_TIMEOUT_MS = 30_000;

/** Makes the errors of a view. */
export interface ViewErrors {
  error(error: unknown, signal?: AbortSignal): unknown;
  unreachable(message: string): UnreachableError;
}

/** A stream of responses. */
export class View<T> {
  private readonly scope: Scope;
  private readonly response: Promise<{ readonly message: AsyncIterable<T> }>;
  private messages: AsyncIterator<T> | undefined;

  constructor(
    private readonly errors: ViewErrors,
    private readonly signal: AbortSignal | undefined,
    open: (signal: AbortSignal) => Promise<{ readonly message: AsyncIterable<T> }>,
  ) {
    this.scope = new Scope(signal);
    this.response = open(this.scope.signal);
    // `next` reports the error.
    this.response.catch(() => undefined);
  }

  /** Returns the next response. Throws `UnreachableError` if the stream ends, or is silent for too long. */
  async next(silenceMs?: number): Promise<T> {
    try {
      this.messages ??= (await this.opened())[Symbol.asyncIterator]();
      const { done, value } = await within(this.messages.next(), silenceMs, () => this.quiet());
      if (done) {
        throw this.errors.unreachable("the stream ended before its closing message");
      }
      return value;
    } catch (error) {
      this.cancel();
      throw this.errors.error(error, this.signal);
    }
  }

  /** Ends the stream. */
  cancel(): void {
    this.scope.abort();
    this.scope.dispose();
  }

  private async opened(): Promise<AsyncIterable<T>> {
    return (await within(this.response, OPEN_TIMEOUT_MS, () => this.quiet())).message;
  }

  private quiet(): UnreachableError {
    return this.errors.unreachable("the connection is up, but no data arrives");
  }
}
