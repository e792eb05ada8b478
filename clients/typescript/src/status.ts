/** Conversion of a gRPC status and its `google.rpc` details to an error. This module does not retry. */

import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";

import {
  AirlockError,
  ApprovalRequiredError,
  AuthenticationError,
  DeniedError,
  ForbiddenError,
  InvalidRequestError,
  LimitReachedError,
  NotFoundError,
  RejectedError,
  SessionClosedError,
  UnreachableError,
  UnsupportedError,
  type RejectionParts,
} from "./errors.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";

type Rejection = new (problem: string, parts: RejectionParts) => RejectedError;

/** The server's own errors always have an ErrorInfo. Without one, the library made these codes for a broken connection. */
const BROKEN: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.Unknown,
  Code.Internal,
  Code.Canceled,
  Code.DeadlineExceeded,
  Code.Aborted,
  Code.DataLoss,
]);

const BY_REASON: Readonly<Record<string, Rejection>> = {
  DENIED: DeniedError,
  APPROVAL_REQUIRED: ApprovalRequiredError,
  SESSION_CLOSED: SessionClosedError,
  SESSION_LOST: SessionClosedError,
  SESSION_NOT_OPEN: SessionClosedError,
};

const BY_CODE: Readonly<Partial<Record<Code, Rejection>>> = {
  [Code.Unauthenticated]: AuthenticationError,
  [Code.PermissionDenied]: ForbiddenError,
  [Code.InvalidArgument]: InvalidRequestError,
  [Code.NotFound]: NotFoundError,
  [Code.ResourceExhausted]: LimitReachedError,
  [Code.Unimplemented]: UnsupportedError,
};

/** Returns the error for a failed call to `address`. */
export function fromRpc(address: string, error: ConnectError): AirlockError {
  const code = codeName(error.code);
  const message = oneLine(error.rawMessage) || code.toLowerCase().replaceAll("_", " ");
  const [info] = error.findDetails(ErrorInfoSchema);
  if (info === undefined && BROKEN.has(error.code)) {
    return new UnreachableError(`no answer from ${address}: ${message}`, { cause: error });
  }
  const [retry] = error.findDetails(RetryInfoSchema);
  const [bad] = error.findDetails(BadRequestSchema);
  const reason = info?.reason ?? "";
  const made = BY_REASON[reason] ?? BY_CODE[error.code] ?? RejectedError;
  const problem =
    made === UnsupportedError ? `the server at ${address} does not support this call: ${message}` : message;
  return new made(problem, {
    code,
    reason,
    violations: bad?.fieldViolations.map(({ field, description }) => ({ field, description })) ?? [],
    retryAfterMs: retry?.retryDelay === undefined ? undefined : durationMs(retry.retryDelay),
    metadata: { ...info?.metadata },
  });
}

/** Returns the gRPC name of a code, such as `NOT_FOUND`. */
function codeName(code: Code): string {
  return code === Code.Canceled ? "CANCELLED" : Code[code].replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/** Returns the text without control characters, which must not reach a terminal. */
export function oneLine(text: string): string {
  return text.trim().replaceAll(/[\x00-\x1f\x7f]/g, " ");
}
