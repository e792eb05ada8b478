/** The connections of a client: channels, credentials that are read again, and calls that are repeated. */

import type {
  DescMessage,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf";
import { ConnectError, type StreamResponse } from "@connectrpc/connect";

import { Channel } from "./channel.js";
import { AirlockError, ContractError, SettingsError, UnreachableError } from "./errors.js";
import { probe } from "./probe.js";
import { retrying, type Patience } from "./retry.js";
import { readCredentials, sameCredentials, targets, type Credentials, type Settings, type Target } from "./settings.js";
import { fromRpc, oneLine } from "./status.js";
import { View } from "./view.js";

/** The timeout of a call that does not wait. */
export const CALL_TIMEOUT_MS = 30_000;
/** The timeout of a call that waits for a runner. */
export const SLOW_CALL_TIMEOUT_MS = 90_000;
/** The interval between two checks of the credential files. */
const LOOK_MS = 1_000;

/** The channels of one server. Each has a connection of its own, so that unread output cannot block a Cancel. */
interface Pair {
  readonly calls: Channel;
  readonly views: Channel;
}

/** The options of a call. */
export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The connections of a client. */
export class Connection {
  /** Whether the server is known to support network rules. */
  knowsNetwork = false;
  private readonly targets: readonly Target[];
  private at = 0;
  private pairs = new Map<number, Pair>();
  private retired: Channel[] = [];
  private looked = performance.now();
  private closed = false;

  private constructor(
    private readonly settings: Settings,
    private credentials: Credentials,
    private readonly lookMs: number,
  ) {
    this.targets = targets(settings);
  }

  /** Returns the connections for settings. Nothing is connected yet. */
  static async of(settings: Settings, lookMs = LOOK_MS): Promise<Connection> {
    return new Connection(settings, await readCredentials(settings), lookMs);
  }

  /** The times to retry. */
  get patience(): Patience {
    return this.settings.patience;
  }

  /** The address of the server in use. */
  get address(): string {
    return this.target.address;
  }

  private get target(): Target {
    const target = this.targets[this.at % this.targets.length];
    if (target === undefined) {
      throw new SettingsError("no address was named");
    }
    return target;
  }

  /** Connects to a server and ends the connection, to get one clear error if that fails. */
  async check(signal?: AbortSignal): Promise<void> {
    let last: unknown;
    for (let count = 0; count < this.targets.length; count++) {
      try {
        await probe(this.target, this.credentials, this.settings.serverName, signal);
        return;
      } catch (error) {
        if (!(error instanceof AirlockError)) {
          throw error;
        }
        last = error;
        this.at += 1;
      }
    }
    throw last;
  }

  /** Ends all connections. */
  close(): void {
    this.closed = true;
    const channels = [...this.pairs.values()].flatMap(({ calls, views }) => [calls, views]);
    for (const channel of [...channels, ...this.retired]) {
      channel.close();
    }
    this.pairs.clear();
    this.retired = [];
  }

  /** Makes a unary call, and repeats it while the server cannot be reached, for at most `patience.callMs`. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options: CallOptions = {},
  ): Promise<MessageShape<O>> {
    return retrying(this.patience, () => this.once(method, request, options), options.signal);
  }

  /** Makes a unary call once. */
  async once<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    { timeoutMs = CALL_TIMEOUT_MS, signal }: CallOptions = {},
  ): Promise<MessageShape<O>> {
    const { calls } = await this.pair();
    try {
      return (await calls.transport.unary(method, signal, timeoutMs, this.headers(), request)).message;
    } catch (error) {
      throw this.error(error, signal);
    }
  }

  /** Opens a stream of responses. */
  async view<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
    signal?: AbortSignal,
  ): Promise<View<MessageShape<O>>> {
    const { views } = await this.pair();
    return new View(this, signal, (own) =>
      views.transport.stream(method, own, undefined, this.headers(), once(request)),
    );
  }

  /** Sends a stream of requests, and returns the response. */
  async sending<I extends DescMessage, O extends DescMessage>(
    channel: Channel,
    method: DescMethodClientStreaming<I, O>,
    source: AsyncIterable<MessageInitShape<I>>,
    signal?: AbortSignal,
  ): Promise<MessageShape<O>> {
    let answer: MessageShape<O> | undefined;
    try {
      const response = await channel.transport.stream(method, signal, undefined, this.headers(), source);
      for await (const message of response.message) {
        answer = message;
      }
    } catch (error) {
      throw this.error(error, signal);
    }
    if (answer === undefined) {
      throw this.contract("it sent no response");
    }
    return answer;
  }

  /** Opens a stream in both directions. */
  both<I extends DescMessage, O extends DescMessage>(
    channel: Channel,
    method: DescMethodStreaming<I, O>,
    source: AsyncIterable<MessageInitShape<I>>,
    signal: AbortSignal,
  ): Promise<StreamResponse<I, O>> {
    return channel.transport.stream(method, signal, undefined, this.headers(), source);
  }

  /** Returns a channel for one stream that can block because the other side stops reading. The caller closes it. */
  async separate(): Promise<Channel> {
    await this.refresh();
    return this.channel();
  }

  /** Returns the error for a failed call. The next call uses the next server. */
  error(error: unknown, signal?: AbortSignal): unknown {
    if (signal?.aborted) {
      return signal.reason;
    }
    if (error instanceof AirlockError) {
      return error;
    }
    if (!(error instanceof ConnectError)) {
      return this.unreachable(oneLine(String(error)), error);
    }
    const made = fromRpc(this.address, error);
    if (made instanceof UnreachableError) {
      this.at += 1;
    }
    return made;
  }

  /** Returns an error for a missing response. */
  unreachable(message: string, cause?: unknown): UnreachableError {
    return new UnreachableError(`no answer from ${this.address}: ${message}`, { cause });
  }

  /** Returns an error for a response that violates the contract. */
  contract(message: string): ContractError {
    return new ContractError(`the server at ${this.address} violated the contract: ${message}`);
  }

  private async pair(): Promise<Pair> {
    await this.refresh();
    const index = this.at % this.targets.length;
    let pair = this.pairs.get(index);
    if (pair === undefined) {
      pair = { calls: this.channel(), views: this.channel() };
      this.pairs.set(index, pair);
    }
    return pair;
  }

  /** Reads the credential files again. Open calls keep their connections; invalid files change nothing. */
  private async refresh(): Promise<void> {
    if (!this.closed && performance.now() - this.looked >= this.lookMs) {
      this.looked = performance.now();
      await this.reread();
    }
    if (this.closed) {
      throw new SettingsError("the client is closed", { remedy: "connect again" });
    }
  }

  private async reread(): Promise<void> {
    let now: Credentials;
    try {
      now = await readCredentials(this.settings);
    } catch (error) {
      if (error instanceof SettingsError) {
        return;
      }
      throw error;
    }
    const idle = this.retired.filter((channel) => channel.idle);
    idle.forEach((channel) => channel.close());
    this.retired = this.retired.filter((channel) => !idle.includes(channel));
    if (!sameCredentials(now, this.credentials)) {
      this.credentials = now;
      this.retired.push(...[...this.pairs.values()].flatMap(({ calls, views }) => [calls, views]));
      this.pairs.clear();
    }
  }

  private channel(): Channel {
    return new Channel(this.target, this.credentials, this.settings.serverName);
  }

  private headers(): Record<string, string> {
    const { token } = this.credentials;
    const { traceparent } = this.settings;
    return {
      ...(token === undefined ? {} : { authorization: `Bearer ${token.reveal()}` }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
  }
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}
