/** A workspace that several commands share. */

import { create } from "@bufbuild/protobuf";

import type { Cancellable } from "./cancel.js";
import { modeOf, rulesOf, times, type Mode, type NetworkRules } from "./command.js";
import { SLOW_CALL_TIMEOUT_MS, type Connection } from "./connection.js";
import { Execution } from "./execution.js";
import { Files } from "./files.js";
import { Forward } from "./forward.js";
import { SessionSchema, SessionService, type Session as RawSession } from "./gen/airlock/v1/session_pb.js";
import { sessionOf, type SessionInfo } from "./info.js";
import { Port } from "./port.js";
import type { Result } from "./result.js";
import { runCommand, startCommand, type RunOptions, type StartOptions } from "./starts.js";
import { requireNetwork, watched, type WatchEvent, type WatchOptions } from "./watch.js";

const { close, get, update } = SessionService.method;

/** The changes of a session. */
export interface UpdateOptions extends Cancellable {
  /** The mode of later commands. */
  readonly mode?: Mode | undefined;
  /** The time without use after which the session is closed, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
  /** The network of later commands. */
  readonly network?: NetworkRules | undefined;
  /** Remove the session's network rules, so that only the profile's apply. */
  readonly resetNetwork?: boolean | undefined;
}

/** The options of a listener. */
export interface ForwardOptions {
  /** The port on this host. Default: a free one. */
  readonly localPort?: number | undefined;
}

/** A workspace that several commands share. `await using` closes it at the end of the block. */
export class Session implements AsyncDisposable {
  /** The session's ID. */
  readonly id: string;
  /** The files of the session. */
  readonly files: Files;
  private known: SessionInfo;

  /** @internal */
  constructor(
    private readonly connection: Connection,
    raw: RawSession | undefined,
  ) {
    this.known = infoOf(raw);
    this.id = this.known.id;
    this.files = new Files(connection, this.id);
  }

  /** The state when the session was created or last read. */
  get info(): SessionInfo {
    return this.known;
  }

  /**
   * Runs a command to its end and returns the result. Each byte of the output reaches a callback once.
   *
   * Rejects with `DeniedError` if policy or a person denies it, and with `DeadlineError` after `deadlineMs`. If the call
   * ends before the command does, the command is killed, unless `killOnCancel` is false.
   */
  run(command: string | Uint8Array, options: RunOptions = {}): Promise<Result> {
    return runCommand(this.connection, command, { sessionId: this.id }, options);
  }

  /** Starts a command without following it. The next command waits for it, unless `background` is set. */
  start(command: string | Uint8Array, options: StartOptions = {}): Promise<Execution> {
    return startCommand(this.connection, command, { sessionId: this.id }, options);
  }

  /** Returns an execution by its ID. Nothing is sent. */
  attach(executionId: string): Execution {
    return new Execution(this.connection, executionId);
  }

  /** Reads the state again. */
  async refresh({ signal }: Cancellable = {}): Promise<SessionInfo> {
    const { session } = await this.connection.unary(get, { sessionId: this.id }, { signal });
    this.known = infoOf(session);
    return this.known;
  }

  /** Changes the mode, the idle timeout or the network for later commands. */
  async update({ mode, idleTimeoutMs, network, resetNetwork, signal }: UpdateOptions): Promise<SessionInfo> {
    if (network !== undefined || resetNetwork) {
      await requireNetwork(this.connection, signal);
    }
    const request = {
      sessionId: this.id,
      mode: modeOf(mode),
      resetNetwork: resetNetwork ?? false,
      ...times({ idleTimeout: idleTimeoutMs }),
      ...(network === undefined ? {} : { network: rulesOf(network) }),
    };
    const { session } = await this.connection.unary(update, request, { signal });
    this.known = infoOf(session);
    return this.known;
  }

  /** Ends the running commands and removes the workspace. Closing a closed session succeeds. */
  async close({ signal }: Cancellable = {}): Promise<void> {
    const options = { timeoutMs: SLOW_CALL_TIMEOUT_MS, signal };
    const { session } = await this.connection.unary(close, { sessionId: this.id }, options);
    this.known = infoOf(session);
  }

  /** Closes the session. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Connects to a TCP port of the session: `await using port = await session.connect(8000)`. */
  connect(port: number, options: Cancellable = {}): Promise<Port> {
    return Port.open(this.connection, this.id, port, options);
  }

  /** Listens on this host, and forwards each connection to a port of the session. */
  forward(port: number, { localPort = 0 }: ForwardOptions = {}): Promise<Forward> {
    return Forward.open(this.connection, this.id, port, localPort);
  }

  /** Returns the starts and ends of the session's executions as they happen. */
  watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent, void, void> {
    return watched(this.connection, this.id, options);
  }
}

function infoOf(raw: RawSession | undefined): SessionInfo {
  return sessionOf(raw ?? create(SessionSchema));
}
