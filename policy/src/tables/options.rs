//! The flags of a program, looked up by name. It knows nothing of words.

use super::Takes;

/// One flag by all its names, without dashes; a long one that is written with one dash
/// among flags that are not keeps it.
#[derive(Debug)]
pub(crate) struct Flag {
    pub(crate) names: &'static [&'static str],
    pub(crate) takes: Takes,
    /// The only values it may have; none where any will do.
    pub(crate) values: &'static [&'static str],
    /// Why it is refused.
    pub(crate) refused: Option<&'static str>,
}

/// The flags of a program.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) flags: &'static [Flag],
    /// Letters and names with their place in `flags`, sorted.
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

    /// The one long flag that the name is, or abbreviates.
    pub(crate) fn long(&self, name: &[u8]) -> Option<&'static Flag> {
        let from = self.long.partition_point(|(known, _)| known.as_bytes() < name);
        let mut starting =
            self.long.get(from..)?.iter().take_while(|(known, _)| known.as_bytes().starts_with(name));
        let (first, index) = starting.next().filter(|_| !name.is_empty())?;
        let ambiguous = first.len() != name.len() && starting.any(|(_, other)| other != index);
        if ambiguous { None } else { self.flag(*index) }
    }

    /// The flag of exactly this name.
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
