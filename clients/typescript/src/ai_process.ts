/** The commands that a sandbox of Vercel's AI SDK starts: their streams, their input and their end. */

import type { Execution } from "./execution.js";
import type { Result } from "./result.js";

/** The exit codes of a command that did not run, and of one whose timeout expired, as the `airlock` program has them. */
export const NOT_RUN = 125;
const TIMED_OUT = 124;
const SIGNALED = 128;

/** A command that was started. */
export interface SandboxProcess {
  /** The bytes of standard output. */
  readonly stdout: ReadableStream<Uint8Array>;
  /** The bytes of standard error. */
  readonly stderr: ReadableStream<Uint8Array>;
  /** Waits for the end. Rejects with `DeniedError` if a person denied the command. */
  wait(): Promise<{ exitCode: number }>;
  /** Ends the command. It may have ended already. */
  kill(): Promise<void>;
}

/** A command that was started with `stdin: true`. */
export interface WritableSandboxProcess extends SandboxProcess {
  /** The input of the command. Closing it ends the input. */
  readonly stdin: WritableStream<Uint8Array>;
}

/** Returns the exit code as a shell reports it, also for a command that did not exit by itself. */
export function codeOf({ exitCode, cause }: Result): number {
  if (exitCode !== undefined) {
    return exitCode;
  }
  return cause.signal === undefined ? (cause.code === "timed_out" ? TIMED_OUT : NOT_RUN) : SIGNALED + cause.signal;
}

/** Returns the handle of a command. */
export function processOf(
  execution: Execution,
  stdin: boolean,
  signal: AbortSignal | undefined,
): SandboxProcess | WritableSandboxProcess {
  const killed = (): void => void execution.kill().catch(() => undefined);
  signal?.addEventListener("abort", killed, { once: true });
  const handle = {
    stdout: streamOf(execution, "stdout"),
    stderr: streamOf(execution, "stderr"),
    wait: async () => {
      const result = await execution.wait({ signal });
      signal?.removeEventListener("abort", killed);
      return { exitCode: codeOf(result) };
    },
    kill: async () => void (await execution.kill()),
  };
  return stdin ? { ...handle, stdin: inputOf(execution) } : handle;
}

function inputOf({ stdin }: Execution): WritableStream<Uint8Array> {
  return new WritableStream<Uint8Array>({ write: (data) => stdin.write(data), close: () => stdin.end() });
}

/** Returns one stream of a command. It is read from its beginning when the first byte is wanted. */
function streamOf(execution: Execution, name: "stdout" | "stderr"): ReadableStream<Uint8Array> {
  const events = execution.events();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await events.next();
          if (done || value.type === "finished") {
            controller.close();
            return;
          }
          if (value.type === "backgrounded") {
            events.goOn();
          }
          if (value.type === "gap" && value.stream === name) {
            throw new Error(`the bytes ${value.start} to ${value.end} of ${name} are no longer held`);
          }
          if (value.type === "output" && value.stream === name) {
            controller.enqueue(value.data);
            return;
          }
        }
      },
      async cancel() {
        await events.return();
      },
    },
    { highWaterMark: 0 },
  );
}
