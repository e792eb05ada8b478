"""Finds the terms that docs/glossary.md retires: `python3 scripts/retired_terms.py [ROOT]`.

The glossary's table "Retired words" has a row for each term: the term, its replacement, and the files in which the word
has another meaning, as globs in backticks. A note in parentheses after the term is for readers only. Several terms of one
row are separated by commas. A term of one word is found in prose and in identifiers (`folder`, `is_folder`, `FolderMode`),
also in the plural. A term of several words is found in prose.

Searched are all text files that git tracks, except the names of former tests, the cases of the policy's tests, and what
programs generate. Prints a line for each finding, and exits with 1 if there is one.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

GLOSSARY = "docs/glossary.md"
HEADING = "## Retired words"
ENDINGS = (
    ".awk", ".bash", ".json", ".md", ".proto", ".py", ".rs", ".service", ".sh", ".sql", ".toml", ".tpl", ".txt", ".yaml", "Makefile",
)
SKIPPED = ("Cargo.lock", "*/Cargo.lock", "docs/panels/*", "policy/test_data/*", "tests/map/*")
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def terms(glossary):
    """Returns the terms of the table, each with its replacement and the globs of its exceptions."""
    found = []
    _, _, table = glossary.partition(HEADING + "\n")
    for line in table.splitlines():
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) != 3 or cells[0] == "Retired" or set(cells[0]) <= set("- "):
            continue
        globs = re.findall(r"`([^`]+)`", cells[2])
        for term in re.sub(r"\([^)]*\)", "", cells[0]).split(","):
            found.append((term.strip().lower(), cells[1], globs))
    return found


def forms(term):
    """Returns a word and its plural."""
    plural = term[:-1] + "ies" if re.search(r"[^aeiou]y$", term) else term + ("es" if re.search(r"(s|x|ch|sh)$", term) else "s")
    return {term, plural}


def searched(root):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    for name in listed.decode().split("\0"):
        skipped = any(fnmatch.fnmatch(name, glob) for glob in SKIPPED)
        if name.endswith(ENDINGS) and not skipped and (root / name).is_file():
            yield name


def without_table(name, text):
    """Returns the glossary with the table's lines blank, so that the table does not find itself."""
    if name != GLOSSARY:
        return text
    before, heading, table = text.partition(HEADING + "\n")
    return before + "\n".join("" if line.startswith("|") else line for line in (heading + table).splitlines())


def findings(root):
    table = terms((root / GLOSSARY).read_text())
    words = {form: (term, use, globs) for term, use, globs in table if " " not in term for form in forms(term)}
    phrases = [(re.compile(rf"\b{re.escape(term)}\b"), term, use, globs) for term, use, globs in table if " " in term]
    # Most lines have none of the letters in a row, so their words need not be separated.
    any_term = re.compile("|".join(re.escape(form) for form in [*words, *(term for term, _, _ in table)]), re.IGNORECASE)
    for name in searched(root):
        text = without_table(name, (root / name).read_text(errors="replace"))
        for number, line in enumerate(text.splitlines(), 1):
            if not any_term.search(line):
                continue
            found = list({words[word][0]: words[word] for word in map(str.lower, WORD.findall(line)) if word in words}.values())
            lower = line.lower()
            found += [(term, use, globs) for pattern, term, use, globs in phrases if pattern.search(lower)]
            for term, use, globs in found:
                if not any(fnmatch.fnmatch(name, glob) for glob in globs):
                    yield f"{name}:{number}: `{term}` is retired; use: {use}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    if not terms((root / GLOSSARY).read_text()):
        sys.exit(f"{GLOSSARY} has no table `{HEADING}`")
    found = list(findings(root))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
