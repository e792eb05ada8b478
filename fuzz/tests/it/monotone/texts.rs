//! The sources of the texts. This module does not know their verdicts.

use std::path::{Path, PathBuf};

use airlock_fuzz::bash::{self, grammar, grammar::Construct};
use airlock_fuzz::canary::generate::Generator;
use fastrand::Rng;

/// The variable that names a directory with more commands, in `*.jsonl` files.
const DIRECTORY: &str = "AIRLOCK_TEST_COMMANDS";

/// The maximum length of these texts. An input check limits the length of a parsed text.
const LONGEST: usize = 5_000;

pub(super) struct Texts {
    seed: u64,
    rng: Rng,
    constructs: Vec<Construct>,
    /// Generates commands of real programs from the tables.
    programs: Generator,
    /// The policy's own cases and those of the directory.
    written: Vec<Vec<u8>>,
    made: usize,
}

impl Texts {
    pub(super) fn new(seed: u64) -> Self {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy/test_data");
        let mut written: Vec<Vec<u8>> = files(&data, "toml").iter().flat_map(|path| cases(path)).collect();
        assert!(written.len() > 500, "the policy's cases are in the expected directory");
        if let Some(directory) = std::env::var_os(DIRECTORY) {
            let more = commands(Path::new(&directory));
            assert!(!more.is_empty(), "{DIRECTORY} has no commands");
            written.extend(more);
        }
        written.retain(|text| !text.contains(&0) && text.len() <= LONGEST);
        Self {
            seed,
            rng: Rng::with_seed(seed),
            constructs: grammar::constructs(),
            programs: Generator::new(seed, |_| true).unwrap(),
            written,
            made: 0,
        }
    }

    pub(super) fn next(&mut self) -> Vec<u8> {
        self.made += 1;
        match self.rng.u8(..3) {
            0 => self.programs.next_command().command.into_bytes(),
            1 => self.rng.choice(&self.written).unwrap().clone(),
            _ => bash::text(self.rng.choice(&self.constructs).unwrap(), self.seed, self.made),
        }
    }
}

/// Returns the commands of a table of test cases.
fn cases(table: &Path) -> Vec<Vec<u8>> {
    let table: toml::Table = std::fs::read_to_string(table).unwrap().parse().unwrap();
    let rows = table.values().filter_map(toml::Value::as_array).flatten();
    rows.filter_map(|row| Some(row.get("command")?.as_str()?.as_bytes().to_vec())).collect()
}

/// Returns the files below the directory with this extension, sorted.
fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|known| known == extension) {
                all.push(path);
            }
        }
    }
    all.sort();
    all
}

fn commands(directory: &Path) -> Vec<Vec<u8>> {
    let texts = files(directory, "jsonl").into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines
        .filter_map(|line| {
            let row: serde_json::Value = serde_json::from_str(&line).unwrap();
            let text = row.get("command").or_else(|| row.get("cmd"))?.as_str()?;
            let of_bash = row.get("shell").is_none_or(|shell| shell == "bash");
            of_bash.then(|| text.as_bytes().to_vec())
        })
        .collect()
}
