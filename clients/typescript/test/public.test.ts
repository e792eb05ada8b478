/** The public types: each item has a comment, and no internal type is part of one. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";

const DIST = resolve("dist");

/** Returns the declarations that a program can reach, without the generated ones. */
function declarations(): [string, string][] {
  const names = readdirSync(DIST).filter((name) => name.endsWith(".d.ts"));
  return names.map((name) => [name, readFileSync(join(DIST, name), "utf8")]);
}

/** Returns the names that the entry points `index` and `ai` export. */
function exported(): Set<string> {
  const texts = ["index.d.ts", "ai.d.ts"].map((name) => readFileSync(join(DIST, name), "utf8"));
  const lists = texts.flatMap((text) => [...text.matchAll(/export (?:type )?\{([^}]*)\}/g)].map(([, list = ""]) => list));
  const listed = lists.flatMap((list) => list.split(",").map((name) => name.trim().replace(/^type /, "")));
  const own = texts.flatMap((text) => items(text).map(({ name }) => name));
  return new Set([...listed, ...own].filter(Boolean));
}

/** Returns the exported items of a file, each with its lines. */
function items(text: string): { name: string; lines: string[]; comment: boolean }[] {
  const lines = text.split("\n");
  const found = [];
  for (const [at, line] of lines.entries()) {
    const match = /^export (?:declare )?(?:class|interface|type|function|const) (\w+)/.exec(line);
    if (match) {
      const length = lines.slice(at).findIndex((one) => one === "}" || (one.endsWith(";") && !one.startsWith(" ")));
      const own = lines.slice(at, at + Math.max(length, 0) + 1);
      found.push({ name: match[1] ?? "", lines: own, comment: lines[at - 1]?.endsWith("*/") ?? false });
    }
  }
  return found;
}

test("each public item and member has a comment", () => {
  const names = exported();
  assert.ok(names.size > 70, `${names.size} names`);
  const missing: string[] = [];
  const seen = new Set<string>();
  for (const [file, text] of declarations()) {
    for (const { name, lines, comment } of items(text).filter((item) => names.has(item.name))) {
      seen.add(name);
      if (!comment) {
        missing.push(`${file}: ${name}`);
      }
      for (const [at, line] of lines.entries()) {
        const member =
          /^    (?!private|\/?\*|readonly kind: ErrorKind|constructor)(?:readonly |get |static )*([\w[].*)/.exec(line);
        if (member && !lines[at - 1]?.endsWith("*/") && !/^    (\)|\})/.test(line)) {
          missing.push(`${file}: ${name}: ${line.trim()}`);
        }
      }
    }
  }
  assert.deepEqual(missing, []);
  assert.deepEqual(
    [...names].filter((name) => !seen.has(name)),
    [],
    "every exported name was found",
  );
});
