/** Copies of local files and directories into a session, and back. */

import { chmod, mkdtemp, open, rename, rmdir, unlink, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { MessageInitShape } from "@bufbuild/protobuf";

import { pathOf } from "./bytes.js";
import type { Connection } from "./connection.js";
import { reasonOf } from "./credential_files.js";
import { Download } from "./download.js";
import { AirlockError, LocalError } from "./errors.js";
import {
  FileFormat,
  type FileServiceDownloadRequestSchema,
  type FileServiceUploadResponse,
  type UploadHeaderSchema,
} from "./gen/airlock/v1/file_pb.js";
import type { Transferred } from "./info.js";
import { fileSource, temporaryFile, umask } from "./local.js";
import { pack } from "./pack.js";
import { unpack } from "./unpack.js";
import { upload } from "./upload.js";

type Place = MessageInitShape<typeof UploadHeaderSchema>;
type Request = MessageInitShape<typeof FileServiceDownloadRequestSchema>;

const ARCHIVE_BYTES = 64 * 1024 * 1024 * 1024;

/** Copies a local file, or the content of a local directory, into a session. */
export async function copyIn(
  connection: Connection,
  source: string,
  place: Place,
  exclude: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Transferred> {
  const file = await openFile(source);
  if (file !== undefined) {
    try {
      const mode = (await file.stat()).mode & 0o777;
      const header = { ...place, format: FileFormat.FILE, mode };
      return totals(await upload(connection, header, await fileSource(file), signal), []);
    } finally {
      await file.close();
    }
  }
  const archive = await temporary();
  try {
    const skipped = await pack(source, archive, exclude);
    const header = { ...place, format: FileFormat.TAR };
    return totals(await upload(connection, header, await fileSource(archive), signal), skipped);
  } finally {
    await archive.close();
  }
}

/** Opens a local file. Returns `undefined` for a directory, and for what does not exist. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") {
      return undefined;
    }
    throw new LocalError(`cannot read \`${path}\`: ${reasonOf(error)}`, { cause: error });
  }
  if ((await file.stat()).isFile()) {
    return file;
  }
  await file.close();
  return undefined;
}

function totals(done: FileServiceUploadResponse, skipped: readonly string[]): Transferred {
  return {
    files: Number(done.files),
    directories: Number(done.directories),
    links: Number(done.links),
    skipped,
  };
}

/** Copies a directory of a session into a local directory, or a file to a local file. */
export async function copyOut(
  connection: Connection,
  request: Request,
  target: string,
  signal: AbortSignal | undefined,
): Promise<Transferred> {
  const download = new Download(connection, request, ARCHIVE_BYTES, signal);
  try {
    const { format, info } = await download.header();
    const mode = info?.mode ?? 0;
    if (format === FileFormat.FILE) {
      await toFile(download, target, mode);
      return { files: 1, directories: 0, links: 0, skipped: [] };
    }
    return await toDirectory(download, target, mode);
  } finally {
    download.close();
  }
}

async function toDirectory(download: Download, target: string, mode: number): Promise<Transferred> {
  const archive = await temporary();
  try {
    const { skipped } = await download.copyTo(archive);
    const counts = await unpack(archive, target, mode);
    return { ...counts, skipped: skipped.map((one) => `${pathOf(one.path, one.pathBytes)}: ${one.reason}`) };
  } finally {
    await archive.close();
  }
}

/** Replaces a file atomically after all data has arrived. */
async function toFile(download: Download, target: string, mode: number): Promise<void> {
  try {
    const directory = await mkdtemp(join(dirname(target), ".airlock-"));
    const path = join(directory, "file");
    try {
      await written(download, path);
      await chmod(path, (mode & 0o777 & ~(await umask())) | 0o600);
      await rename(path, target);
    } catch (error) {
      await unlink(path).catch(() => undefined);
      throw error;
    } finally {
      await rmdir(directory);
    }
  } catch (error) {
    if (error instanceof AirlockError || !isSystemError(error)) {
      throw error;
    }
    throw new LocalError(`cannot write \`${target}\`: ${reasonOf(error)}`, { cause: error });
  }
}

async function written(download: Download, path: string): Promise<void> {
  const file = await open(path, "wx", 0o600);
  try {
    await download.copyTo(file);
  } finally {
    await file.close();
  }
}

async function temporary(): Promise<FileHandle> {
  try {
    return await temporaryFile();
  } catch (error) {
    throw new LocalError(`cannot create a temporary file: ${reasonOf(error)}`, { cause: error });
  }
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && "syscall" in error;
}
