/** The options of commands and sessions, and their conversion to messages. */

import { randomUUID } from "node:crypto";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, type Duration } from "@bufbuild/protobuf/wkt";

import { SettingsError } from "./errors.js";
import { Mode as RawMode, Shell as RawShell, type NetworkRulesSchema } from "./gen/airlock/v1/common_pb.js";
import { OnAsk, Signal as RawSignal, type ExecutionSpecSchema } from "./gen/airlock/v1/execution_pb.js";
import type { SessionServiceCreateRequestSchema } from "./gen/airlock/v1/session_pb.js";

/** The strictness of a session, from the tightest to the loosest. */
export type Mode = "plan" | "default" | "accept_edits" | "bypass";
/** The shell that reads a command. */
export type Shell = "bash" | "zsh" | "pwsh";
/** A signal for the processes of a command. */
export type Signal = "hup" | "int" | "quit" | "usr1" | "usr2" | "term" | "kill" | "stop" | "cont";

const MODES: Readonly<Record<Mode, RawMode>> = {
  plan: RawMode.PLAN,
  default: RawMode.DEFAULT,
  accept_edits: RawMode.ACCEPT_EDITS,
  bypass: RawMode.BYPASS,
};
const SHELLS: Readonly<Record<Shell, RawShell>> = { bash: RawShell.BASH, zsh: RawShell.ZSH, pwsh: RawShell.PWSH };
const ON_ASK: Readonly<Record<"fail" | "wait", OnAsk>> = { fail: OnAsk.FAIL, wait: OnAsk.WAIT };
const SIGNALS: Readonly<Record<Signal, RawSignal>> = {
  hup: RawSignal.HUP,
  int: RawSignal.INT,
  quit: RawSignal.QUIT,
  usr1: RawSignal.USR1,
  usr2: RawSignal.USR2,
  term: RawSignal.TERM,
  kill: RawSignal.KILL,
  stop: RawSignal.STOP,
  cont: RawSignal.CONT,
};

/** A terminal for a command. */
export interface Pty {
  /** The number of rows. Default: 24. */
  readonly rows?: number | undefined;
  /** The number of columns. Default: 80. */
  readonly cols?: number | undefined;
  /** The value of TERM. Default: `xterm`. */
  readonly term?: string | undefined;
}

/** Rules that narrow the network of the profile. Rules without `allow` and `any` allow nothing. */
export interface NetworkRules {
  /** Presets, hosts, or addresses, such as `pypi` or `*.example.com:8080`. */
  readonly allow?: readonly string[] | undefined;
  /** Entries that are refused even if `allow` or `any` permits them. */
  readonly deny?: readonly string[] | undefined;
  /** Allow every public host on the ports 80 and 443. */
  readonly any?: boolean | undefined;
}

/** The options of a command. */
export interface CommandOptions {
  /** The limit of the run time in milliseconds. Default: the profile's, usually two minutes. */
  readonly timeoutMs?: number | undefined;
  /** The limit of the time without output, in milliseconds. */
  readonly idleTimeoutMs?: number | undefined;
  /** The purpose of the command in a few words. Approvers see it. */
  readonly description?: string | undefined;
  /** The behaviour if policy asks for a person: fail (the default), or wait for the answer. */
  readonly onAsk?: "fail" | "wait" | undefined;
  /** The mode of this command. It may only be tighter than the session's. */
  readonly mode?: Mode | undefined;
  /** The shell. Default: the session's. */
  readonly shell?: Shell | undefined;
  /** Environment variables. */
  readonly env?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /** Keep stderr as a separate stream. By default, stdout has both in the order of writing. */
  readonly separateStderr?: boolean | undefined;
  /** Keep the input open for writing. */
  readonly stdin?: boolean | undefined;
  /** Give the command a terminal. Implies `stdin`. */
  readonly pty?: Pty | boolean | undefined;
  /** Run it in the background: later commands do not wait for it. */
  readonly background?: boolean | undefined;
  /** Move it to the background if it still runs after this time in milliseconds. */
  readonly yieldAfterMs?: number | undefined;
  /** End it if this client disconnects. A cut connection then ends the command, too. */
  readonly killOnDisconnect?: boolean | undefined;
  /** Let it run at the same time as other commands of the session. */
  readonly allowConcurrent?: boolean | undefined;
  /** Labels of the execution. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The number of bytes up to which the result has the whole output. */
  readonly inlineLimit?: number | undefined;
  /** The umask, as octal digits. */
  readonly umask?: string | undefined;
  /** Narrows the network of the profile and the session. */
  readonly network?: NetworkRules | undefined;
  /** Run it outside the sandbox, if the profile and the runner permit it. */
  readonly dangerouslyDisableSandbox?: boolean | undefined;
  /** The key of the start. A repeated start with it returns the same execution. Default: a new key. */
  readonly requestId?: string | undefined;
}

/** The options of the temporary session of a command without a session. */
export interface WorkspaceOptions {
  /** Default: the caller's default profile. */
  readonly profile?: string | undefined;
  /** The base that the workspace is copied from. */
  readonly base?: string | undefined;
  /** Labels that the runner must have. */
  readonly runnerLabels?: Readonly<Record<string, string>> | undefined;
}

/** The options of a session. */
export interface SessionOptions {
  /** The base that the workspace is copied from. Default: an empty workspace. */
  readonly base?: string | undefined;
  /** Default: the caller's default profile. */
  readonly profile?: string | undefined;
  /** Default: the profile's. */
  readonly mode?: Mode | undefined;
  /** Default: the profile's. */
  readonly shell?: Shell | undefined;
  /** Environment variables of every command. */
  readonly env?: Readonly<Record<string, string | Uint8Array>> | undefined;
  /** Labels of the session. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Labels that the runner must have. */
  readonly runnerLabels?: Readonly<Record<string, string>> | undefined;
  /** The session is closed after this time without use, in milliseconds. Default: one hour. */
  readonly idleTimeoutMs?: number | undefined;
  /** Narrows the network of the profile. */
  readonly network?: NetworkRules | undefined;
  /** The key of the session. A repeated request with it returns the same session. Default: a new key. */
  readonly requestId?: string | undefined;
}

const COMMAND: Readonly<Record<keyof CommandOptions, true>> = {
  timeoutMs: true,
  idleTimeoutMs: true,
  description: true,
  onAsk: true,
  mode: true,
  shell: true,
  env: true,
  separateStderr: true,
  stdin: true,
  pty: true,
  background: true,
  yieldAfterMs: true,
  killOnDisconnect: true,
  allowConcurrent: true,
  labels: true,
  inlineLimit: true,
  umask: true,
  network: true,
  dangerouslyDisableSandbox: true,
  requestId: true,
};
const WORKSPACE: Readonly<Record<keyof WorkspaceOptions, true>> = { profile: true, base: true, runnerLabels: true };
const SESSION: Readonly<Record<keyof SessionOptions, true>> = {
  base: true,
  profile: true,
  mode: true,
  shell: true,
  env: true,
  labels: true,
  runnerLabels: true,
  idleTimeoutMs: true,
  network: true,
  requestId: true,
};

/** The message for a command. */
export type Spec = MessageInitShape<typeof ExecutionSpecSchema> & { readonly requestId: string };

/** Returns the message for a command. A command without `requestId` gets one, so that a start can be repeated. */
export function specOf(
  command: string | Uint8Array,
  sessionId: string,
  options: CommandOptions,
  workspace: WorkspaceOptions | undefined,
): Spec {
  checkKnown(options, COMMAND);
  checkKnown(workspace ?? {}, WORKSPACE);
  const { timeoutMs, idleTimeoutMs, yieldAfterMs, onAsk, mode, shell, env, pty, network, requestId, ...plain } =
    options;
  return {
    ...given(plain),
    ...given(workspace ?? {}),
    ...(typeof command === "string" ? { command } : { commandBytes: command }),
    ...environmentOf(env),
    ...times({ timeout: timeoutMs, idleTimeout: idleTimeoutMs, yieldAfter: yieldAfterMs }),
    sessionId,
    requestId: requestId || randomUUID(),
    onAsk: chosen("onAsk", ON_ASK, onAsk),
    mode: modeOf(mode),
    shell: chosen("shell", SHELLS, shell),
    ...(pty ? { pty: { rows: 24, cols: 80, term: "xterm", ...given(pty === true ? {} : pty) } } : {}),
    ...(network ? { network: rulesOf(network) } : {}),
  };
}

/** Returns the message that creates a session. */
export function createOf(options: SessionOptions): MessageInitShape<typeof SessionServiceCreateRequestSchema> {
  checkKnown(options, SESSION);
  const { mode, shell, env, idleTimeoutMs, network, requestId, ...plain } = options;
  return {
    ...given(plain),
    ...environmentOf(env),
    ...times({ idleTimeout: idleTimeoutMs }),
    requestId: requestId || randomUUID(),
    mode: modeOf(mode),
    shell: chosen("shell", SHELLS, shell),
    ...(network ? { network: rulesOf(network) } : {}),
  };
}

/** Returns the message for network rules. */
export function rulesOf(network: NetworkRules): MessageInitShape<typeof NetworkRulesSchema> {
  return { any: network.any ?? false, allow: [...(network.allow ?? [])], deny: [...(network.deny ?? [])] };
}

/** Returns the message's value for a mode. */
export function modeOf(mode: Mode | undefined): RawMode {
  return chosen("mode", MODES, mode);
}

/** Returns the message's value for a signal. */
export function signalOf(signal: Signal): RawSignal {
  if (!Object.hasOwn(SIGNALS, signal)) {
    throw new SettingsError(`\`${signal}\` is not a signal that a command can get`);
  }
  return SIGNALS[signal];
}

/** Returns the durations that were given. */
export function times<Name extends string>(
  all: Readonly<Record<Name, number | undefined>>,
): { [N in Name]?: Duration } {
  const made: { [N in Name]?: Duration } = {};
  for (const name of Object.keys(all) as Name[]) {
    const ms = all[name];
    if (ms) {
      made[name] = durationFromMs(ms);
    }
  }
  return made;
}

function environmentOf(variables: Readonly<Record<string, string | Uint8Array>> = {}): {
  env: Record<string, string>;
  envBytes: Record<string, Uint8Array>;
} {
  const entries = Object.entries(variables);
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const bytes = entries.filter((entry): entry is [string, Uint8Array] => typeof entry[1] !== "string");
  return { env: Object.fromEntries(texts), envBytes: Object.fromEntries(bytes) };
}

/** The properties of an object without those that are `undefined`. */
type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>;
}

/** Returns the value of a name, and the unspecified value for no name. */
function chosen<Name extends string, V extends number>(
  what: string,
  known: Readonly<Record<Name, V>>,
  name: Name | undefined,
): V {
  if (name === undefined) {
    return 0 as V;
  }
  if (!Object.hasOwn(known, name)) {
    throw new SettingsError(`\`${name}\` is not a ${what}`, { remedy: `use one of: ${Object.keys(known).join(", ")}` });
  }
  return known[name];
}

function checkKnown(options: object, known: Readonly<Record<string, true>>): void {
  const unknown = Object.keys(options).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0) {
    throw new TypeError(`unknown option: ${unknown.sort().join(", ")}`);
  }
}
