//! The measured commands: rows of a corpus, or generated commands of the same kinds.

use std::{fs, path::Path};

/// A command and its tier: `core` for plain commands and pipelines.
pub(crate) struct Command {
    pub(crate) text: String,
    pub(crate) tier: String,
}

pub(crate) fn load() -> Vec<Command> {
    let commands = match std::env::var_os("CORPUS") {
        Some(directory) => from_corpus(Path::new(&directory)),
        None => generated(),
    };
    assert!(!commands.is_empty(), "there are commands to measure");
    commands
}

fn from_corpus(directory: &Path) -> Vec<Command> {
    let mut files: Vec<_> = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let texts: Vec<String> = files.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    texts.iter().flat_map(|text| text.lines()).filter_map(row).collect()
}

fn row(line: &str) -> Option<Command> {
    let row: serde_json::Value = serde_json::from_str(line).unwrap();
    let field = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
    (field("shell") != "pwsh").then(|| Command { text: field("cmd"), tier: field("tier") })
}

/// Common commands of agents, with the placeholders `FILE` and `WORD`.
const CORE: &[&str] = &[
    "ls -la FILE",
    "cat FILE",
    "head -n 20 FILE",
    "tail -c 100 FILE",
    "wc -l FILE",
    "grep -rn 'fn WORD' FILE",
    "rg --files-with-matches WORD FILE",
    "find FILE -name '*.WORD' -type f",
    "git status --short",
    "git log --oneline -n 5 -- FILE",
    "git diff --stat WORD",
    "sort -u FILE | uniq -c | sort -rn | head -n 5",
    "cut -d' ' -f1 FILE | tr a-z A-Z",
    "stat -c %s FILE",
    "du -sh FILE",
    "sed -n 5,10p FILE",
    "awk '{print $2}' FILE",
    "jq '.WORD' FILE",
    "cd WORD && ls -la",
    "echo \"WORD\"",
    "diff -u FILE WORD",
    "sha256sum FILE",
];

const HARDER: &[&str] = &[
    "for f in a b WORD; do cat \"$f\"; done",
    "if [ -f FILE ]; then wc -l FILE; fi",
    "while read -r line; do echo \"$line\"; done < FILE",
    "find . -name '*.WORD' -exec grep -l x {} \\;",
    "find FILE -print0 | xargs -0 grep -n WORD",
    "echo \"$(git rev-parse HEAD) WORD\"",
    "diff <(sort FILE) <(sort WORD)",
    "cat <<'EOF'\nWORD\nFILE\nEOF\n",
    "timeout 5 nice -n 5 grep WORD FILE 2>/dev/null",
    "ls {src,tests}/WORD*.rs 2>&1 | wc -l",
    "X=WORD make FILE && git add FILE && git commit -m 'WORD'",
    "rm -rf FILE || mkdir -p WORD",
    "case WORD in a) ls;; *) pwd;; esac",
    "(cd WORD && cargo test) > FILE 2>&1",
];

const FILES: &[&str] = &["src/main.c", "README.md", "'a file.txt'", "src", "./docs/one.md", "tests/*.rs"];
const WORDS: &[&str] = &["main", "value", "HEAD", "log", "branch-1"];

fn generated() -> Vec<Command> {
    let tiers = [("core", CORE), ("harder", HARDER)];
    let patterns = tiers.into_iter().flat_map(|(tier, list)| list.iter().map(move |pattern| (tier, pattern)));
    let filled = patterns.flat_map(|(tier, pattern)| {
        FILES.iter().zip(WORDS.iter().cycle()).map(move |(file, word)| Command {
            text: pattern.replace("FILE", file).replace("WORD", word),
            tier: tier.to_owned(),
        })
    });
    filled.collect()
}
