//! The contents of the profile so far, and the reading of lists and objects of the settings.

use serde_json::{Map, Value};

use crate::decision::Verdict;

/// A setting that was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its position, such as `permissions.allow[2]`.
    pub place: String,
    /// Its value as JSON.
    pub value: String,
    /// The reason, and an alternative if there is one.
    pub why: String,
}

/// The contents of the profile so far.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) rules: Vec<ImportedRule>,
    pub(super) modes: Vec<&'static str>,
    pub(super) default_mode: Option<Entry<&'static str>>,
    pub(super) auto_allow: Option<Entry<bool>>,
    pub(super) allow_unsandboxed: Option<Entry<bool>>,
    pub(super) excluded: Vec<Entry<String>>,
    pub(super) directories: Vec<Entry<String>>,
    pub(super) network: NetworkDraft,
    pub(super) left_out: Vec<LeftOut>,
}

/// The key `network` of the profile.
#[derive(Debug, Default)]
pub(super) struct NetworkDraft {
    pub(super) allow: Vec<Entry<String>>,
    pub(super) deny: Vec<Entry<String>>,
}

/// A value of the profile, and the setting that it comes from.
#[derive(Debug)]
pub(super) struct Entry<T> {
    pub(super) value: T,
    pub(super) from: String,
}

/// A rule of the profile.
#[derive(Debug)]
pub(super) struct ImportedRule {
    pub(super) verdict: Verdict,
    pub(super) rule: String,
    pub(super) from: String,
}

impl Draft {
    pub(super) fn leave_out(&mut self, place: &str, value: &Value, why: impl Into<String>) {
        self.left_out.push(LeftOut { place: place.to_owned(), value: value.to_string(), why: why.into() });
    }

    /// Adds the Airlock rules for one rule of the settings.
    pub(super) fn carry(
        &mut self,
        verdict: Verdict,
        place: &str,
        value: &Value,
        rules: Result<Vec<String>, String>,
    ) {
        let from = format!("{place}: {value}");
        match rules {
            Ok(rules) => {
                let carried =
                    rules.into_iter().map(|rule| ImportedRule { verdict, rule, from: from.clone() });
                self.rules.extend(carried);
            }
            Err(why) => self.leave_out(place, value, why),
        }
    }
}

/// Returns the keys of an object that are not in `known`.
pub(super) fn unknown<'a>(
    object: &'a Map<String, Value>,
    known: &'a [&str],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.iter().filter(|(key, _)| !known.contains(&key.as_str()))
}

/// Returns the strings of a list with their positions. Other elements are reported as left out.
pub(super) fn texts<'a>(
    draft: &mut Draft,
    place: &str,
    value: Option<&'a Value>,
) -> Vec<(String, &'a Value, &'a str)> {
    let list = match value {
        None => return Vec::new(),
        Some(Value::Array(list)) => list,
        Some(other) => {
            draft.leave_out(place, other, "the value is not a list");
            return Vec::new();
        }
    };
    let mut texts = Vec::new();
    for (index, item) in list.iter().enumerate() {
        let place = format!("{place}[{index}]");
        match item.as_str() {
            Some(text) => texts.push((place, item, text)),
            None => draft.leave_out(&place, item, "the value is not a string"),
        }
    }
    texts
}
