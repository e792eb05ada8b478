//! The cmdlets of PowerShell, by name. Names ignore case.

use super::data;
use super::{CmdletEffect, ParameterKind, ParameterRole, ValueType};

/// A cmdlet or function.
#[derive(Debug)]
pub(crate) struct Cmdlet {
    pub(crate) name: &'static str,
    /// Its aliases on Linux, in lower case.
    pub(crate) aliases: &'static [&'static str],
    pub(crate) does: &'static str,
    pub(crate) effect: CmdletEffect,
    /// The set of parameters that applies if the given ones fit several.
    pub(crate) set: Option<&'static str>,
    /// Whether it has `-WhatIf` and `-Confirm`.
    pub(crate) changes: bool,
    /// Whether it is a function that ignores further arguments and has no common parameters.
    pub(crate) is_simple: bool,
    /// If the first of these parameters is given, and no others, the cmdlet is read-only whatever its effect is.
    pub(crate) reads_with: &'static [&'static str],
    pub(crate) parameters: &'static [Parameter],
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// Its name, then its aliases.
    pub(crate) names: &'static [&'static str],
    pub(crate) kind: ParameterKind,
    pub(crate) role: ParameterRole,
    /// Whether the cmdlet is not read-only with it.
    pub(crate) refused: bool,
    /// The type of its values, and whether it takes a list of them.
    pub(crate) takes: (ValueType, bool),
    /// The sets to which it belongs, with its position. `*` is every set; empty means every set, without a position.
    pub(crate) sets: &'static [(&'static str, Option<u8>)],
}

impl Parameter {
    pub(crate) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

impl Cmdlet {
    /// Returns every parameter: its own, then those of all cmdlets.
    pub(crate) fn all_parameters(&self) -> impl Iterator<Item = &'static Parameter> {
        const OF_CHANGES: usize = 2;
        let all = data::COMMON_PARAMETERS.len();
        let count = match (self.is_simple, self.changes) {
            (true, _) => 0,
            (false, true) => all,
            (false, false) => all - OF_CHANGES,
        };
        self.parameters.iter().chain(data::COMMON_PARAMETERS.iter().take(count))
    }

    /// Returns the parameter with this name, alias, or unambiguous start of one of them.
    pub(crate) fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        let same = |known: &str| known.eq_ignore_ascii_case(name);
        let exact = self.all_parameters().find(|parameter| parameter.names.iter().any(|known| same(known)));
        exact.or_else(|| match self.starting_with(name).as_slice() {
            [one] => Some(*one),
            several => {
                let mut own = several
                    .iter()
                    .filter(|found| self.parameters.iter().any(|own| std::ptr::eq(own, **found)));
                own.next().filter(|_| own.next().is_none()).copied()
            }
        })
    }

    /// Returns the parameters of which a name or alias starts with this text. If only one of them is the cmdlet's own,
    /// PowerShell takes that one.
    fn starting_with(&self, name: &str) -> Vec<&'static Parameter> {
        let starts =
            |known: &&str| known.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        self.all_parameters().filter(|parameter| parameter.names.iter().any(&starts)).collect()
    }

    /// Reports whether the cmdlet fails before it does anything, because no parameter has this name: several start with
    /// it, or it is `-WhatIf` or `-Confirm` of a cmdlet that changes nothing.
    pub(crate) fn fails_with(&self, name: &str) -> bool {
        let is = |full: &str| {
            name.len() >= 4 && full.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        self.starting_with(name).len() > 1 || (!self.changes && (is("WhatIf") || is("Confirm")))
    }
}

/// Returns the cmdlet with this name.
pub(crate) fn cmdlet(name: &str) -> Option<&'static Cmdlet> {
    find(data::CMDLETS, &name.to_ascii_lowercase()).map(|(_, cmdlet)| cmdlet)
}

/// Returns the command that the alias stands for on Linux.
pub(crate) fn alias(name: &str) -> Option<&'static str> {
    find(data::CMDLET_ALIASES, &name.to_ascii_lowercase()).map(|(_, command)| *command)
}

/// Returns the command that the name of a program stands for on Windows.
pub(crate) fn windows_alias(name: &str) -> Option<&'static str> {
    find(data::WINDOWS_ALIASES, &name.to_ascii_lowercase()).map(|(_, command)| *command)
}

fn find<T>(sorted: &'static [(&'static str, T)], name: &str) -> Option<&'static (&'static str, T)> {
    let at = sorted.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    sorted.get(at)
}
