//! Presets: named lists of hosts, as data in `presets.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{rules::entry::Entry, target::Target};

/// The word that allows every public host. It is not a preset.
pub(crate) const ANY: &str = "any";

/// The most characters of a word that is compared with the names of presets.
const MOST_COMPARED: usize = 32;

/// A named list of hosts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    name: String,
    access: PresetAccess,
    allow: Vec<String>,
    source: String,
    note: String,
    #[serde(skip)]
    entries: Vec<Entry>,
}

/// The use of a preset's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PresetAccess {
    /// The hosts only provide data.
    Read,
    /// The hosts accept data, such as uploads.
    Write,
    /// The same hosts provide and accept data. Only credentials or TLS inspection separate the two.
    Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    preset: Vec<Preset>,
}

/// Without the file's entries, no preset exists and every use of one is an error. A test parses the file.
static PRESETS: LazyLock<Vec<Preset>> =
    LazyLock::new(|| parse(include_str!("../presets.toml")).unwrap_or_default());

/// Returns every preset, in the order of the file.
#[must_use]
pub fn presets() -> &'static [Preset] {
    &PRESETS
}

/// Returns the preset with this name.
pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    presets().iter().find(|preset| preset.name == name)
}

/// Returns the name of the preset that is most similar to a word.
pub(crate) fn nearest(word: &str) -> Option<&'static str> {
    if word.chars().count() > MOST_COMPARED {
        return None;
    }
    let word = word.to_ascii_lowercase().replace('_', "-");
    presets()
        .iter()
        .map(|preset| (strsim::damerau_levenshtein(&word, &preset.name), preset.name.as_str()))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4 && *distance < name.len())
        .min()
        .map(|(_, name)| name)
}

/// Returns the first preset that allows a target, and is not for writing only.
pub(crate) fn suggested(target: &Target, raw: bool) -> Option<&'static Preset> {
    presets()
        .iter()
        .filter(|preset| preset.access != PresetAccess::Write)
        .find(|preset| preset.entries.iter().any(|entry| entry.allows(target) && (entry.is_raw() || !raw)))
}

fn parse(text: &str) -> Result<Vec<Preset>, String> {
    let mut file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    for preset in &mut file.preset {
        let entries = preset.allow.iter().map(|text| {
            let entry = Entry::parse(text).and_then(|entry| entry.check_breadth().map(|()| entry));
            entry.map(|entry| entry.of_preset(&preset.name)).map_err(|problem| format!("`{text}`: {problem}"))
        });
        preset.entries = entries.collect::<Result<_, _>>()?;
    }
    Ok(file.preset)
}

impl Preset {
    /// Returns the name: the entry that stands for the preset in a list.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the use of the hosts.
    #[must_use]
    pub const fn access(&self) -> PresetAccess {
        self.access
    }

    /// Returns the entries that the preset stands for.
    #[must_use]
    pub fn allow(&self) -> &[String] {
        &self.allow
    }

    /// Returns the address of the documentation that names the hosts.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Returns the purpose and the limits, in one or two sentences.
    #[must_use]
    pub fn note(&self) -> &str {
        &self.note
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

#[cfg(test)]
mod tests;
