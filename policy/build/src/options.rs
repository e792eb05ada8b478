//! Parses flags in the form of a help text: `-k, --key=KEYDEF`, `--color[=WHEN]`, `-U[NUM]`, `-f
//! FILE`, `--arg NAME VALUE`, `--[no-]pager`, `-NUM`. It checks their form and makes no decisions.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::{FlagList, Set};
use crate::kinds::Takes;

pub(crate) struct Flag {
    /// The names without dashes. A one-letter name is a short flag. A long name with one dash keeps
    /// it.
    pub(crate) names: Vec<String>,
    pub(crate) takes: Takes,
    /// The permitted values; empty if all values are permitted.
    pub(crate) values: Vec<String>,
    /// The reason why the flag is refused.
    pub(crate) refused: Option<String>,
}

/// All flags of a program: its own and those of the sets that it uses.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) flags: Vec<Flag>,
    /// Whether `-5` is a number.
    pub(crate) number: bool,
}

impl Options {
    pub(crate) fn of(
        owner: &str,
        sets: &BTreeMap<String, Set>,
        uses: &[String],
        flags: &FlagList,
        refused: &FlagList,
    ) -> Result<Self, String> {
        let mut options = Self::default();
        let mut seen = BTreeSet::new();
        options.add(owner, flags, false, &mut seen)?;
        options.add(owner, refused, true, &mut seen)?;
        let mut open: Vec<&String> = uses.iter().collect();
        let mut used = BTreeSet::new();
        while let Some(name) = open.pop() {
            let set = sets.get(name).ok_or_else(|| format!("{owner} uses the unknown set `{name}`"))?;
            if used.insert(name) {
                options.add_set(owner, set, &mut seen)?;
                open.extend(&set.uses);
            }
        }
        Ok(options)
    }

    /// Adds the flags of a set that the program does not list itself.
    fn add_set(&mut self, owner: &str, set: &Set, seen: &mut BTreeSet<String>) -> Result<(), String> {
        for (list, refused) in [(&set.refused, true), (&set.flags, false)] {
            let mut own = FlagList::new();
            for (key, does) in list {
                let flags = parse(owner, key)?.unwrap_or_default();
                if !flags.iter().flat_map(|flag| &flag.names).any(|name| seen.contains(name)) {
                    own.insert(key.clone(), does.clone());
                }
            }
            self.add(owner, &own, refused, seen)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        owner: &str,
        list: &FlagList,
        refused: bool,
        seen: &mut BTreeSet<String>,
    ) -> Result<(), String> {
        for (key, does) in list {
            if matches!(does.trim(), "" | "?") {
                return Err(format!("`{key}` of {owner} has no description"));
            }
            let Some(flags) = parse(owner, key)? else {
                self.number = true;
                continue;
            };
            for mut flag in flags {
                if let Some(twice) = flag.names.iter().find(|name| !seen.insert((*name).clone())) {
                    return Err(format!("the flag `{twice}` of {owner} is listed twice"));
                }
                flag.refused = refused.then(|| does.clone());
                self.flags.push(flag);
            }
        }
        Ok(())
    }
}

/// Parses one key into the flag and, if it has one, its opposite. Returns `None` for `-NUM`.
fn parse(owner: &str, key: &str) -> Result<Option<Vec<Flag>>, String> {
    if key == "-NUM" {
        return Ok(None);
    }
    let wrong = || format!("`{key}` of {owner} does not have the form `-k, --key=VALUE`");
    let mut names = Vec::new();
    let mut opposites = Vec::new();
    let mut takes = Takes::Nothing;
    let mut values = Vec::new();
    for part in key.split(", ") {
        let (part, opposite) = match part.strip_prefix("--[no-]") {
            Some(rest) => (format!("--{rest}"), true),
            None => (part.to_owned(), false),
        };
        let end = part.find(['=', ' ', '[']).unwrap_or(part.len());
        let (name, value) = part.split_at(end);
        let bare = name.strip_prefix("--").or_else(|| name.strip_prefix('-')).ok_or_else(wrong)?;
        if bare.is_empty() {
            return Err(wrong());
        }
        let one_dash = !name.starts_with("--") && bare.len() > 1;
        names.push(if one_dash { name.to_owned() } else { bare.to_owned() });
        if opposite {
            opposites.push(format!("no-{bare}"));
        }
        let here = taken(value).ok_or_else(wrong)?;
        if here != Takes::Nothing {
            takes = here;
            values = literal(value);
        }
    }
    let mut flags = vec![Flag { names, takes, values, refused: None }];
    if !opposites.is_empty() {
        flags.push(Flag { names: opposites, takes: Takes::Nothing, values: Vec::new(), refused: None });
    }
    Ok(Some(flags))
}

/// Returns the use of a value by its name: `FILE`, `DIR` and `PATH` are read, `OUT` is written, the
/// last four are run.
fn taken(value: &str) -> Option<Takes> {
    if value.is_empty() {
        return Some(Takes::Nothing);
    }
    if value.starts_with('[') {
        return value.ends_with(']').then_some(Takes::Optional);
    }
    let name = value.strip_prefix(['=', ' '])?;
    Some(match name {
        "" => return None,
        "FILE" | "DIR" | "PATH" => Takes::Read,
        "OUT" => Takes::Write,
        "SHELL_TEXT" => Takes::ShellText,
        "NAMED_TEXT" => Takes::NamedText,
        "SPLIT_TEXT" => Takes::SplitText,
        "COMMAND..." => Takes::Command,
        name if name.contains(' ') => Takes::Pair,
        _ => Takes::Value,
    })
}

/// Returns the values of a form such as `=never|auto`: lower-case values are literal.
fn literal(value: &str) -> Vec<String> {
    let values = value.trim_start_matches(['=', ' ', '[']).trim_end_matches(']');
    if values.chars().any(|letter| letter.is_ascii_uppercase()) {
        return Vec::new();
    }
    values.split('|').map(str::to_owned).collect()
}
