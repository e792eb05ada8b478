//! The collector of the violations of a request.

use std::{collections::BTreeMap, str::FromStr, time::Duration};

use airlock_control::api::{ApiError, FieldViolation};
use airlock_domain::{NetworkRules, limits};
use airlock_network::Rules;
use airlock_proto::{twin, v1};
use bytes::Bytes;
use prost_types::Duration as WireDuration;

/// The maximum number of reported violations.
pub(super) const VIOLATIONS: usize = 100;
/// The maximum length, in bytes, of the name of an environment variable or a principal.
pub(super) const WORD_BYTES: usize = 256;
/// The maximum length, in bytes, of a name in the field of a violation.
const SHOWN_BYTES: usize = 64;
/// The maximum of every duration. Profiles permit less.
pub(super) const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// A collector of violations.
#[derive(Debug, Default)]
pub(super) struct Checker {
    pub(super) violations: Vec<FieldViolation>,
}

impl Checker {
    pub(super) fn bad(&mut self, field: &str, description: impl Into<String>) {
        if self.violations.len() < VIOLATIONS {
            self.violations.push(FieldViolation { field: field.to_owned(), description: description.into() });
        }
    }

    /// Returns the value if there are no violations.
    pub(super) fn finish<T>(self, value: Option<T>) -> Result<T, ApiError> {
        match value {
            Some(value) if self.violations.is_empty() => Ok(value),
            _ => Err(ApiError::Invalid(self.violations)),
        }
    }

    pub(super) fn required<T>(&mut self, field: &str, value: Option<T>) -> Option<T> {
        if value.is_none() {
            self.bad(field, "is missing");
        }
        value
    }

    pub(super) fn id<I: FromStr>(&mut self, field: &str, text: &str) -> Option<I>
    where
        I::Err: std::fmt::Display,
    {
        if text.is_empty() {
            self.bad(field, "is missing");
            return None;
        }
        text.parse().map_err(|error: I::Err| self.bad(field, error.to_string())).ok()
    }

    /// Parses an optional ID. Empty: `None`.
    pub(super) fn optional_id<I: FromStr>(&mut self, field: &str, text: &str) -> Option<I>
    where
        I::Err: std::fmt::Display,
    {
        if text.is_empty() { None } else { self.id(field, text) }
    }

    pub(super) fn at_most(&mut self, field: &str, length: usize, most: usize) {
        if length > most {
            self.bad(field, format!("has {length} bytes, at most {most}"));
        }
    }

    pub(super) fn count(&mut self, field: &str, count: usize, most: usize) {
        if count > most {
            self.bad(field, format!("has {count} entries, at most {most}"));
        }
    }

    pub(super) fn no_nul(&mut self, field: &str, bytes: &[u8]) {
        if let Some(place) = bytes.iter().position(|byte| *byte == 0) {
            self.bad(field, format!("has a NUL byte at offset {place}"));
        }
    }

    /// Checks one line of text. Empty: `None`.
    pub(super) fn text(&mut self, field: &str, text: String, most: usize) -> Option<String> {
        self.at_most(field, text.len(), most);
        if text.chars().any(char::is_control) {
            self.bad(field, "has control characters");
        }
        (!text.is_empty()).then_some(text)
    }

    /// Checks the name of a profile or base. Empty: `None`.
    pub(super) fn name(&mut self, field: &str, text: String) -> Option<String> {
        self.at_most(field, text.len(), limits::NAME_BYTES);
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')) {
            self.bad(field, "may contain only a-z A-Z 0-9 . _ -");
        }
        (!text.is_empty()).then_some(text)
    }

    /// Joins the two fields of a text. Returns an empty text if both are set.
    pub(super) fn joined(&mut self, field: &str, text: String, bytes: Bytes) -> Vec<u8> {
        let joined = twin::join(text, bytes);
        joined
            .map_err(|both| self.bad(&format!("{field}_bytes"), both.to_string()))
            .unwrap_or_default()
            .into()
    }

    pub(super) fn command(&mut self, field: &str, text: String, bytes: Bytes) -> Vec<u8> {
        let command = self.joined(field, text, bytes);
        self.at_most(field, command.len(), limits::COMMAND_BYTES);
        self.no_nul(field, &command);
        command
    }

    /// Converts an enum. `UNSPECIFIED`: `None`.
    pub(super) fn choice<W, D>(&mut self, field: &str, number: i32) -> Option<D>
    where
        W: TryFrom<i32> + PartialEq + Default,
        D: TryFrom<W>,
    {
        let Ok(wire) = W::try_from(number) else {
            self.bad(field, format!("{number} is not a known value"));
            return None;
        };
        if wire == W::default() {
            return None;
        }
        D::try_from(wire).map_err(|_| self.bad(field, format!("{number} is not allowed here"))).ok()
    }

    /// Converts a duration. Zero or not set: `None`.
    pub(super) fn duration(
        &mut self,
        field: &str,
        value: Option<WireDuration>,
        most: Duration,
    ) -> Option<Duration> {
        let value = value?;
        if value.seconds < 0 || value.nanos < 0 {
            self.bad(field, "is negative");
            return None;
        }
        let (Ok(seconds), Ok(nanos @ 0..1_000_000_000)) =
            (u64::try_from(value.seconds), u32::try_from(value.nanos))
        else {
            self.bad(field, "is not a duration: nanos must be under a second");
            return None;
        };
        let duration = Duration::new(seconds, nanos);
        if duration > most {
            self.bad(field, format!("is {seconds} s, at most {} s", most.as_secs()));
            return None;
        }
        (!duration.is_zero()).then_some(duration)
    }

    pub(super) fn env(
        &mut self,
        field: &str,
        texts: BTreeMap<String, String>,
        bytes: BTreeMap<String, Bytes>,
    ) -> BTreeMap<String, Vec<u8>> {
        let (env, both) = twin::join_maps(texts, bytes);
        for name in both {
            self.bad(&format!("{field}_bytes[{}]", shown(&name)), twin::BothSet.to_string());
        }
        self.count(field, env.len(), limits::ENV_ENTRIES);
        let total: usize = env.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.at_most(field, total, limits::ENV_BYTES);
        for (name, value) in &env {
            if !is_variable(name) {
                let entry = format!("{field}[{}]", shown(name));
                self.bad(&entry, "is not the name of a variable: a letter or _, then letters, digits and _");
            }
            if value.contains(&0) {
                self.bad(&format!("{field}[{}]", shown(name)), "has a NUL byte");
            }
        }
        env.into_iter().map(|(name, value)| (name, value.into())).collect()
    }

    pub(super) fn labels(
        &mut self,
        field: &str,
        labels: BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        self.count(field, labels.len(), limits::LABELS);
        for (key, value) in &labels {
            let entry = format!("{field}[{}]", shown(key));
            if key.is_empty() || key.len() > limits::LABEL_KEY_BYTES || key.chars().any(char::is_control) {
                let most = limits::LABEL_KEY_BYTES;
                self.bad(&entry, format!("its key is not 1 to {most} bytes without control characters"));
            }
            if value.len() > limits::LABEL_VALUE_BYTES || value.chars().any(char::is_control) {
                let most = limits::LABEL_VALUE_BYTES;
                self.bad(&entry, format!("its value is not up to {most} bytes without control characters"));
            }
        }
        labels
    }

    /// Converts network rules and checks every entry.
    pub(super) fn network(&mut self, field: &str, rules: Option<&v1::NetworkRules>) -> Option<NetworkRules> {
        let rules = NetworkRules::from(rules?.clone());
        if let Some(limit) = rules.beyond_limit() {
            self.bad(field, limit);
            return None;
        }
        if !rules.ask.is_empty() {
            self.bad(&format!("{field}.ask"), "is only valid in a profile; remove it");
            return None;
        }
        if let Err(errors) = Rules::parse(rules.any, &rules.allow, &rules.deny) {
            errors.iter().for_each(|error| self.bad(&error.path(field), error.message.as_str()));
            return None;
        }
        Some(rules)
    }

    pub(super) fn shell(&mut self, field: &str, number: i32) -> Option<airlock_domain::Shell> {
        self.choice::<v1::Shell, _>(field, number)
    }

    pub(super) fn mode(&mut self, field: &str, number: i32) -> Option<airlock_domain::Mode> {
        self.choice::<v1::Mode, _>(field, number)
    }
}

fn is_variable(name: &str) -> bool {
    let head = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    head && name.len() <= WORD_BYTES && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Returns a key in the form for a field's path.
fn shown(key: &str) -> String {
    let end = key.floor_char_boundary(SHOWN_BYTES);
    format!("\"{}\"", key.get(..end).unwrap_or_default().escape_debug())
}
