/**
 * Each block of the documentation compiles in strict mode and runs, with the package as a user installs it, and prints what
 * the page shows. `AIRLOCK_TEST_PROJECT` names a project in which the package is installed.
 */

import assert from "node:assert/strict";
import { execFile, execFileSync, spawn } from "node:child_process";
import { lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { before, test } from "node:test";

import { inScratch } from "./programs.js";

const ROOT = resolve("../..");
const PAGES = ["clients/typescript/README.md", "docs/agents.md"];
const PROJECT = process.env["AIRLOCK_TEST_PROJECT"] ?? "";
const QUESTION = "allow it once? [y/N]";
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

interface Block {
  readonly name: string;
  readonly language: string;
  readonly code: string;
  /** The text block after a program is its output. */
  readonly output: string | undefined;
}

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  const all = [...text.matchAll(/```(\w+)\n(.*?)```/gs)].map(([, language = "", code = ""]) => ({ language, code }));
  return all.flatMap(({ language, code }, number) => {
    const after = all[number + 1];
    const output = after?.language === "text" ? after.code : undefined;
    const name = `${page.replaceAll(/\W/g, "-")}-${number}`;
    return ["ts", "js"].includes(language) ? [{ name, language, code, output }] : [];
  });
}

const BLOCKS = PAGES.flatMap(blocksOf);

before(() => {
  assert.notEqual(PROJECT, "", "AIRLOCK_TEST_PROJECT names a project");
  assert.ok(
    !lstatSync(join(PROJECT, "node_modules/airlock-client")).isSymbolicLink(),
    "it was installed from a tarball",
  );
  mkdirSync(join(PROJECT, "src"), { recursive: true });
  for (const { name, language, code } of BLOCKS) {
    writeFileSync(join(PROJECT, "src", `${name}.m${language}`), code);
  }
  // Declarations of packages are checked, too.
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,esnext.disposable"];
  const types = ["--typeRoots", resolve("node_modules/@types"), "--types", "node", "--allowJs", "--outDir", "out"];
  const files = BLOCKS.map(({ name, language }) => join("src", `${name}.m${language}`));
  const tsc = resolve("node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, ...options, ...types, ...files], { cwd: PROJECT, stdio: "inherit" });
});

for (const { name, code, output } of BLOCKS) {
  test(`${name} runs and prints what the page shows`, { timeout: 180_000 }, () =>
    inScratch(async (scratch) => {
      const file = join(PROJECT, "out", `${name}.mjs`);
      if (code.includes('spawn("airlock", ["approve"')) {
        assert.match(await onTerminal(file, scratch), /draft[^]*allow it once\?[^]*Removing notes\.txt/);
        return;
      }
      const [printed, errors] = await run(process.execPath, [file], scratch);
      assert.equal(errors, "");
      if (output !== undefined) {
        assert.deepEqual(printed.replaceAll(UUID, "ID").split(/\s+/), output.split(/\s+/));
      }
    }),
  );
}

test("the first program of the page runs as it is, with a newer Node.js", { timeout: 180_000 }, () =>
  inScratch(async (scratch) => {
    const first = BLOCKS.find(({ name }) => name.startsWith("docs-"));
    const [printed] = await run("node24", [join(PROJECT, "src", `${first?.name}.mts`)], scratch);
    assert.match(printed, /hello from the sandbox/);
  }),
);

test("the pages have blocks, and the first programs are at most ten lines", () => {
  for (const page of PAGES) {
    assert.ok(blocksOf(page).length >= 3, page);
  }
  const lengths = blocksOf("docs/agents.md")
    .slice(0, 2)
    .map(({ code }) => code.split("\n").filter((line) => line.trim() !== "").length);
  assert.ok(Math.max(...lengths) <= 10, String(lengths));
});

/** Runs a program on a terminal, answers the question of `airlock approve`, and returns what was shown. */
async function onTerminal(file: string, cwd: string): Promise<string> {
  // The terminal has room for the question on one page.
  const command = `stty rows 200 cols 120; exec ${process.execPath} ${file}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], { cwd, timeout: 120_000 });
  let shown = "";
  for await (const data of child.stdout.setEncoding("utf8")) {
    const before = shown.includes(QUESTION);
    shown += data;
    if (!before && shown.includes(QUESTION)) {
      child.stdin.write("y\n");
    }
  }
  return shown;
}

/** Runs a program, and returns what it printed on both streams. */
function run(program: string, words: readonly string[], directory: string): Promise<[string, string]> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, words, { cwd: directory }, (error, stdout, stderr) => {
      if (error) {
        reject(new Error(`${words.join(" ")} failed: ${stdout}${stderr}`));
      } else {
        resolve([stdout, stderr]);
      }
    });
    child.stdin?.end("y\n");
  });
}
