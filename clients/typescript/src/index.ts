/**
 * A client for Airlock, which runs the shell commands of AI agents in a sandbox.
 *
 * ```ts
 * import { connect } from "airlock-client";
 *
 * await using client = await connect();
 * await using sandbox = await client.session();
 * const result = await sandbox.run("make test", { onStdout: (data) => process.stdout.write(data) });
 * console.log(result.text);
 * ```
 *
 * @module
 */

export { Approvals, type AllowOptions, type ApprovalListOptions } from "./approvals.js";
export type { Cancellable } from "./cancel.js";
export { Client, connect, type CreateSessionOptions, type ExecutionListOptions, type InWorkspace } from "./client.js";
export type {
  CommandOptions,
  Mode,
  NetworkRules,
  Pty,
  SessionOptions,
  Shell,
  Signal,
  WorkspaceOptions,
} from "./command.js";
export {
  AirlockError,
  ApprovalRequiredError,
  ArchiveError,
  AuthenticationError,
  ContractError,
  DeadlineError,
  DeniedError,
  ForbiddenError,
  InvalidRequestError,
  LimitReachedError,
  LocalError,
  NotFoundError,
  RejectedError,
  SessionClosedError,
  SettingsError,
  StartUnknownError,
  UnreachableError,
  UnsupportedError,
  UntrustedError,
  ViewLostError,
  type ErrorKind,
  type FieldViolation,
  type Span,
} from "./errors.js";
export type { Backgrounded, Event, Finished, Gap, Opened, Output, Progress, StateChanged } from "./event.js";
export { Events, type Offsets } from "./events.js";
export { Execution, type ViewOptions, type WaitOptions } from "./execution.js";
export {
  Files,
  type CopyOptions,
  type DiffOptions,
  type FileEvent,
  type FileWatchOptions,
  type FilterOptions,
  type ListOptions,
  type ReadFileOptions,
  type WriteFileOptions,
} from "./files.js";
export { Forward } from "./forward.js";
export type { Approval, FileChange, FileInfo, SessionInfo, Transferred } from "./info.js";
export { OutputReader, type ReadOptions } from "./output.js";
export { Port } from "./port.js";
export type { Cause, Decision, ExecutionInfo, Note, Reason, Result, Violation } from "./result.js";
export type { Patience } from "./retry.js";
export type { Callbacks, FollowOptions } from "./run.js";
export type { OutputBytes, OutputDone, OutputGap, OutputLine, Piece, Search, Selection } from "./selection.js";
export { Session, type ForwardOptions, type UpdateOptions } from "./session.js";
export type { ConnectOptions } from "./settings.js";
export type { RunOptions, StartOptions } from "./starts.js";
export { Stdin } from "./stdin.js";
export type { WatchEvent, WatchOptions } from "./watch.js";
