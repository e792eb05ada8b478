/** Archives: a received one is checked before anything is written, and nothing outside the directory is changed. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmod, link, lstat, mkdir, open, readFile, readdir, readlink, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { pack } from "../src/pack.js";
import { unpack, type Counts } from "../src/unpack.js";
import { inScratch } from "./programs.js";

/** An entry: its name, its type as the standard has it, and its content or the target of a link. */
type Entry = readonly [name: string, type: "0" | "1" | "2" | "3" | "5" | "6", content: string];

const FILE = "0";
const HARD = "1";
const LINK = "2";
const DEVICE = "3";
const DIRECTORY = "5";
const PIPE = "6";

const WRITER = `
import io, json, sys, tarfile
form, entries = json.load(sys.stdin)
with tarfile.open(sys.argv[1], "w", format=getattr(tarfile, form)) as tar:
    for name, kind, content in entries:
        info = tarfile.TarInfo(name)
        info.type, info.mode = kind.encode(), 0o755 if kind == "5" else 0o640
        if kind == "0":
            info.size = len(content)
        else:
            info.linkname = content
        tar.addfile(info, io.BytesIO(content.encode()))
`;

/** Writes an archive with the tar module of Python. */
function write(path: string, entries: readonly Entry[], format = "GNU_FORMAT"): void {
  execFileSync("python3", ["-c", WRITER, path], { input: JSON.stringify([format, entries]) });
}

async function unpacked(path: string, into: string): Promise<Counts> {
  const archive = await open(path);
  try {
    return await unpack(archive, into, 0o755);
  } finally {
    await archive.close();
  }
}

async function packed(directory: string, path: string, exclude: readonly string[]): Promise<readonly string[]> {
  const archive = await open(path, "w");
  try {
    return await pack(directory, archive, exclude);
  } finally {
    await archive.close();
  }
}

async function modeOf(path: string): Promise<number> {
  return (await lstat(path)).mode & 0o777;
}

test("a directory comes back as it was", () =>
  inScratch(async (scratch) => {
    const source = join(scratch, "source");
    const long = `sub/${"long".repeat(30)}/${"name".repeat(30)}`;
    await mkdir(dirname(join(source, long)), { recursive: true });
    await writeFile(join(source, long), "long");
    await writeFile(join(source, "a"), "a".repeat(1000));
    await chmod(join(source, "a"), 0o640);
    await writeFile(join(source, "sub/run"), "b");
    await chmod(join(source, "sub/run"), 0o755);
    await symlink("sub/run", join(source, "link"));
    await link(join(source, "a"), join(source, "same"));
    await writeFile(join(source, "skip.log"), "no");
    execFileSync("mkfifo", [join(source, "pipe")]);
    const archive = join(scratch, "archive");
    assert.deepEqual(await packed(source, archive, ["*.log"]), ["pipe: not a file, directory or link"]);
    const listed = execFileSync("tar", ["-tf", archive], { encoding: "utf8" }).trim().split("\n");
    assert.deepEqual(listed, ["a", "link", "same", "sub/", `${dirname(long)}/`, long, "sub/run"]);

    const out = join(scratch, "out");
    assert.deepEqual(await unpacked(archive, out), { files: 3, directories: 2, links: 2 });
    assert.equal(await readFile(join(out, "a"), "utf8"), "a".repeat(1000));
    assert.equal(await modeOf(join(out, "a")), 0o640);
    assert.equal(await modeOf(join(out, "sub/run")), 0o755);
    assert.equal(await readlink(join(out, "link")), "sub/run");
    assert.equal(await readFile(join(out, long), "utf8"), "long");
    assert.equal((await lstat(join(out, "a"))).ino, (await lstat(join(out, "same"))).ino);
  }));

for (const format of ["GNU_FORMAT", "PAX_FORMAT", "USTAR_FORMAT"]) {
  test(`an archive in ${format} of another program is unpacked`, () =>
    inScratch(async (scratch) => {
      const name = `${"d".repeat(90)}/${"f".repeat(90)}`;
      const archive = join(scratch, "archive");
      write(
        archive,
        [
          [dirname(name), DIRECTORY, ""],
          [name, FILE, "hello"],
          ["link", LINK, "x"],
        ],
        format,
      );
      assert.deepEqual(await unpacked(archive, join(scratch, "out")), { files: 1, directories: 1, links: 1 });
      assert.equal(await readFile(join(scratch, "out", name), "utf8"), "hello");
    }));
}

test("names that are not text keep their bytes", () =>
  inScratch(async (scratch) => {
    const name = Buffer.from([0x61, 0xff, 0x62]);
    const at = (directory: string): Buffer => Buffer.concat([Buffer.from(join(scratch, directory, "/")), name]);
    await mkdir(join(scratch, "source"));
    await writeFile(at("source"), "x");
    await packed(join(scratch, "source"), join(scratch, "archive"), []);
    await unpacked(join(scratch, "archive"), join(scratch, "out"));
    assert.equal(await readFile(at("out"), "utf8"), "x");
  }));

const HOSTILE: readonly (readonly Entry[])[] = [
  [["../outside", FILE, "x"]],
  [["/outside", FILE, "x"]],
  [["a/../../outside", FILE, "x"]],
  [["link", LINK, "../outside"]],
  [["link", LINK, "/outside"]],
  [["a/link", LINK, "b/../../../outside"]],
  [["hard", HARD, "../outside"]],
  [["hard", HARD, "not-there"]],
  [["device", DEVICE, ""]],
  [["pipe", PIPE, ""]],
];
for (const entries of HOSTILE) {
  test(`the hostile archive ${JSON.stringify(entries)} is refused, and nothing is written`, () =>
    inScratch(async (scratch) => {
      await writeFile(join(scratch, "outside"), "mine");
      const archive = join(scratch, "archive");
      write(archive, [["good", FILE, "x"], ...entries]);
      await assert.rejects(unpacked(archive, join(scratch, "out")), { kind: "archive" });
      assert.deepEqual((await readdir(scratch)).sort(), ["archive", "outside"], "no part of it was written");
      assert.equal(await readFile(join(scratch, "outside"), "utf8"), "mine");
    }));
}

test("the control: a plain extraction would write outside", () =>
  inScratch(async (scratch) => {
    await mkdir(join(scratch, "out"));
    const archive = join(scratch, "archive");
    write(archive, [["../outside", FILE, "x"]]);
    execFileSync("tar", ["-xPf", archive, "-C", join(scratch, "out")]);
    assert.equal(await readFile(join(scratch, "outside"), "utf8"), "x");
  }));

test("a link in the archive is not followed", () =>
  inScratch(async (scratch) => {
    const archive = join(scratch, "archive");
    write(archive, [
      ["in", DIRECTORY, ""],
      ["to", LINK, "in"],
      ["to/file", FILE, "x"],
    ]);
    await assert.rejects(unpacked(archive, join(scratch, "out")), { kind: "local" });
    assert.deepEqual(await readdir(scratch), ["archive"]);
  }));

test("a local link is not followed", () =>
  inScratch(async (scratch) => {
    await mkdir(join(scratch, "elsewhere"));
    await mkdir(join(scratch, "out"));
    await symlink(join(scratch, "elsewhere"), join(scratch, "out/sub"));
    const archive = join(scratch, "archive");
    write(archive, [["sub/file", FILE, "x"]]);
    await assert.rejects(unpacked(archive, join(scratch, "out")), { kind: "archive", message: /in the way/ });
    assert.deepEqual(await readdir(join(scratch, "elsewhere")), []);
  }));

test("existing files are replaced, and others stay", () =>
  inScratch(async (scratch) => {
    const out = join(scratch, "out");
    await mkdir(out);
    await writeFile(join(out, "a"), "old");
    await writeFile(join(out, "b"), "stays");
    const archive = join(scratch, "archive");
    write(archive, [
      ["a", FILE, "new"],
      ["a2", HARD, "a"],
    ]);
    assert.deepEqual(await unpacked(archive, out), { files: 1, directories: 0, links: 1 });
    const read = (name: string): Promise<string> => readFile(join(out, name), "utf8");
    assert.deepEqual([await read("a"), await read("a2"), await read("b")], ["new", "new", "stays"]);
  }));

test("a file that is no archive, or a part of one, is an error", () =>
  inScratch(async (scratch) => {
    const path = join(scratch, "archive");
    const invalid = { kind: "archive", message: /invalid/ };
    for (const content of [Buffer.alloc(2000, "x"), Buffer.alloc(0), Buffer.alloc(100)]) {
      await writeFile(path, content);
      await assert.rejects(unpacked(path, join(scratch, "out")), invalid);
    }
    write(path, [["a", FILE, "x".repeat(2000)]]);
    await writeFile(path, (await readFile(path)).subarray(0, 1500));
    await assert.rejects(unpacked(path, join(scratch, "out")), invalid);
    const message = /not a local directory/;
    await assert.rejects(packed(join(scratch, "none"), path, []), { kind: "local", message });
  }));

for (const [glob, gone] of [
  ["*.log", ["a.log"]],
  ["**/*.log", ["a.log", "sub/b.log"]],
  ["sub", ["sub/b.log", "sub/c.txt"]],
  ["sub/?.txt", ["sub/c.txt"]],
  ["[ab].log", ["a.log"]],
  ["[!b-z].log", ["a.log"]],
  ["a+log", []],
] as const) {
  test(`the glob ${glob} excludes relative paths`, () =>
    inScratch(async (scratch) => {
      const names = ["a.log", "sub/b.log", "sub/c.txt"];
      for (const name of names) {
        await mkdir(dirname(join(scratch, "in", name)), { recursive: true });
        await writeFile(join(scratch, "in", name), "");
      }
      await packed(join(scratch, "in"), join(scratch, "archive"), [glob]);
      const listed = execFileSync("tar", ["-tf", join(scratch, "archive")], { encoding: "utf8" }).split("\n");
      const kept = listed.filter((name) => names.includes(name));
      assert.deepEqual(
        kept,
        names.filter((name) => !(gone as readonly string[]).includes(name)),
      );
    }));
}
