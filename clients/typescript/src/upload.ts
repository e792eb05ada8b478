/** Uploads that survive broken connections: no byte is lost, and none is sent twice in vain. */

import { createHash, randomUUID } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";

import { Scope } from "./cancel.js";
import type { Connection } from "./connection.js";
import { RejectedError, type UnreachableError } from "./errors.js";
import {
  FileService,
  type FileServiceUploadRequestSchema,
  type FileServiceUploadResponse,
  type UploadHeaderSchema,
} from "./gen/airlock/v1/file_pb.js";
import type { Source } from "./local.js";
import { Retries } from "./retry.js";

type Header = MessageInitShape<typeof UploadHeaderSchema>;
type Request = MessageInitShape<typeof FileServiceUploadRequestSchema>;

const CHUNK = 256 * 1024;
/** The time in which the server must take one chunk. */
const STALL_MS = 60_000;
/** The time for the response after the last chunk. A large archive takes time to unpack. */
const ANSWER_MS = 600_000;

/** Uploads a file, or the content of a tar archive. The header's size and hash are computed. */
export async function upload(
  connection: Connection,
  header: Header,
  source: Source,
  signal: AbortSignal | undefined,
): Promise<FileServiceUploadResponse> {
  const sha256 = await digest(source);
  const full: Header = { ...header, sha256, size: BigInt(source.size), transferId: randomUUID() };
  return new Upload(connection, full, source, signal).run();
}

class Upload {
  /** The offset of the next byte to send. */
  private sent = 0;
  /** The largest number of bytes that the server confirmed. */
  private there = 0;
  private readonly retries: Retries;

  constructor(
    private readonly connection: Connection,
    private readonly header: Header,
    private readonly source: Source,
    private readonly signal: AbortSignal | undefined,
  ) {
    this.retries = new Retries(connection.patience);
  }

  async run(): Promise<FileServiceUploadResponse> {
    for (;;) {
      const start = this.sent;
      try {
        return await this.send();
      } catch (error) {
        await this.continueAfter(error, start);
      }
    }
  }

  /** Pauses if a failed attempt that began at `start` can be continued. Otherwise it throws the error. */
  private async continueAfter(error: unknown, start: number): Promise<void> {
    const { patience } = this.connection;
    const end = endOf(error);
    if (end === undefined || end > this.source.size) {
      await this.retries.outlast(error, patience.callMs, this.signal);
      return;
    }
    this.sent = end;
    if (this.there < end && end < start) {
      // The server holds more than it had ever confirmed: there is progress.
      this.there = end;
      this.retries.reset();
      return;
    }
    const lost = this.connection.unreachable("it does not keep the sent bytes");
    await this.retries.outlast(lost, patience.callMs, this.signal);
  }

  private async send(): Promise<FileServiceUploadResponse> {
    const channel = await this.connection.separate();
    const stall = new Stall(this.signal, this.connection.unreachable("it accepts no more bytes"));
    try {
      return await this.connection.sending(channel, FileService.method.upload, this.messages(stall), stall.signal);
    } finally {
      stall.end();
      channel.close();
    }
  }

  /** Returns the header and all remaining bytes. The time limit is moved with each chunk. */
  private async *messages(stall: Stall): AsyncGenerator<Request> {
    yield { part: { case: "header", value: this.header } };
    while (this.sent < this.source.size) {
      const data = await this.source.read(this.sent, Math.min(CHUNK, this.source.size - this.sent));
      if (data.length === 0) {
        return;
      }
      stall.move(STALL_MS);
      yield { part: { case: "chunk", value: { offset: BigInt(this.sent), data } } };
      this.sent += data.length;
    }
    stall.move(ANSWER_MS);
  }
}

/** A time limit that is moved while there is progress. */
class Stall {
  private readonly scope: Scope;
  private timer: NodeJS.Timeout;
  private ended = false;

  constructor(
    parent: AbortSignal | undefined,
    private readonly error: UnreachableError,
  ) {
    this.scope = new Scope(parent);
    this.timer = setTimeout(() => this.scope.abort(error), STALL_MS);
  }

  get signal(): AbortSignal {
    return this.scope.signal;
  }

  move(ms: number): void {
    if (this.ended) {
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.scope.abort(this.error), ms);
  }

  end(): void {
    this.ended = true;
    clearTimeout(this.timer);
    this.scope.dispose();
  }
}

async function digest(source: Source): Promise<Uint8Array> {
  const hash = createHash("sha256");
  for (let at = 0; at < source.size;) {
    const data = await source.read(at, CHUNK);
    if (data.length === 0) {
      break;
    }
    hash.update(data);
    at += data.length;
  }
  return hash.digest();
}

/** Returns the offset at which a transfer must continue, if the error has one. */
function endOf(error: unknown): number | undefined {
  if (!(error instanceof RejectedError) || error.code !== "OUT_OF_RANGE") {
    return undefined;
  }
  const end = error.metadata["end"] ?? "";
  return /^\d+$/.test(end) ? Number(end) : undefined;
}
