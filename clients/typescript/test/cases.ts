/** Runs conformance cases, which are data: their steps, arguments and expected responses. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { AirlockError, type Client } from "../src/index.js";
import { Calls, ofError, type Json } from "./calls.js";
import { CONFORMANCE, type Program } from "./programs.js";

interface Step {
  readonly proxy?: string;
  readonly call?: string;
  readonly args?: Json;
  readonly save?: string;
  readonly expect?: Json;
  readonly error?: Json;
}

/** A case. */
export interface Case {
  readonly name: string;
  readonly server?: "old";
  readonly cuts?: boolean | "only";
  readonly steps: readonly Step[];
}

type Saved = Record<string, Json>;

/** Returns the cases that run with or without cuts of all connections. */
export function cases(cut: boolean): Case[] {
  const files = readdirSync(join(CONFORMANCE, "cases")).filter((name) => name.endsWith(".json"));
  const all = files.flatMap((name) => JSON.parse(readFileSync(join(CONFORMANCE, "cases", name), "utf8")) as Case[]);
  return all.filter(({ cuts = true }) => cuts === true || cuts === (cut ? "only" : false));
}

/** Runs a case. */
export async function check(one: Case, client: Client, proxy: Program, known: Saved): Promise<void> {
  const saved: Saved = { ...known, closed: "https://127.0.0.1:1", unique: randomUUID() };
  const calls = new Calls(client);
  for (const step of one.steps) {
    await take(step, calls, proxy, saved);
  }
  for (const session of calls.sessions.values()) {
    await session.close();
  }
}

async function take(step: Step, calls: Calls, proxy: Program, saved: Saved): Promise<void> {
  if (step.proxy !== undefined) {
    assert.equal(await proxy.tell(step.proxy), "ok");
    return;
  }
  const call = step.call ?? "";
  let response: Json;
  try {
    response = await calls.call(call, resolved(step.args ?? {}, saved) as Record<string, Json>);
  } catch (error) {
    if (step.error === undefined || !(error instanceof AirlockError)) {
      throw error;
    }
    response = ofError(error);
    assert.equal(difference(resolved(step.error, saved), response, call), undefined);
    keep(step, response, saved);
    return;
  }
  assert.equal(step.error, undefined, `${call} did not fail: ${JSON.stringify(response)}`);
  assert.equal(difference(resolved(step.expect ?? {}, saved), response, call), undefined);
  keep(step, response, saved);
}

function keep(step: Step, response: Json, saved: Saved): void {
  if (step.save !== undefined) {
    saved[step.save] = response;
  }
}

/** Returns the value with saved values in it. */
function resolved(value: Json, saved: Saved): Json {
  if (typeof value === "string") {
    if (value.startsWith("$tmp/")) {
      return `${String(saved["tmp"])}${value.slice("$tmp".length)}`;
    }
    return value.startsWith("$") ? find(value.slice(1), saved) : value;
  }
  if (Array.isArray(value)) {
    return value.map((one) => resolved(one, saved));
  }
  if (isObject(value)) {
    const { repeat, times } = value;
    if (typeof repeat === "string" && typeof times === "number") {
      return repeat.repeat(times);
    }
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolved(one ?? null, saved)]));
  }
  return value;
}

function find(path: string, saved: Saved): Json {
  let found: Json = saved;
  for (const name of path.split(".")) {
    const next: Json | undefined = isObject(found) ? found[name] : undefined;
    assert.notEqual(next, undefined, `nothing was saved as ${path}`);
    found = next ?? null;
  }
  return found;
}

function isObject(value: Json | undefined): value is { readonly [name: string]: Json | undefined } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the first difference, or `undefined` if the response matches. */
export function difference(expected: Json, got: Json | undefined, at: string): string | undefined {
  if (Array.isArray(expected)) {
    if (!Array.isArray(got) || got.length !== expected.length) {
      return `${at}: ${JSON.stringify(got)} is not ${JSON.stringify(expected)}`;
    }
    return first(expected.map((one, index) => difference(one, got[index], `${at}[${index}]`)));
  }
  if (!isObject(expected)) {
    return Object.is(expected, got ?? null)
      ? undefined
      : `${at}: ${JSON.stringify(got)} is not ${JSON.stringify(expected)}`;
  }
  const condition = conditionOf(expected, got, at);
  if (condition !== undefined) {
    return condition.problem;
  }
  if (!isObject(got)) {
    return `${at}: ${JSON.stringify(got)} is no object`;
  }
  return first(Object.entries(expected).map(([name, one]) => difference(one ?? null, got[name], `${at}.${name}`)));
}

function conditionOf(
  expected: { readonly [name: string]: Json | undefined },
  got: Json | undefined,
  at: string,
): { readonly problem: string | undefined } | undefined {
  const { $match: pattern, $contains: part, $at_least: least } = expected;
  if (typeof pattern === "string") {
    const matches = typeof got === "string" && new RegExp(pattern, "u").test(got);
    return { problem: matches ? undefined : `${at}: no \`${pattern}\` in ${JSON.stringify(got)}` };
  }
  if (part !== undefined) {
    const has =
      typeof got === "string"
        ? got.includes(String(part))
        : Array.isArray(got) && got.some((one) => difference(part, one as Json, at) === undefined);
    return { problem: has ? undefined : `${at}: no ${JSON.stringify(part)} in ${JSON.stringify(got)}` };
  }
  if (typeof least === "number") {
    return { problem: Number(got) >= least ? undefined : `${at}: ${JSON.stringify(got)} is below ${least}` };
  }
  return undefined;
}

function first(problems: readonly (string | undefined)[]): string | undefined {
  return problems.find((problem) => problem !== undefined);
}
