/** The calls of the conformance cases. Arguments and responses are values of JSON. */

import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

import {
  AirlockError,
  DeniedError,
  connect,
  type Client,
  type CommandOptions,
  type Event,
  type Result,
  type Search,
  type Selection,
  type Session,
  type SessionOptions,
  type Signal,
  type Stdin,
} from "../src/index.js";
import { hex, textOf } from "../src/bytes.js";

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined };
type Args = Record<string, Json>;

/** The options with times. In the cases, they are in seconds. */
const TIMES = ["timeout", "idle_timeout", "yield_after", "deadline"];

/** Returns options with the names and units of this client. */
export function options<T>(args: Args): T {
  const renamed = Object.entries(args).map(([name, value]) => {
    const camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    return TIMES.includes(name) ? [`${camel}Ms`, Number(value) * 1000] : [camel, value];
  });
  return Object.fromEntries(renamed) as T;
}

/** Returns bytes as the cases describe them. */
export function ofBytes(data: Uint8Array): Json {
  const known = { bytes: data.length, sha256: createHash("sha256").update(data).digest("hex") };
  return data.length <= 4096 ? { ...known, text: textOf(data) } : known;
}

function ofResult(result: Result): { [name: string]: Json } {
  return {
    execution: result.executionId,
    exit_code: result.exitCode ?? null,
    cause: result.cause.code,
    cause_detail: result.cause.detail,
    started: result.started,
    ok: result.ok,
    text: result.text,
    stdout: result.stdout,
    stderr: result.stderr,
    truncated: result.truncated,
    notes: result.notes.map(({ code }) => code),
  };
}

/** Returns an error as the cases describe it. */
export function ofError(error: AirlockError): Json {
  return {
    kind: error.kind,
    reason: error.reason,
    remedy: error.remedy,
    span: error.span ? [error.span.start, error.span.end] : null,
    text: error instanceof DeniedError ? error.text : "",
    execution: error.executionId ?? null,
  };
}

/** The events of a view. */
class Recorder {
  private readonly kinds: string[] = [];
  private readonly data: Record<string, Uint8Array[]> = { stdout: [], stderr: [] };
  private readonly gaps: number[][] = [];
  private readonly states: string[] = [];
  private cursor = new Uint8Array();
  private approval = "";

  /** Records an event. */
  record(event: Event): void {
    this.kinds.push(event.type);
    this.cursor = new Uint8Array(event.cursor);
    if (event.type === "output") {
      this.data[event.stream]?.push(event.data);
    } else if (event.type === "gap") {
      this.gaps.push([event.start, event.end]);
    } else if (event.type === "state_changed") {
      this.states.push(event.state);
      this.approval = event.approvalId || this.approval;
    } else if (event.type === "opened") {
      this.states.push(event.execution.state);
      this.approval = event.execution.approvalId || this.approval;
    }
  }

  /** Reports whether the view has received everything that the case waits for. */
  reached(until: Args): boolean {
    const all = Buffer.concat(Object.values(this.data).flat());
    return "bytes" in until ? all.length >= Number(until["bytes"]) : this.states.includes(String(until["state"]));
  }

  /** Returns the events as the cases describe them. */
  json(): Json {
    return {
      first: this.kinds[0] ?? null,
      last: this.kinds.at(-1) ?? null,
      opened: this.kinds.filter((kind) => kind === "opened").length,
      finished: this.kinds.filter((kind) => kind === "finished").length,
      stdout: ofBytes(Buffer.concat(this.data["stdout"] ?? [])),
      stderr: ofBytes(Buffer.concat(this.data["stderr"] ?? [])),
      gaps: this.gaps,
      cursor: hex(this.cursor),
      approval: this.approval,
    };
  }
}

/** The calls of one client. */
export class Calls {
  /** The sessions that were created. */
  readonly sessions = new Map<string, Session>();
  private readonly inputs = new Map<string, Stdin>();

  constructor(private readonly client: Client) {}

  /** Makes a call. */
  async call(name: string, args: Args): Promise<Json> {
    const method = this.methods[name];
    if (method === undefined) {
      throw new Error(`no such call: ${name}`);
    }
    return (await method(args)) ?? {};
  }

  private session(args: Args): Session {
    const session = this.sessions.get(text(args["session"]));
    if (session === undefined) {
      throw new Error("no such session");
    }
    return session;
  }

  private input(args: Args): Stdin {
    const stdin = this.inputs.get(text(args["execution"]));
    if (stdin === undefined) {
      throw new Error("no such execution");
    }
    return stdin;
  }

  private readonly methods: Record<string, (args: Args) => Promise<Json | void>> = {
    "session.create": async (args) => {
      const session = await this.client.session(options<SessionOptions>(args));
      this.sessions.set(session.id, session);
      const { id, state, profile } = session.info;
      return { id, state, profile };
    },
    "session.list": async ({ labels }) => {
      const wanted = Object.entries(labels as Record<string, string>);
      const all = await this.client.sessions();
      return { count: all.filter((info) => wanted.every(([key, value]) => info.labels[key] === value)).length };
    },
    "session.close": async (args) => this.session(args).close(),
    run: async ({ session, command, ...rest }) => {
      const recorder = new Recorder();
      const target = session === undefined ? this.client : this.session({ session });
      const given = { ...options<CommandOptions>(rest), onEvent: (event: Event) => recorder.record(event) };
      return { ...ofResult(await target.run(text(command), given)), events: recorder.json() };
    },
    start: async ({ session = "", command, ...rest }) => {
      const execution = await this.session({ session }).start(text(command), options<CommandOptions>(rest));
      this.inputs.set(execution.id, execution.stdin);
      return { execution: execution.id };
    },
    attach: async ({ execution, cursor, offsets, until = {} }) => {
      const recorder = new Recorder();
      const [stdout = 0, stderr = 0] = (offsets ?? []) as number[];
      const events = this.client.attach(text(execution)).events({
        cursor: Buffer.from(text(cursor ?? ""), "hex"),
        offsets: offsets === undefined ? undefined : { stdout, stderr },
      });
      for await (const event of events) {
        recorder.record(event);
        if (Object.keys(until as Args).length > 0 && recorder.reached(until as Args)) {
          break;
        }
      }
      return { events: recorder.json() };
    },
    wait: async ({ execution, ...rest }) =>
      ofResult(await this.client.attach(text(execution)).wait(options<{ deadlineMs?: number }>(rest))),
    kill: async ({ execution }) => void (await this.client.attach(text(execution)).kill()),
    signal: async ({ execution, signal }) =>
      void (await this.client.attach(text(execution)).signal(text(signal) as Signal)),
    resize: async ({ execution, rows, cols }) =>
      void (await this.client.attach(text(execution)).resize(Number(rows), Number(cols))),
    "stdin.write": async (args) => this.input(args).write(text(args["data"])),
    "stdin.end": async (args) => this.input(args).end(),
    "output.read": (args) => this.read(args),
    watch: (args) => this.watch(args),
    "file.write": async ({ session = "", path, content, ...rest }) =>
      this.session({ session }).files.write(text(path), text(content), rest),
    "file.read": async (args) => ({ content: ofBytes(await this.session(args).files.read(text(args["path"]))) }),
    "file.stat": async (args) => {
      const { type, size, mode } = await this.session(args).files.stat(text(args["path"]));
      return { type, size, mode };
    },
    "file.list": async ({ session = "", path = "", ...rest }) => {
      const found = await this.session({ session }).files.list(text(path), rest);
      return { paths: found.map((file) => file.path) };
    },
    "file.diff": async ({ session = "", path = "", ...rest }) => {
      const found = await this.session({ session }).files.diff(text(path), rest);
      return { changes: found.map(({ kind, path, patch }) => ({ kind, path, patch })) };
    },
    "directory.make": async ({ at, files }) => {
      for (const [name, content] of Object.entries(files as Record<string, string>)) {
        const path = join(text(at), name);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, content);
      }
    },
    "directory.upload": async ({ session = "", source, path = "", ...rest }) => {
      const { files } = await this.session({ session }).files.upload(text(source), text(path), rest);
      return { files };
    },
    "directory.download": async ({ session = "", path, target, ...rest }) => {
      const { files } = await this.session({ session }).files.download(text(path), text(target), rest);
      return { files };
    },
    "directory.read": async ({ at }) => ({ files: await tree(text(at)) }),
    "port.exchange": async (args) => {
      const received: Uint8Array[] = [];
      await using port = await this.session(args).connect(Number(args["port"]));
      await port.send(text(args["send"]));
      await port.end();
      for (let data = await port.receive(); data.length > 0; data = await port.receive()) {
        received.push(data);
      }
      return { received: ofBytes(Buffer.concat(received)) };
    },
    "approval.list": async ({ session }) => {
      const found = await this.client.approvals.list({ sessionId: text(session) });
      return { approvals: found.map(({ id, state, command }) => ({ id, state, command })) };
    },
    "approval.allow": async ({ approval }) => {
      const shown = await this.client.approvals.show(text(approval));
      return { state: (await this.client.approvals.allow(shown)).state };
    },
    "approval.deny": async ({ approval, reason }) => {
      const shown = await this.client.approvals.show(text(approval));
      return { state: (await this.client.approvals.deny(shown, text(reason))).state };
    },
    "approval.wait": async ({ approval }) => {
      const shown = await this.client.approvals.show(text(approval));
      const { state, reason } = await this.client.approvals.wait(shown);
      return { state, reason };
    },
    connect: async (args) => {
      await using client = await connect({ environment: {}, ...options<object>(args) });
      await client.sessions();
    },
  };

  private async read({ execution, stderr = false, selection = {}, search }: Args): Promise<Json> {
    const data: Uint8Array[] = [];
    const gaps: number[][] = [];
    const lines: Json[] = [];
    let done: Json = null;
    const selected = options<Selection | Search>((search ?? selection) as Args);
    const reader = this.client.attach(text(execution)).readOutput(selected, { stderr: stderr === true });
    for await (const piece of reader) {
      if (piece.type === "bytes") {
        data.push(piece.data);
      } else if (piece.type === "gap") {
        gaps.push([piece.start, piece.end]);
      } else if (piece.type === "line") {
        lines.push({ number: piece.number, text: textOf(piece.data), context: piece.context });
      } else {
        const { total, complete, matches, more } = piece;
        done = { total, complete, matches, more };
      }
    }
    return { data: ofBytes(Buffer.concat(data)), gaps, lines, done };
  }

  private async watch({ session = "", cursor = "", count }: Args): Promise<Json> {
    const kinds: string[] = [];
    const events = this.session({ session }).watch({ cursor: Buffer.from(text(cursor), "hex") });
    for await (const event of events) {
      // A watch that continues is confirmed, too.
      if (cursor === "" || event.execution !== undefined) {
        kinds.push(event.kind);
      }
      if (kinds.length === count) {
        return { kinds, cursor: hex(event.cursor) };
      }
    }
    throw new Error("a watch does not end");
  }
}

function text(value: Json | undefined): string {
  if (typeof value !== "string") {
    throw new Error(`not a text: ${JSON.stringify(value)}`);
  }
  return value;
}

async function tree(root: string): Promise<Json> {
  const files: Record<string, Json> = {};
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) {
      const path = join(entry.parentPath ?? entry.path, entry.name);
      files[relative(root, path)] = ofBytes(await readFile(path));
    }
  }
  return files;
}
