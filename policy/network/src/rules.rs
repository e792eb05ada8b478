//! The rules of one layer: allowed hosts, denied hosts, hosts that a person is asked about, whether every public host is
//! allowed, and whether the layer only warns.
//!
//! [`entry`] parses one entry. This module reads the lists, and replaces presets by their entries.

pub(crate) mod entry;
pub(crate) mod error;

use std::{net::IpAddr, sync::Arc};

pub use error::{List, RuleError};

use crate::{
    address::AddressKind,
    host::Host,
    names,
    presets::{self, ANY},
    target::{Target, WEB_PORTS},
};
use entry::Entry;
use error::Problem;

/// The most entries of a list.
pub const MOST_ENTRIES: usize = 1_000;
/// The most characters of an entry.
pub const MOST_CHARACTERS: usize = 300;

/// The rules of one layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    any: bool,
    /// Shared, because each decision has a copy of the rules.
    allow: Arc<[Entry]>,
    deny: Arc<[Entry]>,
    ask: Arc<[Entry]>,
    warn: bool,
}

/// The rule that allows a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Allowed<'a> {
    pub(crate) rule: &'a str,
    /// Whether the connection may carry any protocol.
    pub(crate) raw: bool,
}

impl Rules {
    /// Parses the lists of a layer. `any` allows every public host on the ports 80 and 443.
    ///
    /// # Errors
    ///
    /// Returns every entry that is not a rule.
    pub fn parse(any: bool, allow: &[String], deny: &[String]) -> Result<Self, Vec<RuleError>> {
        let mut errors = Vec::new();
        let allow = parse_list(List::Allow, allow, &mut errors);
        let deny = parse_list(List::Deny, deny, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self { any, allow: allow.into(), deny: deny.into(), ask: Arc::default(), warn: false })
    }

    /// Adds the hosts that a person is asked about. An entry without a port asks about every port. A positive answer
    /// lets a host through that the layer does not allow otherwise.
    ///
    /// # Errors
    ///
    /// Returns every entry that is not a rule.
    pub fn asking(self, ask: &[String]) -> Result<Self, Vec<RuleError>> {
        let mut errors = Vec::new();
        let ask = parse_list(List::Ask, ask, &mut errors);
        if errors.is_empty() { Ok(Self { ask: ask.into(), ..self }) } else { Err(errors) }
    }

    /// Sets whether the layer only warns about public hosts that it does not allow. An entry that denies a host still
    /// refuses it.
    #[must_use]
    pub fn warning(self, warn: bool) -> Self {
        Self { warn, ..self }
    }

    /// Reports whether the rules let no host through at all.
    pub(crate) fn allow_nothing(&self) -> bool {
        !self.any && self.allow.is_empty() && self.ask.is_empty() && !self.warn
    }

    /// Reports whether the layer lets a target through that it does not allow. A listed host keeps the limits of its
    /// entry.
    pub(crate) fn warns(&self, target: &Target) -> bool {
        self.warn && self.allows(target).is_none() && is_public(target)
    }

    /// Returns the entry that denies a target. An entry without a port denies every port.
    pub(crate) fn denies(&self, target: &Target) -> Option<&str> {
        self.deny.iter().find(|entry| entry.denies(target)).map(Entry::text)
    }

    /// Returns the entry that asks a person about a target.
    pub(crate) fn asks(&self, target: &Target) -> Option<&str> {
        self.ask.iter().find(|entry| entry.asks(target)).map(Entry::text)
    }

    /// Returns the rule that allows a target, preferably one for a raw tunnel. An entry of `ask` allows it after a
    /// positive answer.
    pub(crate) fn allows(&self, target: &Target) -> Option<Allowed<'_>> {
        let entries = || {
            let asked = self.ask.iter().filter(|entry| entry.permits(target));
            self.allow.iter().filter(|entry| entry.allows(target)).chain(asked)
        };
        let found = entries().find(|entry| entry.is_raw()).or_else(|| entries().next());
        match found {
            Some(entry) => Some(Allowed { rule: entry.text(), raw: entry.is_raw() }),
            None if self.any && is_public(target) && WEB_PORTS.contains(&target.port) => {
                Some(Allowed { rule: ANY, raw: false })
            }
            None => None,
        }
    }

    /// Reports whether an entry lists an address that is not public.
    pub(crate) fn lists(&self, address: IpAddr, kind: AddressKind, port: u16) -> bool {
        self.allow.iter().any(|entry| entry.lists(address, kind, port))
            || self.ask.iter().any(|entry| entry.lists_asked(address, kind, port))
    }
}

/// Reports whether the host of a target is public. [`crate::AddressGuard`] checks the addresses of a name.
fn is_public(target: &Target) -> bool {
    match &target.host {
        Host::Name(name) => !names::is_private(name),
        Host::Address(address) => AddressKind::of(*address) == AddressKind::Public,
    }
}

fn parse_list(list: List, texts: &[String], errors: &mut Vec<RuleError>) -> Vec<Entry> {
    if texts.len() > MOST_ENTRIES {
        errors.push(RuleError::of_list(list, texts.len(), MOST_ENTRIES));
        return Vec::new();
    }
    let mut entries = Vec::new();
    let mut expanded = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        match parse_text(list, text) {
            Ok(Parsed::Entry(entry)) => entries.push(entry),
            Ok(Parsed::Preset(preset)) if expanded.contains(&preset.name()) => {}
            Ok(Parsed::Preset(preset)) => {
                expanded.push(preset.name());
                entries.extend(preset.entries().iter().cloned());
            }
            Err(problem) => errors.push(RuleError::of_entry(list, index, text, &problem)),
        }
    }
    entries
}

/// Returns the entries of one text of a list.
pub(crate) fn entries(list: List, text: &str) -> Result<Vec<Entry>, Problem> {
    Ok(match parse_text(list, text)? {
        Parsed::Entry(entry) => vec![entry],
        Parsed::Preset(preset) => preset.entries().to_vec(),
    })
}

enum Parsed {
    Entry(Entry),
    Preset(&'static presets::Preset),
}

fn parse_text(list: List, text: &str) -> Result<Parsed, Problem> {
    let characters = text.chars().count();
    if characters > MOST_CHARACTERS {
        return Err(Problem::new(
            format!("it has {characters} characters"),
            format!("write at most {MOST_CHARACTERS}"),
        ));
    }
    if text == "*" || text == ANY {
        return Err(everything(list, text));
    }
    if let Some(preset) = presets::find(text) {
        return Ok(Parsed::Preset(preset));
    }
    if matches!(Host::parse(text), Ok(Host::Name(name)) if name.is_single_label() && !text.contains('.')) {
        return Err(unknown_preset(text));
    }
    let entry = Entry::parse(text)?;
    if list == List::Allow {
        entry.check_breadth()?;
    }
    Ok(Parsed::Entry(entry))
}

fn everything(list: List, text: &str) -> Problem {
    let remedy = match list {
        List::Allow => "to allow every public host, set `any` of the network rules instead",
        List::Deny => "to deny everything, allow nothing",
        List::Ask => "to ask about every host of a domain, write `*.DOMAIN`",
    };
    Problem::new(format!("`{text}` is not an entry"), remedy.to_owned())
}

fn unknown_preset(word: &str) -> Problem {
    let remedy = match presets::nearest(word) {
        Some(near) => format!("write `{near}`, or name a host of one label with its port, as `HOST:443`"),
        None => "write a preset of docs/network.md, or name a host of one label with its port, as `HOST:443`"
            .to_owned(),
    };
    Problem::new("no preset has this name".to_owned(), remedy)
}

#[cfg(test)]
mod tests;
