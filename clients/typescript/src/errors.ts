/**
 * The errors of the client.
 *
 * Each has a `kind`, which is the same in every Airlock client, a stable `reason` if the server sent one, and a `remedy`.
 */

import type { Result } from "./result.js";

/** A range of byte offsets into a command. */
export interface Span {
  /** The first byte. */
  readonly start: number;
  /** The byte after the last one. */
  readonly end: number;
}

/** An invalid field of a request. */
export interface FieldViolation {
  /** The path of the field in the request. */
  readonly field: string;
  /** The problem with the field. */
  readonly description: string;
}

/** The name of a class of errors, the same in every Airlock client. */
export type ErrorKind =
  | "error"
  | "settings"
  | "unreachable"
  | "untrusted"
  | "rejected"
  | "unauthenticated"
  | "forbidden"
  | "invalid_request"
  | "not_found"
  | "session_closed"
  | "limit_reached"
  | "unsupported"
  | "denied"
  | "approval_required"
  | "start_unknown"
  | "view_lost"
  | "deadline"
  | "local"
  | "archive"
  | "contract";

/** The parts of an error that every class has. */
export interface ErrorParts {
  /** The stable name of the problem from the server. */
  readonly reason?: string | undefined;
  /** What to do. Default: the remedy of the class. */
  readonly remedy?: string | undefined;
  /** The execution that the error refers to. */
  readonly executionId?: string | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** The base of all errors of this package. `message` has the problem and the remedy. */
export class AirlockError extends Error {
  /** The name of this class of errors, the same in every Airlock client. */
  readonly kind: ErrorKind = "error";
  /** The problem, in one line. */
  readonly problem: string;
  /** The stable name of the problem from the server, such as `APPROVAL_REQUIRED`, or an empty string. */
  readonly reason: string;
  /** What to do, or an empty string. */
  readonly remedy: string;
  /** The execution that the error refers to, if there is one. */
  readonly executionId: string | undefined;
  /** The part of the command that the error refers to, if there is one. */
  span: Span | undefined = undefined;

  /** @internal */
  constructor(problem: string, parts: ErrorParts = {}, remedyOfClass = "") {
    const remedy = parts.remedy || remedyOfClass;
    // The server's messages often have the remedy.
    super(remedy && !problem.includes(remedy) ? `${problem}; ${remedy}` : problem);
    if (parts.cause !== undefined) {
      this.cause = parts.cause;
    }
    this.problem = problem;
    this.reason = parts.reason ?? "";
    this.remedy = remedy;
    this.executionId = parts.executionId;
    this.name = new.target.name;
  }
}

/** The connection settings are missing or invalid. No request was sent. */
export class SettingsError extends AirlockError {
  override readonly kind: ErrorKind = "settings";
}

/** No response arrived: there was no connection, or it broke. */
export class UnreachableError extends AirlockError {
  override readonly kind: ErrorKind = "unreachable";

  /** @internal */
  constructor(problem: string, parts: ErrorParts = {}) {
    super(problem, parts, "check that the server is running and can be reached from this host");
  }
}

/** TLS failed: the server's certificate is not trusted, or the server refuses this client's certificate. */
export class UntrustedError extends AirlockError {
  override readonly kind: ErrorKind = "untrusted";

  /** @internal */
  constructor(problem: string, parts: ErrorParts = {}) {
    super(
      problem,
      parts,
      "check that the CA file has the CA of the server's certificate, and that the certificate names this address",
    );
  }
}

/** The parts of an error that the server sent. */
export interface RejectionParts {
  /** The gRPC code, such as `NOT_FOUND`. */
  readonly code: string;
  /** The stable name of the problem. */
  readonly reason?: string | undefined;
  /** All invalid fields of the request. */
  readonly violations?: readonly FieldViolation[];
  /** The time in milliseconds after which a retry may succeed. */
  readonly retryAfterMs?: number | undefined;
  /** The remaining details. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** The server responded with an error. */
export class RejectedError extends AirlockError {
  override readonly kind: ErrorKind = "rejected";
  /** The gRPC code, such as `NOT_FOUND`. */
  readonly code: string;
  /** All invalid fields of the request. */
  readonly violations: readonly FieldViolation[];
  /** The time in milliseconds after which a retry may succeed, if the server sent one. */
  readonly retryAfterMs: number | undefined;
  /** The remaining details. */
  readonly metadata: Readonly<Record<string, string>>;

  /** @internal */
  constructor(problem: string, parts: RejectionParts, remedyOfClass = "") {
    super(problem, { reason: parts.reason, executionId: parts.metadata?.["execution_id"] }, remedyOfClass);
    this.code = parts.code;
    this.violations = parts.violations ?? [];
    this.retryAfterMs = parts.retryAfterMs;
    this.metadata = parts.metadata ?? {};
  }
}

/** The server does not accept the credentials: they are missing, unknown or expired. */
export class AuthenticationError extends RejectedError {
  override readonly kind: ErrorKind = "unauthenticated";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, "check that the token or certificate is a current one of this server");
  }
}

/** The caller's roles do not permit the call. */
export class ForbiddenError extends RejectedError {
  override readonly kind: ErrorKind = "forbidden";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, "ask the operator for the role that the message names");
  }
}

/** The request has invalid fields. `violations` lists all of them. */
export class InvalidRequestError extends RejectedError {
  override readonly kind: ErrorKind = "invalid_request";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, "correct the fields that `violations` names");
  }
}

/** The profile, session, execution, approval or file does not exist, or belongs to another tenant. */
export class NotFoundError extends RejectedError {
  override readonly kind: ErrorKind = "not_found";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, "check the name or the ID");
  }
}

/** The session is closed or lost, or not open yet. */
export class SessionClosedError extends RejectedError {
  override readonly kind: ErrorKind = "session_closed";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, "create another session");
  }
}

/** A limit is reached. `metadata.limit` names it. */
export class LimitReachedError extends RejectedError {
  override readonly kind: ErrorKind = "limit_reached";
}

/** The server is older than this client and lacks a method or field. */
export class UnsupportedError extends RejectedError {
  override readonly kind: ErrorKind = "unsupported";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, "upgrade the server, or do not use this feature");
  }
}

/**
 * Policy or a person denied the command. It did not run.
 *
 * `span` is the part of the command that decided, `text` is for the model.
 */
export class DeniedError extends RejectedError {
  override readonly kind: ErrorKind = "denied";
  /** The result of the denied execution, with its decision, if it could be read. */
  result: Result | undefined = undefined;

  /** @internal */
  constructor(
    problem: string,
    parts: RejectionParts,
    remedyOfClass = "use another command, or ask the operator for a rule that allows it",
  ) {
    super(problem, parts, remedyOfClass);
  }

  /** The text for a model: the refusal and its reason. */
  get text(): string {
    return this.result ? this.result.text : `airlock: ${this.problem}; it did not run\n`;
  }
}

/** Policy asks for a person, and the request did not wait for one. The command did not run. */
export class ApprovalRequiredError extends DeniedError {
  override readonly kind: ErrorKind = "approval_required";

  /** @internal */
  constructor(problem: string, parts: RejectionParts) {
    super(problem, parts, 'run it with onAsk: "wait", and let an approver answer');
  }
}

/** A start was sent and no response arrived. The command may run, may have run, or may never run. */
export class StartUnknownError extends AirlockError {
  override readonly kind: ErrorKind = "start_unknown";
  /** The key of the start. */
  readonly requestId: string;

  /** @internal */
  constructor(problem: string, requestId: string, cause?: unknown) {
    super(problem, { cause }, "repeat the start with the same request ID; it returns the execution, if there is one");
    this.requestId = requestId;
  }
}

/** The view of an execution broke repeatedly. The result of the execution is unknown. */
export class ViewLostError extends AirlockError {
  override readonly kind: ErrorKind = "view_lost";
  /** The position to attach with. Empty: from the beginning. */
  readonly cursor: Uint8Array;

  /** @internal */
  constructor(problem: string, executionId: string, cursor: Uint8Array, cause?: unknown) {
    super(problem, { executionId, cause }, "attach to the execution with the cursor");
    this.cursor = cursor;
  }
}

/** The caller's deadline expired before the call was complete. */
export class DeadlineError extends AirlockError {
  override readonly kind: ErrorKind = "deadline";
}

/** A local file or connection failed. */
export class LocalError extends AirlockError {
  override readonly kind: ErrorKind = "local";
}

/** A received archive was refused, or a local directory cannot be packed. */
export class ArchiveError extends LocalError {
  override readonly kind: ErrorKind = "archive";
}

/** The server's response violates the contract. */
export class ContractError extends AirlockError {
  override readonly kind: ErrorKind = "contract";

  /** @internal */
  constructor(problem: string, parts: ErrorParts = {}) {
    super(problem, parts, "report it: this is a bug in the server, or something else answers at this address");
  }
}

/**
 * Reports whether the same call may succeed soon and is safe to repeat.
 *
 * @internal
 */
export function isPassing(error: AirlockError): boolean {
  return error instanceof RejectedError ? error.code === "UNAVAILABLE" : error instanceof UnreachableError;
}
