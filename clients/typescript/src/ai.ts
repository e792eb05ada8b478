/**
 * Vercel's AI SDK on Airlock: the sandbox of its agents (`Experimental_SandboxSession`).
 *
 * ```ts
 * const sandbox = new AirlockSandbox(session);
 * await generateText({ model, tools, prompt, experimental_sandbox: sandbox });
 * ```
 *
 * The types are those of `ai` 7. This module does not import that package, whose interface is experimental.
 *
 * @module
 */

import { NOT_RUN, codeOf, processOf, type SandboxProcess, type WritableSandboxProcess } from "./ai_process.js";
import { DeniedError, InvalidRequestError, NotFoundError } from "./errors.js";
import type { Result } from "./result.js";
import type { Session } from "./session.js";
import type { StartOptions } from "./starts.js";
import { PREFIX, escaped, marked, sentence } from "./text.js";

export type { SandboxProcess, WritableSandboxProcess } from "./ai_process.js";

/** The exit code with which the command of `deleteFile` reports that there is no file. */
const ABSENT = 66;

/** The options of every command of a sandbox. */
export interface AirlockSandboxOptions {
  /** The limit of the run time of a command in milliseconds. Default: the profile's, usually two minutes. */
  readonly timeoutMs?: number | undefined;
  /** The behaviour if policy asks for a person: fail (the default), or wait for the answer. */
  readonly onAsk?: "fail" | "wait" | undefined;
  /** Receives the approval's ID when a command of `run` begins to wait for a person. */
  readonly onApproval?: ((approvalId: string) => unknown) | undefined;
  /** The number of bytes of each stream up to which `run` returns all output. Default: the profile's, usually 30,000. */
  readonly inlineLimit?: number | undefined;
}

/** A command of the AI SDK. */
export interface SandboxCommand {
  /** The command, as bash reads it. */
  readonly command: string;
  /** The directory that it runs in. Default: the directory of the session. */
  readonly workingDirectory?: string;
  /** Environment variables. */
  readonly env?: Record<string, string>;
  /** Ends the command. */
  readonly abortSignal?: AbortSignal;
}

/** The outcome of a command. */
export interface SandboxResult {
  /** The exit code: 125 if the command did not run, 124 if its timeout expired. */
  readonly exitCode: number;
  /** Standard output as text for a model. */
  readonly stdout: string;
  /** Standard error as text for a model, then Airlock's notes on lines that begin with `airlock: `. */
  readonly stderr: string;
}

/** A path of the AI SDK. */
export interface SandboxPath {
  /** A path that is absolute inside the sandbox, or relative to `/workspace`. */
  readonly path: string;
  /** Ends the call. */
  readonly abortSignal?: AbortSignal;
}

/** A file or a directory. A link is the file that it leads to. */
export interface SandboxFileStat {
  /** The type. */
  readonly type: "file" | "directory" | "other";
  /** The size of a file in bytes. */
  readonly size: number;
}

/** An entry of a directory. */
export interface SandboxEntry {
  /** The name, without the directory. */
  readonly name: string;
  /** The type. */
  readonly type: "file" | "directory" | "symlink" | "other";
}

/**
 * A sandbox of the AI SDK in an Airlock session. The caller owns the session.
 *
 * Each command is one execution, which the policy decides. Commands run at the same time, each in a new shell.
 */
export class AirlockSandbox {
  /** A description of the sandbox for the instructions of an agent. */
  readonly description =
    "Commands run in an Airlock sandbox. Each one gets a new bash in /workspace. The files in /workspace, $HOME and /tmp " +
    "persist. A policy decides about each command. The exit code 125 means that the command did not run; stderr " +
    `says why, on a line that begins with "${PREFIX.trim()}".`;

  /** Uses a session. */
  constructor(
    private readonly session: Session,
    private readonly options: AirlockSandboxOptions = {},
  ) {}

  /**
   * Runs a command to its end. A denied command has the exit code 125, and `stderr` says why.
   *
   * The output is text for a model, and a long one is shortened. `spawn` returns all bytes.
   */
  async run(given: SandboxCommand): Promise<SandboxResult> {
    const { onApproval, inlineLimit } = this.options;
    const signal = given.abortSignal;
    try {
      const options = { ...this.optionsOf(given), signal, onApproval, inlineLimit };
      const result = await this.session.run(lineOf(given), options);
      // Another client can move a command to the background.
      const moved = result.cause.code === "backgrounded";
      return resultOf(moved ? await this.session.attach(result.executionId).wait({ signal }) : result);
    } catch (error) {
      if (error instanceof DeniedError) {
        return { exitCode: NOT_RUN, stdout: "", stderr: error.text };
      }
      if (error instanceof InvalidRequestError) {
        return { exitCode: NOT_RUN, stdout: "", stderr: `${PREFIX}${escaped(error.message)}; it did not run\n` };
      }
      throw error;
    }
  }

  /** Starts a command, and returns at once. Rejects with `DeniedError` if policy denies it. */
  spawn(given: SandboxCommand & { readonly stdin: true }): Promise<WritableSandboxProcess>;
  /** Starts a command, and returns at once. Rejects with `DeniedError` if policy denies it. */
  spawn(given: SandboxCommand & { readonly stdin?: boolean }): Promise<SandboxProcess>;
  async spawn({
    stdin = false,
    ...given
  }: SandboxCommand & { readonly stdin?: boolean }): Promise<SandboxProcess | WritableSandboxProcess> {
    const { abortSignal: signal } = given;
    const execution = await this.session.start(lineOf(given), { ...this.optionsOf(given), stdin, signal });
    return processOf(execution, stdin, signal);
  }

  /** Returns the content of a file as a stream, or `null` if the file does not exist. */
  async readFile(given: SandboxPath): Promise<ReadableStream<Uint8Array> | null> {
    const content = await this.readBinaryFile(given);
    return (
      content &&
      new ReadableStream({
        start(controller) {
          controller.enqueue(content);
          controller.close();
        },
      })
    );
  }

  /** Returns the content of a file of at most 64 MiB, or `null` if the file does not exist. */
  readBinaryFile({ path, abortSignal: signal }: SandboxPath): Promise<Uint8Array | null> {
    return orNull(this.session.files.read(path, { signal }));
  }

  /** Returns the text of a file, or its lines from `startLine` to `endLine`, or `null` if the file does not exist. */
  async readTextFile({
    encoding = "utf-8",
    startLine = 1,
    endLine,
    ...given
  }: SandboxPath & { encoding?: string; startLine?: number; endLine?: number }): Promise<string | null> {
    const known = encodingOf(encoding);
    const content = await this.readBinaryFile(given);
    const text = content && Buffer.from(content).toString(known);
    const whole = text === null || (startLine <= 1 && endLine === undefined);
    return whole ? text : text.split("\n").slice(Math.max(startLine, 1) - 1, endLine).join("\n");
  }

  /** Writes a file from a stream. Missing directories are created, and an existing file is replaced. */
  async writeFile({ content, ...given }: SandboxPath & { content: ReadableStream<Uint8Array> }): Promise<void> {
    const parts: Uint8Array[] = [];
    for await (const part of content) {
      parts.push(part);
    }
    await this.writeBinaryFile({ ...given, content: Buffer.concat(parts) });
  }

  /** Writes a file. Missing directories are created, and an existing file is replaced. */
  async writeBinaryFile({ path, content, abortSignal: signal }: SandboxPath & { content: Uint8Array }): Promise<void> {
    await this.session.files.write(path, content, { signal });
  }

  /** Writes a text file. Missing directories are created, and an existing file is replaced. */
  async writeTextFile({
    content,
    encoding = "utf-8",
    ...given
  }: SandboxPath & { content: string; encoding?: string }): Promise<void> {
    await this.writeBinaryFile({ ...given, content: Buffer.from(content, encodingOf(encoding)) });
  }

  /** Returns the type and the size of a file or a directory, or `null` if it does not exist. */
  async stat({ path, abortSignal: signal }: SandboxPath): Promise<SandboxFileStat | null> {
    const file = await orNull(this.session.files.stat(path, { signal }));
    if (file?.type !== "symlink") {
      return file && { type: typeOf(file.type), size: file.size };
    }
    // A link can lead to a file that the file service does not show.
    const { ok, stdout } = await this.tool(`stat -Lc '%F:%s' -- ${quoted(path)}`, signal);
    const [, name = "", size = ""] = /^(.*):([0-9]+)$/m.exec(stdout) ?? [];
    const type = name.startsWith("regular") ? "file" : name === "directory" ? name : "other";
    return ok ? { type, size: Number(size) } : null;
  }

  /** Returns the entries of a directory, or `null` if it does not exist. */
  async listDirectory({ path, abortSignal: signal }: SandboxPath): Promise<SandboxEntry[] | null> {
    const files = await orNull(this.session.files.list(path, { signal }));
    return (
      files &&
      files.map((file) => ({
        name: file.path.slice(file.path.lastIndexOf("/") + 1),
        type: file.type === "symlink" ? file.type : typeOf(file.type),
      }))
    );
  }

  /** Removes a file with a command, which policy decides. Returns false if the file does not exist. */
  async deleteFile({ path, abortSignal: signal }: SandboxPath): Promise<boolean> {
    const name = quoted(path);
    const command = `[ -e ${name} ] || [ -L ${name} ] || exit ${ABSENT}; rm -- ${name}`;
    const result = await this.tool(command, signal);
    if (!result.ok && result.exitCode !== ABSENT) {
      throw new Error(`\`${path}\` was not removed: ${result.text.trim()}`);
    }
    return result.ok;
  }

  /** Runs a command of the sandbox's own. */
  private tool(command: string, signal: AbortSignal | undefined): Promise<Result> {
    return this.session.run(command, { ...this.optionsOf({ command }), separateStderr: false, signal });
  }

  private optionsOf({ env }: SandboxCommand): StartOptions {
    const { timeoutMs, onAsk } = this.options;
    return { allowConcurrent: true, separateStderr: true, timeoutMs, onAsk, env };
  }
}

/** Returns a command that runs in its directory. */
function lineOf({ command, workingDirectory = "" }: SandboxCommand): string {
  return workingDirectory === "" ? command : `cd -- ${quoted(workingDirectory)} || exit\n${command}`;
}

/** Returns text as one word of bash. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NotFoundError) {
      return null;
    }
    throw error;
  }
}

function typeOf(type: string): "file" | "directory" | "other" {
  return type === "regular" ? "file" : type === "directory" ? type : "other";
}

function resultOf(result: Result): SandboxResult {
  let stderr = marked(result.stderr);
  if (stderr !== "" && !stderr.endsWith("\n")) {
    stderr += "\n";
  }
  if (!["exited", "signaled"].includes(result.cause.code)) {
    stderr += `${PREFIX}${sentence(result.raw)}\n`;
  }
  for (const note of result.notes) {
    stderr += `${PREFIX}${escaped(note.text)}\n`;
  }
  return { exitCode: codeOf(result), stdout: marked(result.stdout), stderr };
}

function encodingOf(name: string): BufferEncoding {
  if (!Buffer.isEncoding(name)) {
    throw new TypeError(`\`${name}\` is not an encoding of Node.js`);
  }
  return name;
}
