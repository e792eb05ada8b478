//! Replaces secrets in a stream that arrives in pieces of any size. The leftmost match wins, and among matches at the
//! same position the longest.
//!
//! The end of the received bytes is held back while enough bytes of it begin a secret ([`Patterns::new`]). All other
//! bytes pass at once, so some bytes of a secret may be out before the next one arrives. They are remembered, and the
//! secret is cut from there on.
//!
//! No `Debug` form contains a secret. Must not read or write anything.

#![forbid(unsafe_code)]

use std::{collections::HashMap, fmt, sync::Arc};

use aho_corasick::{
    AhoCorasick, Anchored, BuildError, MatchKind,
    automaton::{Automaton, StateID},
    nfa::contiguous::NFA,
};

/// A secret, and the text that replaces it.
#[derive(Clone, Copy)]
pub struct Replacement<'a> {
    /// The secret. Must not be empty.
    pub value: &'a [u8],
    /// The text that replaces it.
    pub tag: &'a [u8],
}

/// The search automata for a set of secrets.
pub struct Patterns {
    finder: AhoCorasick,
    tags: Vec<Vec<u8>>,
    tails: Tails,
    held_from: usize,
}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Patterns")
    }
}

impl Patterns {
    /// Prepares the search. The end of a stream is held back if at least `held_from` bytes of it begin a secret.
    ///
    /// # Errors
    /// If the values are too large for an automaton.
    pub fn new(secrets: &[Replacement<'_>], held_from: usize) -> Result<Self, BuildError> {
        let values: Vec<&[u8]> = secrets.iter().map(|secret| secret.value).collect();
        let finder = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values)?;
        let tags = secrets.iter().map(|secret| secret.tag.to_vec()).collect();
        Ok(Self { finder, tags, tails: Tails::new(values)?, held_from })
    }

    /// Reports whether a text contains a secret.
    #[must_use]
    pub fn is_in(&self, text: &[u8]) -> bool {
        self.finder.is_match(text)
    }

    /// Returns a text with every secret replaced.
    #[must_use]
    pub fn replaced(&self, text: &[u8]) -> Vec<u8> {
        self.finder.replace_all_bytes(text, &self.tags)
    }
}

/// Finds the number of bytes at the end of a text that begin a secret without completing it.
struct Tails {
    walker: NFA,
    start: StateID,
    /// For each state of the automaton, the length of the longest such end. A missing entry means 0.
    begun: HashMap<StateID, usize>,
    longest: usize,
}

impl Tails {
    fn new(mut values: Vec<&[u8]>) -> Result<Self, BuildError> {
        let walker = NFA::builder().match_kind(MatchKind::Standard).prefilter(false).build(&values)?;
        // Fails only for an anchored automaton.
        let start = walker.start_state(Anchored::No).unwrap_or_default();
        let longest = values.iter().map(|value| value.len()).max().unwrap_or(0);
        let mut tails = Self { walker, start, begun: HashMap::new(), longest };
        for value in &values {
            let mut state = start;
            for (index, byte) in value.iter().enumerate().take(value.len().saturating_sub(1)) {
                state = tails.walker.next_state(Anchored::No, state, *byte);
                tails.begun.insert(state, index + 1);
            }
        }
        // After a complete value that no longer value extends, the state's end is that of the value's own suffix.
        // This suffix can be a complete shorter value, so shorter values come first.
        values.sort_by_key(|value| value.len());
        for value in values {
            let state = tails.after(value);
            if !tails.begun.contains_key(&state) {
                let begun = tails.of(value.get(1..).unwrap_or_default());
                tails.begun.insert(state, begun);
            }
        }
        Ok(tails)
    }

    fn after(&self, text: &[u8]) -> StateID {
        text.iter().fold(self.start, |state, byte| self.walker.next_state(Anchored::No, state, *byte))
    }

    fn of(&self, text: &[u8]) -> usize {
        let from = text.len().saturating_sub(self.longest.saturating_sub(1));
        let state = self.after(text.get(from..).unwrap_or_default());
        self.begun.get(&state).copied().unwrap_or(0)
    }
}

/// The redactor of one stream.
pub struct Redactor {
    patterns: Arc<Patterns>,
    /// The end of the received bytes, as far as it may begin a secret.
    open: Vec<u8>,
    /// The number of these bytes that have passed already.
    passed: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// Creates the redactor of one stream.
    #[must_use]
    pub fn new(patterns: Arc<Patterns>) -> Self {
        Self { patterns, open: Vec::new(), passed: 0 }
    }

    /// Takes the next bytes of the stream, and appends to `out` the bytes that can pass now.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.open.extend_from_slice(bytes);
        self.replace(out, false);
    }

    /// Ends the stream: the bytes held back are not a secret.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.replace(out, true);
    }

    /// Returns the number of bytes held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.open.len() - self.passed
    }

    fn replace(&mut self, out: &mut Vec<u8>, ended: bool) {
        let text = std::mem::take(&mut self.open);
        let mut passed = self.passed;
        let mut at = 0;
        let give = |out: &mut Vec<u8>, from: usize, to: usize| {
            out.extend_from_slice(text.get(from..to).unwrap_or_default());
        };
        loop {
            let rest = text.get(at..).unwrap_or_default();
            let found = self.patterns.finder.find(rest);
            // No unfinished secret at the end can begin before this match ends.
            let surely = found.filter(|found| found.end() + self.patterns.tails.longest <= rest.len());
            let begun = if ended || surely.is_some() { 0 } else { self.patterns.tails.of(rest) };
            let open = text.len() - begun;
            let Some(found) = found.filter(|found| at + found.start() < open) else {
                let until = if begun >= self.patterns.held_from { open } else { text.len() };
                give(out, passed, until);
                passed = passed.max(until);
                self.open = text.get(open..).unwrap_or_default().to_vec();
                self.passed = passed - open;
                return;
            };
            give(out, passed, at + found.start());
            let tag = self.patterns.tags.get(found.pattern().as_usize());
            out.extend_from_slice(tag.map_or(&[], Vec::as_slice));
            at += found.end();
            passed = at;
        }
    }
}
