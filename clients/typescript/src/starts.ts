/** The starts of commands, for a client and for a session. */

import { specOf, type CommandOptions, type Spec, type WorkspaceOptions } from "./command.js";
import { SLOW_CALL_TIMEOUT_MS, type Connection } from "./connection.js";
import { DeniedError, StartUnknownError, UnreachableError } from "./errors.js";
import { Execution } from "./execution.js";
import { ExecutionService } from "./gen/airlock/v1/execution_pb.js";
import { withResult } from "./outcome.js";
import type { Result } from "./result.js";
import { Run, type FollowOptions } from "./run.js";
import { requireNetwork } from "./watch.js";

/** The options of `run`. */
export interface RunOptions extends CommandOptions, FollowOptions {}

/** The options of `start`. */
export interface StartOptions extends CommandOptions {
  /** Ends the call. A command that was started continues. */
  readonly signal?: AbortSignal | undefined;
}

/** A command and the session that it runs in. */
export interface Where {
  readonly sessionId: string;
  readonly workspace?: WorkspaceOptions | undefined;
}

/**
 * Runs a command to its end.
 *
 * @internal
 */
export async function runCommand(
  connection: Connection,
  command: string | Uint8Array,
  where: Where,
  options: RunOptions,
): Promise<Result> {
  const { onStdout, onStderr, onGap, onApproval, onEvent, input, deadlineMs, killOnCancel, signal, ...rest } = options;
  const follow = { onStdout, onStderr, onGap, onApproval, onEvent, input, deadlineMs, killOnCancel, signal };
  const spec = await specFor(connection, command, where, input === undefined ? rest : { ...rest, stdin: true }, signal);
  return new Run(connection, spec, follow).result();
}

/**
 * Starts a command without following it.
 *
 * @internal
 */
export async function startCommand(
  connection: Connection,
  command: string | Uint8Array,
  where: Where,
  { signal, ...rest }: StartOptions,
): Promise<Execution> {
  const spec = await specFor(connection, command, where, rest, signal);
  const options = { timeoutMs: SLOW_CALL_TIMEOUT_MS, signal };
  try {
    const { execution } = await connection.unary(ExecutionService.method.start, { spec }, options);
    return new Execution(connection, execution?.executionId ?? "", 0);
  } catch (error) {
    if (error instanceof UnreachableError) {
      const problem = `no answer to the start, so it is not known whether the command runs: ${error.problem}`;
      throw new StartUnknownError(problem, spec.requestId, error);
    }
    throw error instanceof DeniedError ? await withResult(connection, error) : error;
  }
}

async function specFor(
  connection: Connection,
  command: string | Uint8Array,
  { sessionId, workspace }: Where,
  options: CommandOptions,
  signal: AbortSignal | undefined,
): Promise<Spec> {
  signal?.throwIfAborted();
  const spec = specOf(command, sessionId, options, workspace);
  if (spec.network !== undefined) {
    await requireNetwork(connection, signal);
  }
  return spec;
}
