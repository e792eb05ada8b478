/** Sessions, approvals and files. `raw` is the message with every field. */

import { create } from "@bufbuild/protobuf";

import { pathOf } from "./bytes.js";
import { ApprovalState, type Approval as RawApproval } from "./gen/airlock/v1/approval_pb.js";
import { Mode } from "./gen/airlock/v1/common_pb.js";
import {
  ChangeKind,
  FileType,
  type FileChange as RawFileChange,
  type FileInfo as RawFileInfo,
} from "./gen/airlock/v1/file_pb.js";
import { DecisionSchema } from "./gen/airlock/v1/policy_pb.js";
import { SessionState, type Session as RawSession } from "./gen/airlock/v1/session_pb.js";
import { moment, nameOf } from "./names.js";
import { decisionOf, type Decision } from "./result.js";

/** The state of a session. */
export interface SessionInfo {
  /** The session's ID. */
  readonly id: string;
  /** `opening`, `open`, `closing`, `closed` or `lost`. */
  readonly state: string;
  /** The name of the profile. */
  readonly profile: string;
  /** The loosest mode of the session's commands. */
  readonly mode: string;
  /** The working directory of the next command. */
  readonly directory: string;
  /** The base that the workspace was copied from, or an empty string. */
  readonly base: string;
  /** The labels of the session. */
  readonly labels: Readonly<Record<string, string>>;
  /** The message. */
  readonly raw: RawSession;
}

/** A question to a person about one execution, and the answer. */
export interface Approval {
  /** The approval's ID. */
  readonly id: string;
  /** The execution's ID. */
  readonly executionId: string;
  /** The session's ID. */
  readonly sessionId: string;
  /** The caller that submitted the command. */
  readonly principal: string;
  /** `open`, `allowed`, `denied`, `expired` or `withdrawn`. */
  readonly state: string;
  /** The command. */
  readonly command: string;
  /** The directory that the command runs in. */
  readonly directory: string;
  /** Text from the agent. It is not verified. */
  readonly description: string;
  /** `HOST:PORT`, if a connection of the running command waits for the answer. Empty: the command itself waits. */
  readonly connection: string;
  /** The decision of the policy. */
  readonly decision: Decision;
  /** The hash of everything that the answer covers. An answer is sent with the binding that was shown. */
  readonly binding: Uint8Array;
  /** The time at which the approval expires. */
  readonly expires: Date;
  /** The approver, or an empty string. */
  readonly decidedBy: string;
  /** The reason of the answer. */
  readonly reason: string;
  /** The message. `raw.terms` and `raw.files` have the other fields that the answer covers. */
  readonly raw: RawApproval;
}

/** The properties of a file. */
export interface FileInfo {
  /** An absolute path inside the sandbox. */
  readonly path: string;
  /** `regular`, `directory`, `symlink` or `other`. */
  readonly type: string;
  /** The size in bytes, of a regular file. */
  readonly size: number;
  /** The permission bits. */
  readonly mode: number;
  /** The time of the last modification. */
  readonly modified: Date;
  /** The target of a symbolic link, as it was written. */
  readonly linkTarget: string;
}

/** A changed file. */
export interface FileChange {
  /** `added`, `modified` or `deleted`. */
  readonly kind: string;
  /** An absolute path inside the sandbox. */
  readonly path: string;
  /** The file before the change. */
  readonly before: FileInfo | undefined;
  /** The file after the change. */
  readonly after: FileInfo | undefined;
  /** A unified diff, if one was requested and is possible. */
  readonly patch: string;
  /** The reason for a missing diff, such as `binary`. */
  readonly patchOmitted: string;
}

/** The result of a transfer of a directory. */
export interface Transferred {
  /** The number of files. */
  readonly files: number;
  /** The number of directories. */
  readonly directories: number;
  /** The number of links. */
  readonly links: number;
  /** Paths that are missing from the copy, with the reason: `PATH: REASON`. */
  readonly skipped: readonly string[];
}

/** @internal */
export function sessionOf(raw: RawSession): SessionInfo {
  return {
    id: raw.sessionId,
    state: nameOf(SessionState, raw.state),
    profile: raw.profile,
    mode: nameOf(Mode, raw.mode),
    directory: pathOf(raw.directory, raw.directoryBytes),
    base: raw.base,
    labels: { ...raw.labels },
    raw,
  };
}

/** @internal */
export function approvalOf(raw: RawApproval): Approval {
  return {
    id: raw.approvalId,
    executionId: raw.executionId,
    sessionId: raw.sessionId,
    principal: raw.principal,
    state: nameOf(ApprovalState, raw.state),
    command: pathOf(raw.command, raw.commandBytes),
    directory: pathOf(raw.directory, raw.directoryBytes),
    description: raw.description,
    connection: raw.connection === undefined ? "" : `${raw.connection.host}:${raw.connection.port}`,
    decision: decisionOf(raw.decision ?? create(DecisionSchema)),
    binding: raw.binding,
    expires: moment(raw.expires),
    decidedBy: raw.decidedBy,
    reason: raw.reason,
    raw,
  };
}

/** @internal */
export function fileOf(raw: RawFileInfo): FileInfo {
  return {
    path: pathOf(raw.path, raw.pathBytes),
    type: nameOf(FileType, raw.type),
    size: Number(raw.size),
    mode: raw.mode,
    modified: moment(raw.modified),
    linkTarget: pathOf(raw.linkTarget, raw.linkTargetBytes),
  };
}

/** @internal */
export function changeOf(raw: RawFileChange): FileChange {
  const before = raw.before && fileOf(raw.before);
  const after = raw.after && fileOf(raw.after);
  return {
    kind: nameOf(ChangeKind, raw.kind),
    path: (after ?? before)?.path ?? "",
    before,
    after,
    patch: pathOf(raw.patch, raw.patchBytes),
    patchOmitted: raw.patchOmitted,
  };
}
