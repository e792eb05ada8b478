/**
 * The events and bytes that a reader has received.
 *
 * They prevent an event or byte from being returned twice or skipped silently.
 */

import { OutputStream } from "./gen/airlock/v1/common_pb.js";
import type { Event, Gap, Output, StateChanged } from "./gen/airlock/v1/execution_pb.js";

/** The violation of a server that skips bytes. */
export const SKIPPED = "it skipped bytes without reporting a gap";

/** An event cannot follow the previous ones. */
export class ContractBroken extends Error {}

/** The position of a reader in an execution's events. */
export class ReaderPosition {
  private opened = false;
  private state: readonly [version: bigint, state: number, link: number] | undefined;
  /** The next offset of each stream. `undefined`: any. */
  private readonly at: Map<OutputStream, bigint | undefined>;

  constructor(stdout?: number, stderr?: number) {
    this.at = new Map([
      [OutputStream.STDOUT, stdout === undefined ? undefined : BigInt(stdout)],
      [OutputStream.STDERR, stderr === undefined ? undefined : BigInt(stderr)],
    ]);
  }

  /** Records an event, removes the part that the reader has, and reports whether something new remains. */
  admit({ event }: Event): boolean {
    switch (event.case) {
      case undefined:
        // An event of a later version of the contract. Later versions only add events.
        return false;
      case "opened": {
        const isNew = !this.opened;
        this.opened = true;
        return isNew;
      }
      case "stateChanged":
        return this.admitState(event.value);
      case "output":
        return this.admitOutput(event.value);
      case "gap":
        return this.admitGap(event.value);
      default:
        return true;
    }
  }

  private admitState(change: StateChanged): boolean {
    const had = this.state;
    if (had !== undefined) {
      const [version, state, link] = had;
      const same = change.version === version && change.state === state && change.link === link;
      if (change.version < version || same) {
        return false;
      }
    }
    this.state = [change.version, change.state, change.link];
    return true;
  }

  private admitOutput(output: Output): boolean {
    const start = this.start(output.stream, output.offset);
    const end = output.offset + BigInt(output.data.length);
    output.data = output.data.subarray(Number(start - output.offset));
    output.offset = start;
    this.at.set(output.stream, end > start ? end : start);
    return output.data.length > 0;
  }

  private admitGap(gap: Gap): boolean {
    const start = this.start(gap.stream, gap.from);
    gap.from = start;
    this.at.set(gap.stream, gap.to > start ? gap.to : start);
    return gap.to > start;
  }

  private start(stream: OutputStream, offset: bigint): bigint {
    if (!this.at.has(stream)) {
      throw new ContractBroken("it sent output of an unknown stream");
    }
    const start = this.at.get(stream) ?? offset;
    if (offset > start) {
      throw new ContractBroken(SKIPPED);
    }
    return start;
  }
}
