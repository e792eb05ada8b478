/** Downloads that survive broken connections: no byte is lost or repeated. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";

import type { MessageInitShape } from "@bufbuild/protobuf";

import type { Connection } from "./connection.js";
import { reasonOf } from "./credential_files.js";
import { AirlockError, LocalError } from "./errors.js";
import {
  FileService,
  type DownloadDone,
  type DownloadHeader,
  type FileChunk,
  type FileServiceDownloadRequestSchema,
  type FileServiceDownloadResponse,
} from "./gen/airlock/v1/file_pb.js";
import { writeAll } from "./local.js";
import { SKIPPED } from "./position.js";
import { Retries } from "./retry.js";
import type { View } from "./view.js";

type Request = MessageInitShape<typeof FileServiceDownloadRequestSchema>;

/** A download of a file or an archive. Iteration returns all bytes; at its end their hash was checked. */
export class Download {
  /** The totals, once all bytes have arrived. */
  done: DownloadDone | undefined;
  private view: View<FileServiceDownloadResponse> | undefined;
  private known: DownloadHeader | undefined;
  private have = 0;
  private readonly hash = createHash("sha256");
  private readonly retries: Retries;

  constructor(
    private readonly connection: Connection,
    private readonly request: Request,
    private readonly most: number,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.retries = new Retries(connection.patience);
  }

  /** Returns the description of the file or archive. */
  async header(): Promise<DownloadHeader> {
    while (this.known === undefined) {
      await this.next();
    }
    return this.known;
  }

  /** Returns all bytes. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      while (this.done === undefined) {
        const data = await this.next();
        if (data !== undefined) {
          yield data;
        }
      }
    } finally {
      this.close();
    }
  }

  /** Writes all bytes to a file. */
  async copyTo(sink: FileHandle): Promise<DownloadDone> {
    for await (const data of this) {
      try {
        await writeAll(sink, data);
      } catch (error) {
        throw new LocalError(`cannot write the received bytes: ${reasonOf(error)}`, { cause: error });
      }
    }
    if (this.done === undefined) {
      throw this.connection.contract("the transfer ended without its totals");
    }
    return this.done;
  }

  /** Ends the transfer. */
  close(): void {
    this.view?.cancel();
    this.view = undefined;
  }

  private async next(): Promise<Uint8Array | undefined> {
    try {
      return await this.step();
    } catch (error) {
      this.close();
      if (error instanceof AirlockError && error.reason === "TRANSFER_GONE" && this.have === 0 && this.known) {
        this.known = undefined;
        return undefined;
      }
      await this.retries.outlast(error, this.connection.patience.callMs, this.signal);
      return undefined;
    }
  }

  /** Reads one message, and returns its new bytes. */
  private async step(): Promise<Uint8Array | undefined> {
    if (this.view === undefined) {
      const at = this.known && { transferId: this.known.transferId, offset: BigInt(this.have) };
      const request = { ...this.request, ...at };
      this.view = await this.connection.view(FileService.method.download, request, this.signal);
    }
    const { part } = await this.view.next(this.connection.patience.silenceMs);
    switch (part.case) {
      case "header":
        this.takeHeader(part.value);
        return undefined;
      case "chunk":
        return this.takeChunk(part.value);
      case "done":
        this.takeDone(part.value);
        return undefined;
      default:
        return undefined;
    }
  }

  private takeHeader(header: DownloadHeader): void {
    const { known } = this;
    if (known && (known.transferId !== header.transferId || known.format !== header.format)) {
      throw this.connection.contract("it continued with another transfer");
    }
    this.known = known ?? header;
  }

  private takeChunk(chunk: FileChunk): Uint8Array | undefined {
    if (this.known === undefined) {
      throw this.connection.contract("it sent bytes before it described the file");
    }
    const offset = Number(chunk.offset);
    if (offset > this.have) {
      throw this.connection.contract(SKIPPED);
    }
    const data = chunk.data.subarray(this.have - offset);
    if (data.length === 0) {
      return undefined;
    }
    this.have += data.length;
    if (this.have > this.most) {
      throw new LocalError(`the file is longer than the limit of ${this.most} bytes`);
    }
    this.hash.update(data);
    this.retries.reset();
    return data;
  }

  private takeDone(done: DownloadDone): void {
    if (Number(done.size) !== this.have || !this.hash.copy().digest().equals(done.sha256)) {
      throw this.connection.contract("the received bytes do not match the announced hash");
    }
    this.done = done;
  }
}
