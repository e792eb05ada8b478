//! Finds every command that a text starts, at any depth, with its context. This module does not
//! judge commands.

mod directory;
mod ending;
mod found;
mod process;
mod spans;
mod walk;

pub(crate) use directory::{Directory, join};
pub(crate) use found::{Analysis, Found};

use crate::parse::{Assign, SpanMap, Surroundings};

impl Analysis {
    /// Finds the commands of a bash text.
    pub(crate) fn of(
        text: &[u8],
        start: &Directory,
        surroundings: Surroundings<'_>,
        environment: Vec<Assign>,
    ) -> Self {
        let script = crate::parse::parse(text, SpanMap::Whole, surroundings);
        let ending = ending::of(&script);
        let mut analysis = walk::walk(script, start.clone(), surroundings, environment);
        analysis.endings =
            ending.and_then(|spans| ending::indices(&spans, &analysis.commands)).unwrap_or_default();
        analysis
    }
}
