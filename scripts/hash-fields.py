#!/usr/bin/env python3
"""Tries to remove each field from the hashes of grants, profiles and requests (domain/src/binding.rs).

For each field of an encoding, the script changes the domain crate in one of two ways, and runs its tests:

  list  the field is added to the list of the fields that the hash does not cover
  skip  the field is left out of the encoding, with `#[serde(skip)]`

Each change must fail to compile or fail a test. The script prints one line per try, and fails if a change passes.

  scripts/hash-fields.py [--only TEXT] [-- COMMAND...]

COMMAND starts cargo, for example `nice cargo`.
"""

import json
import pathlib
import re
import subprocess
import sys

DOMAIN = pathlib.Path(__file__).resolve().parent.parent / "domain"
BINDING = DOMAIN / "src/binding.rs"
# The types with an encoding, in the order of their samples in the file. A profile is part of a grant.
TYPES = ["Grant", "StartExecution", "CreateSession"]
# Values for fields without a default, by the name of the field.
VALUES = {
    "session_id": "crate::SessionId::new()",
    "access": "crate::PathAccess::Read",
    "format": "crate::ObeyedFormat::Toml",
    "action": "crate::ProtectAction::Report",
    "state": "crate::FileState::Any",
}
# Only one mode exists, so there is no other value.
ONLY_VALUE = {"Grant.profile.network"}
# Parts of other fields' encodings that are not fields of a type: those of a duration, and a file's digest.
PARTS = {"secs", "nanos", "sha256"}
# Fields that can be absent and have fields of their own.
OPTIONS = {"network", "pty", "edit"}


def walk(value, path, place):
    """Yields each field: its names, and the Rust statements that lead to it around `{}`."""
    if isinstance(value, list):
        for one in value[:1]:
            yield from walk(one, path, lambda inner, at=place: at(f".iter_mut().for_each(|e| {{ e{inner}; }})"))
        return
    if not isinstance(value, dict) or path[-1:] in (["env"], ["labels"], ["runner_labels"]):
        return
    for name, inner in value.items():
        if name in PARTS:
            continue
        yield path + [name], lambda rest, at=place, name=name: at(f".{name}{rest}")
        below = lambda rest, at=place, name=name: at(f".{name}{rest}")
        if name in OPTIONS:
            below = lambda rest, at=place, name=name: at(f".{name}.iter_mut().for_each(|e| {{ e{rest}; }})")
        yield from walk(inner, path + [name], below)


def fails(command):
    """Runs the tests of the hashes. Returns why they fail, or None."""
    result = subprocess.run(
        [*command, "test", "--quiet", "-p", "airlock-domain", "--lib", "binding::"],
        cwd=DOMAIN.parent,
        capture_output=True,
        text=True,
    )
    if result.returncode == 0:
        return None
    failed = re.findall(r"^    (binding::\S+)$", result.stdout, re.M)
    if failed:
        return "fails " + ", ".join(sorted({name.rsplit("::", 1)[1] for name in failed}))
    error = re.search(r"^error(?:\[E\d+\])?: .*$", result.stderr, re.M)
    return f"does not compile: {error.group(0) if error else result.stderr[-300:]}"


def listed(kind, path, place):
    """Returns binding.rs with the field in the list of `kind`."""
    text = BINDING.read_text()
    value = VALUES.get(path[-1], "Default::default()")
    statement = place(f" = {value}")
    entry = (
        f'Unbound {{ field: "{".".join(path)}", reason: "a try", clear: |value| {{ value{statement}; }} }},'
    )
    start = text.index(f"impl {kind} {{")
    at = text.index("&[\n", start) + len("&[\n")
    return text[:at] + entry + text[at:]


def main():
    arguments = sys.argv[1:]
    command = ["cargo"]
    if "--" in arguments:
        split = arguments.index("--")
        arguments, command = arguments[:split], arguments[split + 1 :]
    only = arguments[1] if arguments[:1] == ["--only"] else ""
    passed = []
    if (why := fails(command)) is not None:
        sys.exit(f"the tests fail without a change: {why}")
    lists = re.findall(r'field: "([^"]+)"', BINDING.read_text())
    samples = (DOMAIN / "src/binding/second.txt").read_text().splitlines()
    for kind, sample in zip(TYPES, samples):
        encoded = json.loads(sample)
        for path, place in walk(encoded, [], lambda rest: rest):
            name = ".".join(path)
            if name in lists or f"{kind}.{name}" in ONLY_VALUE or only not in f"{kind}.{name}":
                continue
            before = BINDING.read_text()
            try:
                BINDING.write_text(listed(kind, path, place))
                why = fails(command)
            finally:
                BINDING.write_text(before)
            print(f"list {kind}.{name}: {why or 'PASSES'}", flush=True)
            passed += [] if why else [f"list {kind}.{name}"]
    for file in ["command", "grant", "bound", "edit", "execution", "network"]:
        source = DOMAIN / f"src/{file}.rs"
        before = source.read_text()
        for match in re.finditer(r"^    (?:pub )?(\w+): .*,$", before, re.M):
            types = re.findall(r"(?:struct|enum) (\w+)", before[: match.start()])
            kind = types[-1] if types else file
            name = f"{kind}.{match.group(1)}"
            derives = re.findall(r"#\[derive\(([^)]*)\)\]", before[: match.start()])
            if only not in name or not derives or "Serialize" not in derives[-1]:
                continue
            # The attribute has no effect in a type that another type encodes. The script tries the fields of that other
            # type.
            if "try_from" in before[before.rindex("#[derive", 0, match.start()) : match.start()]:
                continue
            changed = before[: match.start()] + "    #[serde(skip)]\n" + before[match.start() :]
            try:
                source.write_text(changed)
                why = fails(command)
            finally:
                source.write_text(before)
            print(f"skip {name}: {why or 'PASSES'}", flush=True)
            passed += [] if why else [f"skip {name}"]
    if passed:
        sys.exit(f"these fields can be removed: {', '.join(passed)}")
    print("no field can be removed")


if __name__ == "__main__":
    main()
