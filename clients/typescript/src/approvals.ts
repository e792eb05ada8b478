/** Approvals: commands, and connections of running commands, that wait for a person. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { sleep, type Cancellable } from "./cancel.js";
import type { Connection } from "./connection.js";
import { NotFoundError } from "./errors.js";
import type { Event } from "./event.js";
import { Events } from "./events.js";
import {
  ApprovalSchema,
  ApprovalService,
  ApprovalState,
  RuleScope,
  type ApprovalServiceDecideRequestSchema,
} from "./gen/airlock/v1/approval_pb.js";
import { approvalOf, type Approval } from "./info.js";

type Answer = NonNullable<MessageInitShape<typeof ApprovalServiceDecideRequestSchema>["answer"]>;

const { decide, list } = ApprovalService.method;
const PENDING = "pending_approval";
/** The time between two looks at an approval of a connection, in milliseconds. */
const POLL_MS = 500;
const ALL = [
  ApprovalState.OPEN,
  ApprovalState.ALLOWED,
  ApprovalState.DENIED,
  ApprovalState.EXPIRED,
  ApprovalState.WITHDRAWN,
];
const SCOPES = { session: RuleScope.SESSION, tenant: RuleScope.TENANT };

/** The options of a list of approvals. */
export interface ApprovalListOptions extends Cancellable {
  /** Only the approvals of this session. */
  readonly sessionId?: string | undefined;
  /** Return also the answered approvals. */
  readonly allStates?: boolean | undefined;
}

/** The options of an answer that allows a command. */
export interface AllowOptions extends Cancellable {
  /** Also add rules that allow later commands of the session, or of the tenant. */
  readonly remember?: "session" | "tenant" | undefined;
  /** The rules to add. Default: those that the decision suggests. */
  readonly rules?: readonly string[] | undefined;
}

/** The approvals of the caller's tenant. To answer one, the caller needs the role `approver`. */
export class Approvals {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /** Returns the open approvals, or also the answered ones, oldest first. */
  async list({ sessionId = "", allStates = false, signal }: ApprovalListOptions = {}): Promise<Approval[]> {
    const filter = { sessionId, states: allStates ? ALL : [] };
    const found: Approval[] = [];
    for (let pageToken = ""; ;) {
      const answer = await this.connection.unary(list, { filter, page: { pageToken } }, { signal });
      found.push(...answer.approvals.map(approvalOf));
      pageToken = answer.nextPageToken;
      if (pageToken === "") {
        return found;
      }
    }
  }

  /** Returns one approval. Rejects with `NotFoundError` if there is none with this ID. */
  async show(approvalId: string, { signal }: Cancellable = {}): Promise<Approval> {
    const all = await this.list({ allStates: true, signal });
    const found = all.find(({ id }) => id === approvalId);
    if (found === undefined) {
      throw new NotFoundError(`there is no approval \`${approvalId}\``, { code: "NOT_FOUND", reason: "NOT_FOUND" });
    }
    return found;
  }

  /** Allows the command as it was shown. `remember` also adds rules. */
  allow(approval: Approval, { remember, rules = [], signal }: AllowOptions = {}): Promise<Approval> {
    const answer: Answer =
      remember === undefined
        ? { case: "allowOnce", value: {} }
        : { case: "allowAndRemember", value: { scope: SCOPES[remember], rules: [...rules] } };
    return this.decide(approval, answer, signal);
  }

  /** Denies the command. The agent sees the reason. */
  deny(approval: Approval, reason = "", { signal }: Cancellable = {}): Promise<Approval> {
    return this.decide(approval, { case: "deny", value: { reason } }, signal);
  }

  /** Waits until the approval is no longer open, and returns it. */
  async wait(approval: Approval, { signal }: Cancellable = {}): Promise<Approval> {
    if (approval.connection !== "") {
      return this.waitForConnection(approval, signal);
    }
    const events = new Events(this.connection, { executionId: approval.executionId, signal });
    for await (const event of events) {
      if (waits(event, approval.id) === false) {
        const now = await this.show(approval.id, { signal });
        if (now.state !== "open") {
          return now;
        }
      }
    }
    return this.show(approval.id, { signal });
  }

  /** The command runs on, so that no event follows the answer. */
  private async waitForConnection(approval: Approval, signal: AbortSignal | undefined): Promise<Approval> {
    for (;;) {
      const now = await this.show(approval.id, { signal });
      if (now.state !== "open") {
        return now;
      }
      await sleep(POLL_MS, signal);
    }
  }

  private async decide(approval: Approval, answer: Answer, signal: AbortSignal | undefined): Promise<Approval> {
    const request = { approvalId: approval.id, binding: approval.binding, answer };
    const response = await this.connection.unary(decide, request, { signal });
    return approvalOf(response.approval ?? create(ApprovalSchema));
  }
}

/** Reports whether an event shows that the execution waits for the approval. `undefined`: it shows neither. */
function waits(event: Event, approvalId: string): boolean | undefined {
  switch (event.type) {
    case "opened":
      return event.execution.state === PENDING && event.execution.approvalId === approvalId;
    case "state_changed":
      // The history begins with the states before the question.
      return event.state === PENDING && event.approvalId === approvalId;
    default:
      return undefined;
  }
}
