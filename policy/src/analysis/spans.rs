//! Maps the spans of a text that was changed before parsing to the original text.

use super::found::{Analysis, Found};
use crate::decision::Span;
use crate::parse::Word;

impl Analysis {
    /// Maps every span.
    pub(crate) fn map_spans(&mut self, to: impl Fn(Span) -> Span) {
        self.commands.iter_mut().for_each(|found| command(found, &to));
        for problem in self.problems.iter_mut().chain(&mut self.notes) {
            problem.span = to(problem.span);
        }
        self.nulls.iter_mut().for_each(|span| *span = to(*span));
    }
}

fn command(found: &mut Found, to: &impl Fn(Span) -> Span) {
    found.span = to(found.span);
    found.words.iter_mut().chain(&mut found.reads).for_each(|part| word(part, to));
    for assign in &mut found.assignments {
        assign.span = to(assign.span);
        assign.values.iter_mut().for_each(|part| word(part, to));
    }
    for redirect in &mut found.redirects {
        redirect.span = to(redirect.span);
        redirect.target.iter_mut().for_each(|part| word(part, to));
    }
}

fn word(word: &mut Word, to: &impl Fn(Span) -> Span) {
    word.span = to(word.span);
    word.hazards.iter_mut().for_each(|hazard| hazard.span = to(hazard.span));
}
