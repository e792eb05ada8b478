/** A connection to a server, and `connect`, which opens one. */

import { Approvals } from "./approvals.js";
import type { Cancellable } from "./cancel.js";
import { createOf, type SessionOptions, type WorkspaceOptions } from "./command.js";
import { Connection, SLOW_CALL_TIMEOUT_MS } from "./connection.js";
import { Execution } from "./execution.js";
import { ExecutionService } from "./gen/airlock/v1/execution_pb.js";
import { SessionService } from "./gen/airlock/v1/session_pb.js";
import { sessionOf, type SessionInfo } from "./info.js";
import { executionOf, type ExecutionInfo, type Result } from "./result.js";
import { Session } from "./session.js";
import { find, type ConnectOptions } from "./settings.js";
import { runCommand, startCommand, type RunOptions, type StartOptions } from "./starts.js";
import { requireNetwork, watched, type WatchEvent, type WatchOptions } from "./watch.js";

/** The options of the creation of a session. */
export interface CreateSessionOptions extends SessionOptions, Cancellable {}

/** The options of a list of executions. */
export interface ExecutionListOptions extends Cancellable {
  /** Only the executions of this session. */
  readonly sessionId?: string | undefined;
}

/** The options of a command in a temporary session. */
export interface InWorkspace {
  /** The options of the temporary session. */
  readonly workspace?: WorkspaceOptions | undefined;
}

/**
 * Connects to a server. A broken connection is re-established automatically.
 *
 * Without an option, the settings come from `AIRLOCK_ADDRESS`, `AIRLOCK_CA`, `AIRLOCK_TOKEN_FILE`, `AIRLOCK_CERT` and
 * `AIRLOCK_KEY`. Without an address, they come from the `connection.json` of `airlock dev`, in `AIRLOCK_STATE` or the
 * default state directory. Rejects with `SettingsError`, `UnreachableError` or `UntrustedError`.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const connection = await Connection.of(await find(options));
  await connection.check(options.signal);
  return new Client(connection);
}

/** A connection to a server. `await using` ends it at the end of the block. */
export class Client implements AsyncDisposable {
  /** The commands that wait for a person. */
  readonly approvals: Approvals;

  /** @internal */
  constructor(private readonly connection: Connection) {
    this.approvals = new Approvals(connection);
  }

  /** The address of the server. */
  get address(): string {
    return this.connection.address;
  }

  /** Ends the connections. Commands continue. */
  async close(): Promise<void> {
    this.connection.close();
  }

  /** Ends the connections. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Creates a session and waits until it is usable. */
  async session({ signal, ...options }: CreateSessionOptions = {}): Promise<Session> {
    const request = createOf(options);
    if (request.network !== undefined) {
      await requireNetwork(this.connection, signal);
    }
    const slow = { timeoutMs: SLOW_CALL_TIMEOUT_MS, signal };
    const { session } = await this.connection.unary(SessionService.method.create, request, slow);
    return new Session(this.connection, session);
  }

  /** Returns an existing session by its ID. */
  async openSession(sessionId: string, { signal }: Cancellable = {}): Promise<Session> {
    const { session } = await this.connection.unary(SessionService.method.get, { sessionId }, { signal });
    return new Session(this.connection, session);
  }

  /** Returns the sessions that are not closed, newest first. */
  async sessions({ signal }: Cancellable = {}): Promise<SessionInfo[]> {
    const found: SessionInfo[] = [];
    for (let pageToken = ""; ;) {
      const answer = await this.connection.unary(SessionService.method.list, { page: { pageToken } }, { signal });
      found.push(...answer.sessions.map(sessionOf));
      pageToken = answer.nextPageToken;
      if (pageToken === "") {
        return found;
      }
    }
  }

  /** Returns the executions of the tenant, or of one session, newest first. */
  async executions({ sessionId = "", signal }: ExecutionListOptions = {}): Promise<ExecutionInfo[]> {
    const filter = { sessionId };
    const found: ExecutionInfo[] = [];
    for (let pageToken = ""; ;) {
      const request = { filter, page: { pageToken } };
      const answer = await this.connection.unary(ExecutionService.method.list, request, { signal });
      found.push(...answer.executions.map(executionOf));
      pageToken = answer.nextPageToken;
      if (pageToken === "") {
        return found;
      }
    }
  }

  /** Runs a command in a temporary session, as `Session.run` does. */
  run(command: string | Uint8Array, { workspace, ...options }: RunOptions & InWorkspace = {}): Promise<Result> {
    return runCommand(this.connection, command, { sessionId: "", workspace }, options);
  }

  /** Starts a command in a temporary session, without following it. */
  start(command: string | Uint8Array, { workspace, ...options }: StartOptions & InWorkspace = {}): Promise<Execution> {
    return startCommand(this.connection, command, { sessionId: "", workspace }, options);
  }

  /** Returns an execution by its ID. Nothing is sent. */
  attach(executionId: string): Execution {
    return new Execution(this.connection, executionId);
  }

  /** Returns the starts and ends of the tenant's executions as they happen. */
  watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent, void, void> {
    return watched(this.connection, "", options);
  }
}
