"""Counts from the source how often each test repeats its check: `python3 scripts/test_counts.py [ROOT] <LIST`.

LIST has a line `BINARY TEST` for each test, as `cargo nextest list` prints it. The output has a line for each test: binary, test,
and two numbers, for `make test` and for `make test-long`. They differ if the test calls `airlock_sampling::extent`. After these
lines follow the tests that nextest does not list: the escape suites of the release build, the checks of the virtual machine, tests
in documentation, and files of cases.

The count is the product of nested loops over ranges of numbers and over arrays, in the test and in the functions of its file that it
calls; of several loops in sequence the largest counts. For a `proptest!` block it is the number of cases. A loop that sleeps until a
condition holds counts once, and so does everything that the text does not determine. `tests/map/counts.tsv` defines how to count
tests that read data.
"""

import ast
import functools
import pathlib
import re
import sys

SKIPPED = {"target", ".git"}
DEFAULT_CASES = 256  # of proptest


def blank(text):
    """Returns the text with comments and the content of strings blanked. No character moves."""
    pattern = r'//[^\n]*|/\*.*?\*/|b?r(#+)".*?"\1|b?r"[^"]*"|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\''
    keep = lambda found: re.sub(r"[^\n]", " ", found[0]) if found[0][0] == "/" else '"' + re.sub(r"[^\n]", " ", found[0][2:]) + '"'
    return re.sub(pattern, keep, text, flags=re.S)


def closing(text, at):
    """Returns the index of the bracket that closes the one at `at`."""
    depth = 0
    for index in range(at, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if depth == 0:
                return index
    return len(text) - 1


def parts(text):
    """Splits the text at commas outside brackets. `<` and `>` do not count as brackets."""
    found, depth, begin = [], 0, 0
    for index, sign in enumerate(text):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == "," and depth == 0:
            found.append(text[begin:index].strip())
            begin = index + 1
    return [part for part in found + [text[begin:].strip()] if part]


def until(text, at, sign):
    """Returns the index of the next character `sign` outside brackets."""
    while at < len(text) and text[at] != sign:
        at = closing(text, at) + 1 if text[at] in "([{" else at + 1
    return at


def until_brace(text, at):
    """Returns the index of the next `{` outside other brackets."""
    while at < len(text) - 1 and text[at] != "{":
        at = closing(text, at) + 1 if text[at] in "([" else at + 1
    return min(at, len(text) - 1)


class Source:
    """The functions and constants of a file."""

    def __init__(self, path):
        self.text = blank(path.read_text())
        self.functions = {}
        for found in re.finditer(r"\bfn (\w+)\s*(?:<[^(]*>)?\(", self.text):
            end = closing(self.text, found.end() - 1)
            body = re.compile(r"[{;]").search(self.text, end)
            if body and body[0] == "{":
                names = [part.split(":")[0].split()[-1] for part in parts(self.text[found.end():end]) if ":" in part]
                module = self.module(found.start())
                self.functions[(module, found[1])] = (names, self.text[body.start():closing(self.text, body.start()) + 1], found.start())
        self.values = {}
        for found in re.finditer(r"\b(?:const|static) (\w+)\s*:", self.text):
            begin = until(self.text, found.end(), "=")
            self.values[found[1]] = self.text[begin + 1:until(self.text, begin, ";")].strip()

    @functools.lru_cache(maxsize=None)
    def blocks(self, word):
        found = re.finditer(word, self.text)
        return [(one, one.end(), closing(self.text, one.end() - 1)) for one in found]

    def module(self, at):
        """Returns the path of the inline modules that contain this position."""
        return "::".join(one[1] for one, begin, end in self.blocks(r"\bmod (\w+)\s*\{") if begin <= at <= end)

    def cases(self, at):
        """Returns the number of cases of the `proptest!` block that contains this position, as an expression."""
        for _, begin, end in self.blocks(r"\bproptest!\s*\{"):
            if begin <= at <= end:
                inside = re.search(r"with_cases\(([^)]*)\)|cases: (\w+(?:::\w+\([^)]*\))?)", self.text[begin:end])
                around = re.search(r"cases: (?:u32::try_from\()?([\w:]+\([^)]*\))", self.text) if "config()" in self.text[begin:end] else None
                chosen = inside or around
                return next(group for group in chosen.groups() if group) if chosen else str(DEFAULT_CASES)
        return None


class Counter:
    """Counts the cases of a package's tests, in the short or in the full extent."""

    def __init__(self, sources, is_long):
        self.sources, self.is_long = sources, is_long

    def number(self, text, source, names, seen=frozenset()):
        """Returns the value of an expression, or None."""
        text = re.sub(r"(\d)_(?=\d)", r"\1", text.strip())
        text = re.sub(r"(?:airlock_sampling::)?extent\(([^,]*),([^)]*)\)", lambda found: found[2 if self.is_long else 1].strip(), text).strip()
        text = re.sub(r"(\d+)_?(?:u|i)(?:8|16|32|64|128|size)\b", r"\1", text)
        text = re.sub(r"\b(?:u|i)(?:8|16|32|64|128|size)::(?:try_from|from)\(([^()]*)\)(?:\.unwrap\(\))?| as \w+", r"\1", text)

        def word(found):
            name = found[0].split("::")[-1]
            if name.endswith(".len()"):
                return str(self.length(name[:-6], source, names) or "None")
            if name in names:
                return str(names[name])
            value = source.values.get(name) if name not in seen else None
            return str(self.number(value, source, names, seen | {name})) if value else "None"

        text = re.sub(r"[A-Za-z_][\w:]*(?:\.len\(\))?", word, text)
        try:
            tree = ast.parse(text, mode="eval")
            allowed = (ast.Expression, ast.BinOp, ast.Constant, ast.Add, ast.Sub, ast.Mult, ast.Div)
            if all(isinstance(node, allowed) for node in ast.walk(tree)):
                return int(eval(compile(tree, "", "eval")))
        except (SyntaxError, TypeError, ValueError, ZeroDivisionError):
            pass
        return None

    def length(self, text, source, names, body=""):
        """Returns the number of elements of an array, or None."""
        text = re.sub(r"^[&\s]*(?:mut )?|\.(?:iter|into_iter|lines|enumerate|copied|clone)\(\)", "", text).strip()
        text = re.sub(r"^vec!\s*", "", text)
        if text.startswith("["):
            inside = text[1:closing(text, 0)]
            if ";" in inside and not parts(inside)[1:]:
                return self.number(inside.split(";")[1], source, names)
            return len(parts(inside))
        if re.fullmatch(r"\w+", text):
            local = re.search(rf"\blet (?:mut )?{text}\b[^=;]*(?:;[^=;]*\])?\s*=\s*", body)
            value = body[local.end():] if local else source.values.get(text)
            value = re.sub(r"^&|^vec!\s*", "", value.strip()) if value else ""
            if value.startswith("["):
                return self.length(value[:closing(value, 0) + 1], source, names)
        return None

    def repeats(self, head, source, names, body):
        """Returns the number of iterations of a loop `for PATTERN in HEAD`."""
        span = re.fullmatch(r"\(?(.*?)\.\.(=?)(.*?)\)?(?:\.rev\(\)|\.step_by\((.*)\))?", head.strip(), flags=re.S)
        if span:
            first, last = self.number(span[1], source, names), self.number(span[3], source, names)
            if first is None or last is None:
                return 1
            count = last - first + len(span[2])
            return max(count // (self.number(span[4], source, names) or 1) if span[4] else count, 1)
        return self.length(head, source, names, body) or 1

    def body(self, text, source, names, seen, whole):
        most, at = 1, 0
        step = re.compile(r"\bfor\b[^{;]*?\bin\b|\b(\w+)(?:::<[^>]*>)?\(")
        while found := step.search(text, at):
            if found[1] is None:
                brace = until_brace(text, found.end())
                end = closing(text, brace)
                inner = text[brace:end + 1]
                waits = "sleep(" in inner and re.search(r"\b(?:return|break)\b", inner)
                count = 1 if waits else self.repeats(text[found.end():brace], source, names, whole)
                most = max(most, count * self.body(inner[1:-1], source, names, seen, whole))
                at = end + 1
            else:
                at = found.end()
                most = max(most, self.call(found[1], text[at:closing(text, at - 1)], source, names, seen))
        return most

    def call(self, name, given, source, names, seen):
        for (_, known), (parameters, body, _) in source.functions.items():
            if known == name and name not in seen:
                values = [self.number(part, source, names) for part in parts(given)]
                bound = {one: value for one, value in zip(parameters, values) if value is not None}
                return self.body(body, source, bound, seen | {name}, body)
        return 1

    def count(self, path):
        """Returns the count of the test with this path, such as `module::tests::name`."""
        *modules, name = path.split("::")
        found = [(file, source, inner) for file, source in self.sources for inner, known in source.functions if known == name]
        fits = [one for one in found if modules == file_module(one[0]) + [part for part in one[2].split("::") if part]]
        chosen = fits or (found if len(found) == 1 else [])
        if not chosen:
            return 1
        _, source, inner = chosen[0]
        _, body, at = source.functions[(inner, name)]
        cases = source.cases(at)
        times = self.number(cases, source, {}) or 1 if cases else 1
        return times * self.body(body, source, {}, {name}, body)


def file_module(path):
    """Returns the module path of a file, from its path below `src` or below the directory of its test program."""
    names = list(path.with_suffix("").parts)
    return names[:-1] if names[-1] in ("lib", "main", "mod") else names


def programs(root):
    """Returns the files of each test program, with their paths in the program."""
    found = {}
    for manifest in root.glob("**/Cargo.toml"):
        if SKIPPED & set(manifest.relative_to(root).parts) or "[package]" not in (text := manifest.read_text()):
            continue
        package = re.search(r'^name = "([^"]*)"', text, flags=re.M)[1]
        crate = manifest.parent
        found[package] = [(file.relative_to(crate / "src"), file) for file in crate.glob("src/**/*.rs")]
        named = re.search(r'\[\[test\]\]\nname = "(\w+)"\npath = "tests/main.rs"', text)
        if named:
            found[f"{package}::{named[1]}"] = [(file.relative_to(crate / "tests"), file) for file in crate.glob("tests/**/*.rs")]
        for file in crate.glob("tests/*.rs"):
            below = [(inner.relative_to(crate / "tests" / file.stem), inner) for inner in crate.glob(f"tests/{file.stem}/**/*.rs")]
            found[f"{package}::{file.stem}"] = [(pathlib.Path("main.rs"), file)] + below + [
                (inner.relative_to(crate / "tests"), inner) for _, inner in below]
        for main in crate.glob("tests/*/main.rs"):
            found[f"{package}::{main.parent.name}"] = [(file.relative_to(main.parent), file) for file in main.parent.glob("**/*.rs")]
    return found


def data():
    """Reads the rules of counts.tsv: a pattern of tests, and a pattern that is counted in files or captures a number."""
    table = pathlib.Path(__file__).resolve().parent.parent / "tests/map/counts.tsv"
    rows = [line.split("\t") for line in table.read_text().splitlines() if line and line[0] != "#"] if table.exists() else []
    return [(re.compile(tests), how, files, re.compile(pattern, flags=re.M)) for tests, how, files, pattern in rows]


def of_data(root, how, files, pattern):
    texts = [file.read_text(errors="replace") for file in sorted(root.glob(files)) if file.is_file()]
    if how == "files":
        return sum(1 for file in root.glob(files) if pattern.search(file.name))
    if how == "matches":
        return sum(len(pattern.findall(text)) for text in texts)
    found = [one for text in texts for one in pattern.finditer(text)]
    if how == "extent":
        numbers = [int(group) for one in found[:1] for group in one.groups() if group]
        return (numbers * 2)[:2]
    values = [group.replace("_", "").split(" << ") for one in found for group in one.groups() if group]
    numbers = [int(value[0]) << int(value[1]) if value[1:] else int(value[0]) for value in values]
    return functools.reduce(lambda one, other: one * other, numbers, 1)


def others(root, listed):
    """Yields the tests that nextest does not list, as `KIND NAME`."""
    if "--release" in (root / "scripts/test.sh").read_text():
        yield from (f"release:{line}" for line in listed if line.split()[0].endswith("::escape"))
    for file in sorted(root.glob("tests/vm/checks/*.sh")):
        for name in re.findall(r"^check_(\w+)\(\) \{", file.read_text(), flags=re.M):
            yield f"vm {file.stem.split('-')[1]}::{name}"
    if "host::root_reboots_the_machine" in (root / "scripts/vm.sh").read_text():
        yield "vm host::root_reboots_the_machine"
    for manifest in sorted(root.glob("*/Cargo.toml")):
        if "doctest = false" not in manifest.read_text():
            for file in sorted(manifest.parent.glob("src/**/*.rs")):
                if re.search(r"^\s*//[/!] ```(?:$|rust|no_run|compile_fail|should_panic)", file.read_text(), flags=re.M):
                    yield f"doc {file.relative_to(root)}"
    for path in sorted(root.glob("policy/test_data/*")):
        if path.name != "README.md":
            yield f"data {path.relative_to(root)}"
    for name in ("in_vm.txt", "promises.toml", "secrets.txt"):
        if (root / "sandbox/tests/escape" / name).exists():
            yield f"data sandbox/tests/escape/{name}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    known, instead, counters = programs(root), data(), {}
    sources = functools.lru_cache(maxsize=None)(Source)
    listed = [line for line in sys.stdin.read().splitlines() if line.strip()]
    for line in listed + list(others(root, listed)):
        binary, test = line.split(None, 1)
        test = test.strip()
        fixed = next((row for row in instead if row[0].fullmatch(f"{binary} {test}")), None)
        if fixed:
            tests, how, files, pattern = fixed
            files = tests.fullmatch(f"{binary} {test}").expand(files) if "\\" in files else files
            found = of_data(root, how, files, pattern)
            counts = found if how == "extent" else [found] * 2
        else:
            built = binary.removeprefix("release:")
            if built not in counters:
                files = [(path, sources(file)) for path, file in known.get(built, [])]
                counters[built] = [Counter(files, is_long) for is_long in (False, True)]
            counts = [counter.count(test) for counter in counters[built]]
        print(binary, test, *counts, sep="\t")


if __name__ == "__main__":
    main()
