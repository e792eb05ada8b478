/**
 * Reads parts of an execution's output.
 *
 * After a broken connection, reading continues at the same position without losing or repeating a byte.
 */

import type { Connection } from "./connection.js";
import { OutputStream } from "./gen/airlock/v1/common_pb.js";
import { ExecutionService, type ExecutionServiceReadOutputResponse } from "./gen/airlock/v1/execution_pb.js";
import { ContractBroken } from "./position.js";
import { ByteReading, LineReading, type Reading } from "./reading.js";
import { Retries } from "./retry.js";
import type { Piece, Search, Selection } from "./selection.js";
import type { View } from "./view.js";

/** What a reader of an output reads. */
export interface ReadOptions {
  /** Read stderr, which is separate if the command was started with `separateStderr`. */
  readonly stderr?: boolean | undefined;
  /** Ends the read. */
  readonly signal?: AbortSignal | undefined;
}

/** A reader of one part of one output stream. The last piece is `done`. */
export class OutputReader implements AsyncIterableIterator<Piece>, AsyncDisposable {
  private readonly position: Reading;
  private readonly retries: Retries;
  private view: View<ExecutionServiceReadOutputResponse> | undefined;
  private finished = false;

  /** @internal */
  constructor(
    private readonly connection: Connection,
    private readonly executionId: string,
    selection: Selection | Search,
    private readonly options: ReadOptions,
  ) {
    this.position = "pattern" in selection ? new LineReading(selection) : new ByteReading(selection);
    this.retries = new Retries(connection.patience);
  }

  /** Returns this iterator. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the next piece. */
  async next(): Promise<IteratorResult<Piece, undefined>> {
    while (!this.finished) {
      try {
        const piece = await this.step();
        if (piece !== undefined) {
          this.retries.reset();
          this.finished = piece.type === "done";
          return { done: false, value: piece };
        }
      } catch (error) {
        this.dropView();
        this.position.cut();
        await this.retries.outlast(error, this.connection.patience.callMs, this.options.signal);
      }
    }
    return this.return();
  }

  /** Ends the read. */
  async return(): Promise<IteratorResult<Piece, undefined>> {
    this.finished = true;
    this.dropView();
    return { done: true, value: undefined };
  }

  /** Ends the read. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  private async step(): Promise<Piece | undefined> {
    this.view ??= await this.open();
    const response = await this.view.next(this.connection.patience.silenceMs);
    try {
      const piece = this.position.admit(response);
      if (this.position.wantsEnd()) {
        this.dropView();
      }
      return piece;
    } catch (error) {
      throw error instanceof ContractBroken ? this.connection.contract(error.message) : error;
    }
  }

  private open(): Promise<View<ExecutionServiceReadOutputResponse>> {
    const request = {
      executionId: this.executionId,
      stream: this.options.stderr ? OutputStream.STDERR : OutputStream.STDOUT,
      selection: this.position.request(),
    };
    return this.connection.view(ExecutionService.method.readOutput, request, this.options.signal);
  }

  private dropView(): void {
    this.view?.cancel();
    this.view = undefined;
  }
}
