//! The policy's own tables as the generator's vocabulary: the programs, and the spelling of their
//! flags. It parses the data again and does not call the policy, so that every flag that the tables
//! call harmless is tried.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

/// The directory of the tables.
const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy/tables");

/// A program, or a program with its subcommand.
#[derive(Debug)]
pub struct Program {
    /// Its words, separated by spaces.
    pub name: String,
    /// How many of the first operands are text. `paths` describes the other operands.
    pub text_operands: usize,
    /// Whether operands are paths.
    pub paths: bool,
    /// The maximum number of operands.
    pub most: usize,
    /// Flags of which at least one is required; without it, the program does something else.
    pub needs: Vec<String>,
    /// The language of its first operand.
    pub language: Option<String>,
    /// Flags that the tables call harmless.
    pub flags: Vec<Flag>,
    /// Flags that the tables refuse.
    pub refused: Vec<Flag>,
}

/// A flag with all its spellings.
#[derive(Debug, Clone)]
pub struct Flag {
    /// The names with their dashes.
    pub names: Vec<String>,
    /// Whether it has a value, and the tables' name for the value.
    pub takes: Takes,
}

/// The value of a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// An optional value in the same word.
    Optional(String),
    /// A value in the same word or the next.
    Value(String),
}

/// Options before the subcommand, by program.
pub type Globals = BTreeMap<String, Vec<Flag>>;

/// Reads the tables' programs, sorted by name, and the options before subcommands.
///
/// # Errors
///
/// Returns an error if a file cannot be read or is not a valid table.
pub fn load() -> io::Result<(Vec<Program>, Globals)> {
    let mut all = File::default();
    for entry in fs::read_dir(Path::new(DIRECTORY))? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "toml") {
            let text = fs::read_to_string(&path)?;
            let file: File =
                toml::from_str(&text).map_err(|error| io::Error::other(format!("{path:?}: {error}")))?;
            all.set.extend(file.set);
            all.program.extend(file.program);
            all.global.extend(file.global);
        }
    }
    let programs = all.program.iter().map(|(name, entry)| program(name, entry, &all.set)).collect();
    let globals = all.global.iter().map(|(name, set)| (name.clone(), flags(&set.flags))).collect();
    Ok((programs, globals))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    set: BTreeMap<String, Entry>,
    program: BTreeMap<String, Entry>,
    global: BTreeMap<String, Entry>,
}

/// The fields of an entry that the generator needs. The policy validates the others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    operands: Option<Operands>,
    needs: Vec<String>,
    check: Option<String>,
    #[serde(rename = "use")]
    uses: Vec<String>,
    flags: BTreeMap<String, String>,
    refused: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Operands {
    Kind(String),
    AtMost { at_most: usize, are: String },
    TextFirst { text: usize },
}

fn program(name: &str, entry: &Entry, sets: &BTreeMap<String, Entry>) -> Program {
    let (text_operands, paths, most) = match &entry.operands {
        Some(Operands::Kind(kind)) if kind == "nothing" => (0, false, 0),
        Some(Operands::Kind(kind)) => (0, kind.starts_with("path"), 3),
        Some(Operands::AtMost { at_most, are }) => (0, are == "paths", *at_most),
        Some(Operands::TextFirst { text }) => (*text, true, text + 2),
        None => (0, false, 0),
    };
    let mut found = Program {
        name: name.to_owned(),
        text_operands,
        paths,
        most,
        needs: entry.needs.clone(),
        language: entry.check.clone(),
        flags: flags(&entry.flags),
        refused: flags(&entry.refused),
    };
    let mut open: Vec<&String> = entry.uses.iter().collect();
    while let Some(set) = open.pop().and_then(|name| sets.get(name)) {
        add_new(&mut found.refused, &set.refused, &found.flags);
        add_new(&mut found.flags, &set.flags, &found.refused);
        open.extend(&set.uses);
    }
    found
}

/// Adds the flags of a shared set that the program does not define itself.
fn add_new(to: &mut Vec<Flag>, list: &BTreeMap<String, String>, other: &[Flag]) {
    for flag in flags(list) {
        let known = |known: &Flag| known.names.iter().any(|name| flag.names.contains(name));
        if !to.iter().any(known) && !other.iter().any(known) {
            to.push(flag);
        }
    }
}

fn flags(list: &BTreeMap<String, String>) -> Vec<Flag> {
    list.keys().map(|key| flag(key)).collect()
}

/// Parses a key such as `-k, --key=KEYDEF`, `--color[=WHEN]`, `-f FILE`, `-U[NUM]` or `-NUM`.
fn flag(key: &str) -> Flag {
    if key == "-NUM" {
        return Flag { names: vec!["-3".to_owned()], takes: Takes::Nothing };
    }
    let mut takes = Takes::Nothing;
    let mut names = Vec::new();
    // Only the positive form of a negatable flag is used; its opposite takes no value.
    let key = key.replace("--[no-]", "--");
    for part in key.split(", ") {
        let end = part.find(['=', ' ', '[']).unwrap_or(part.len());
        let (name, value) = part.split_at(end);
        names.push(name.to_owned());
        let called = || value.trim_matches(['=', ' ', '[', ']']).to_owned();
        match value.chars().next() {
            None => {}
            Some('[') => takes = Takes::Optional(called()),
            Some(_) => takes = Takes::Value(called()),
        }
    }
    Flag { names, takes }
}
