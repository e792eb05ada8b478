/**
 * The task of the scripted agents: find a bug in a small repository, fix it, test it and commit it.
 *
 * The Python client's `agent.json` has the answers of the model, and texts that the model must get back for each.
 */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import type { Session } from "airlock-client";

/** An answer of the model, and texts that the model gets back. */
export interface Step {
  readonly command: string;
  readonly shows: readonly string[];
}

const FILE = new URL("../../../python/adapters/tests/agent.json", import.meta.url);
export const STEPS: readonly Step[] = JSON.parse(readFileSync(FILE, "utf8"));
export const ANSWER = "The mean is right now.";

const SUMS = "def mean(numbers):\n    return sum(numbers) / (len(numbers) - 1)\n";
const TEST = `import unittest

from sums import mean


class Mean(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([2, 4, 6]), 4)
`;

/** Creates the repository. */
export async function prepare(session: Session): Promise<void> {
  await session.files.write("project/sums.py", SUMS);
  await session.files.write("project/test_sums.py", TEST);
  await session.files.write("project/.gitignore", "__pycache__/\n");
  const user = "git config user.name agent && git config user.email agent@example.com";
  const made = await session.run(`(cd project && git init -q && ${user} && git add . && git commit -qm 'Add the mean')`);
  assert.ok(made.ok, made.text);
}

/** Checks what the model got for each step, and the repository. */
export async function check(session: Session, heard: readonly string[]): Promise<void> {
  assert.equal(heard.length, STEPS.length, heard.join("\n"));
  for (const [at, { command, shows }] of STEPS.entries()) {
    for (const part of shows) {
      assert.ok(heard[at]?.includes(part), `no \`${part}\` for \`${command}\` in:\n${heard[at]}`);
    }
  }
  const state = "git status --short && git log --format=%s && python3 -m unittest -q 2>&1";
  const result = await session.run(`(cd /workspace/project && ${state})`);
  assert.deepEqual(result.stdout.split("\n").slice(0, 2), ["Divide by the number of values", "Add the mean"]);
  assert.ok(result.ok && result.stdout.trimEnd().endsWith("OK"), result.text);
}
