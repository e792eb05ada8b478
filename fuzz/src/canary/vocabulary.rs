//! The words for generated commands, from `canary/vocabulary.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::random::Random;

static ALL: LazyLock<Vocabulary> =
    LazyLock::new(|| toml::from_str(include_str!("../../canary/vocabulary.toml")).unwrap_or_default());

#[derive(Default, Deserialize)]
struct Vocabulary {
    operands: BTreeMap<String, Vec<String>>,
    part: BTreeMap<String, Vec<String>>,
    #[serde(flatten)]
    lists: BTreeMap<String, Vec<String>>,
}

/// Returns the list of that name, or an empty list.
#[must_use]
pub fn list(name: &str) -> &'static [String] {
    ALL.lists.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the operands that have a meaning for the program.
pub(super) fn operands(program: &str) -> &'static [String] {
    ALL.operands.get(program).map(Vec::as_slice).unwrap_or_default()
}

/// Returns a random part of a language.
pub(super) fn part(random: &mut Random, name: &str) -> &'static str {
    random.pick(ALL.part.get(name).map(Vec::as_slice).unwrap_or_default())
}
