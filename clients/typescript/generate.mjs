// Generates `src/gen` from `proto/` and from this directory's `proto`: `node generate.mjs [--check]`.
//
// It needs `buf` in PATH, which `scripts/setup.sh test` downloads, and this package's development dependencies. With
// `--check` it changes nothing, and fails if the committed files differ.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const TARGET = join(HERE, "src/gen");
const CONTRACT = join(HERE, "../../proto");
/** The files of the contract that a client uses. */
const FILES = ["approval", "common", "execution", "file", "policy", "session"];

const require = createRequire(import.meta.url);
const PLUGIN = join(dirname(require.resolve("@bufbuild/protoc-gen-es/package.json")), "bin/protoc-gen-es");

function generate(out) {
  const plugin = { local: [process.execPath, PLUGIN], out, opt: ["target=ts", "import_extension=js"] };
  const template = JSON.stringify({ version: "v2", plugins: [plugin] });
  const paths = FILES.flatMap((name) => ["--path", join(CONTRACT, `proto/airlock/v1/${name}.proto`)]);
  for (const input of [[CONTRACT, ...paths], [join(HERE, "proto")]]) {
    const { status, error } = spawnSync("buf", ["generate", "--template", template, ...input], { stdio: "inherit" });
    if (error || status !== 0) {
      console.error(
        error ? `generate.mjs: cannot start buf: ${error.message}; install it, or run scripts/setup.sh test` : "",
      );
      process.exit(1);
    }
  }
}

function contents(directory) {
  const names = readdirSync(directory, { recursive: true }).filter((name) => name.endsWith(".ts"));
  return new Map(names.map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}

function differences() {
  const scratch = mkdtempSync(join(tmpdir(), "airlock-generate-"));
  try {
    generate(scratch);
    const [made, committed] = [contents(scratch), contents(TARGET)];
    return [...new Set([...made.keys(), ...committed.keys()])].filter((name) => made.get(name) !== committed.get(name));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

if (process.argv.includes("--check")) {
  const different = differences();
  for (const name of different) {
    console.error(`src/gen/${name} differs from proto/; run \`npm run generate\``);
  }
  process.exit(different.length > 0 ? 1 : 0);
}
generate(TARGET);
