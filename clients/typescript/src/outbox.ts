/** The requests of a stream in both directions, which a caller sends one by one. */

interface Pending<T> {
  readonly value: T;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A source of messages. `send` waits until the transport wants the next message, so a slow reader slows the sender. */
export class Outbox<T> implements AsyncIterableIterator<T> {
  private queued: Pending<T> | undefined;
  private taken: Pending<T> | undefined;
  private wanted: (() => void) | undefined;
  private failure: { readonly reason: unknown } | undefined;

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Sends a message. Only one may be sent at a time. */
  send(value: T): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.failure) {
        reject(this.failure.reason);
        return;
      }
      this.queued = { value, resolve, reject };
      this.wanted?.();
    });
  }

  /** Ends the stream with an error for its sender. */
  fail(reason: unknown): void {
    this.failure ??= { reason };
    this.queued?.reject(reason);
    this.taken?.reject(reason);
    this.wanted?.();
  }

  /** Returns the next message to the transport. */
  async next(): Promise<IteratorResult<T>> {
    this.taken?.resolve();
    this.taken = undefined;
    while (this.queued === undefined && this.failure === undefined) {
      await new Promise<void>((resolve) => (this.wanted = resolve));
    }
    if (this.queued === undefined || this.failure) {
      return { done: true, value: undefined };
    }
    this.taken = this.queued;
    this.queued = undefined;
    return { done: false, value: this.taken.value };
  }

  /** Is called by the transport when the stream has ended. */
  async return(): Promise<IteratorResult<T>> {
    this.fail(new Error("the stream has ended"));
    return { done: true, value: undefined };
  }

  /** Is called by the transport when the stream has failed. */
  async throw(reason: unknown): Promise<IteratorResult<T>> {
    this.fail(reason);
    throw reason;
  }
}
