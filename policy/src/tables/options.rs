//! The flags of a program, looked up by name. This module does not parse words.

use super::Takes;

/// One flag with all its names, without dashes. A long name with one dash, among names with two,
/// keeps its dash.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) names: &'static [&'static str],
    pub(crate) takes: Takes,
    /// The permitted values; empty if all values are permitted.
    pub(crate) values: &'static [&'static str],
    /// The reason why the flag is refused.
    pub(crate) refused: Option<&'static str>,
}

/// The flags of a program.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) flags: &'static [Flag],
    /// Letters and names with their index in `flags`, sorted.
    pub(crate) short: &'static [(u8, usize)],
    pub(crate) long: &'static [(&'static str, usize)],
    /// Whether `-5` is a number, not a flag.
    pub(crate) number: bool,
    /// Whether the first operand ends the flags, as for builtins and launchers.
    pub(crate) operand_ends_flags: bool,
    /// Whether long flags have one dash.
    pub(crate) one_dash: bool,
}

impl Options {
    pub(crate) fn short(&self, letter: u8) -> Option<&'static Flag> {
        let at = self.short.binary_search_by_key(&letter, |(letter, _)| *letter).ok()?;
        self.flag(self.short.get(at)?.1)
    }

    /// Returns the long flag with this name or with this unambiguous abbreviation.
    pub(crate) fn long(&self, name: &[u8]) -> Option<&'static Flag> {
        let from = self.long.partition_point(|(known, _)| known.as_bytes() < name);
        let mut starting =
            self.long.get(from..)?.iter().take_while(|(known, _)| known.as_bytes().starts_with(name));
        let (first, index) = starting.next().filter(|_| !name.is_empty())?;
        let ambiguous = first.len() != name.len() && starting.any(|(_, other)| other != index);
        if ambiguous { None } else { self.flag(*index) }
    }

    /// Returns the flag with exactly this name.
    pub(crate) fn exact(&self, name: &[u8]) -> Option<&'static Flag> {
        match name {
            [letter] => self.short(*letter),
            _ => {
                let at = self.long.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok()?;
                self.flag(self.long.get(at)?.1)
            }
        }
    }

    fn flag(&self, index: usize) -> Option<&'static Flag> {
        self.flags.get(index)
    }
}
