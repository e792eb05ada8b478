/** The result of a command that has ended, or the error of one that was denied. */

import type { Connection } from "./connection.js";
import { AirlockError, ApprovalRequiredError, DeniedError } from "./errors.js";
import type { Backgrounded, Finished } from "./event.js";
import { ExecutionService, ExecutionView } from "./gen/airlock/v1/execution_pb.js";
import { executionOf, runningResult, type ExecutionInfo, type Result } from "./result.js";

/** Returns the result of a closing event. Throws `DeniedError` for a denied command. */
export function outcomeOf(event: Finished | Backgrounded): Result {
  return event.type === "backgrounded" ? runningResult(event.execution.raw) : checked(event.result);
}

/** Returns the result, or throws `DeniedError` if the command was denied. */
export function checked(result: Result): Result {
  if (result.cause.code !== "denied") {
    return result;
  }
  const detail = result.raw.cause?.detail;
  const reason = (detail?.case === "denied" && detail.value.reason) || result.cause.message;
  const asked = result.cause.detail === "nobody_to_ask";
  const made = asked ? ApprovalRequiredError : DeniedError;
  const error = new made(reason, {
    code: "PERMISSION_DENIED",
    reason: asked ? "APPROVAL_REQUIRED" : "DENIED",
    metadata: { execution_id: result.executionId },
  });
  explain(error, result);
  throw error;
}

/** Adds the span and the result of the execution that the error names. */
export async function withResult(connection: Connection, error: DeniedError): Promise<DeniedError> {
  const result = error.executionId && (await fullInfo(connection, error.executionId))?.result;
  if (result) {
    explain(error, result);
  }
  return error;
}

/** Returns an execution with its decision, or `undefined` if it cannot be read. */
export async function fullInfo(connection: Connection, executionId: string): Promise<ExecutionInfo | undefined> {
  try {
    const request = { executionId, view: ExecutionView.FULL };
    const { execution } = await connection.unary(ExecutionService.method.get, request);
    return execution && executionOf(execution);
  } catch (error) {
    if (error instanceof AirlockError) {
      return undefined;
    }
    throw error;
  }
}

/** Returns the event with the decision, which closing events do not have. */
export async function withDecision(connection: Connection, event: Finished): Promise<Finished> {
  const execution = await fullInfo(connection, event.execution.id);
  const result = execution?.result;
  return execution && result ? { ...event, execution, result } : event;
}

function explain(error: DeniedError, result: Result): void {
  error.result = result;
  error.span = result.decision?.reasons.find(({ span }) => span !== undefined)?.span;
}
