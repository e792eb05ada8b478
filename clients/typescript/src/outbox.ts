/** The requests of a stream in both directions, which a caller sends one by one. */

/** A source of messages. `send` waits until the transport takes the next message, so a slow reader slows the sender. */
export class Outbox<T> implements AsyncIterableIterator<T> {
  private queued: { readonly value: T; readonly taken: () => void } | undefined;
  private written: (() => void) | undefined;
  private wanted: (() => void) | undefined;
  private failure: { readonly reason: unknown } | undefined;
  private failed: (reason: unknown) => void = () => undefined;
  private readonly broken: Promise<never>;
  private ended = false;

  constructor() {
    this.broken = new Promise((_, reject) => (this.failed = reject));
    this.broken.catch(() => undefined);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Sends a message. Only one may be sent at a time. */
  async send(value: T): Promise<void> {
    if (this.failure) {
      throw this.failure.reason;
    }
    const taken = new Promise<void>((resolve) => {
      this.queued = { value, taken: resolve };
    });
    this.wanted?.();
    await Promise.race([taken, this.broken]);
  }

  /** Ends the stream with an error for its sender. */
  fail(reason: unknown): void {
    this.failure ??= { reason };
    this.ended = true;
    this.failed(reason);
    this.wanted?.();
  }

  /** Returns the next message to the transport. */
  async next(): Promise<IteratorResult<T>> {
    this.written?.();
    this.written = undefined;
    while (this.queued === undefined && !this.ended) {
      await new Promise<void>((resolve) => (this.wanted = resolve));
    }
    const { queued } = this;
    if (queued === undefined || this.ended) {
      return { done: true, value: undefined };
    }
    this.queued = undefined;
    this.written = queued.taken;
    return { done: false, value: queued.value };
  }

  /** Ends the stream. */
  async return(): Promise<IteratorResult<T>> {
    this.ended = true;
    this.wanted?.();
    return { done: true, value: undefined };
  }
}
