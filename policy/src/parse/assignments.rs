//! The assignments of a text, and the reads whose meaning depends on them.

use super::arithmetic::is_number;
use super::build::Builder;
use super::names::{assignment_name, is_name};
use super::tree::{IndirectRead, ValueProperties, Word};
use crate::decision::Span;
use crate::tables::names;

impl ValueProperties {
    /// Returns the properties that these words share.
    pub(super) fn of(words: &[Word]) -> Self {
        let all = |test: fn(&Word) -> bool| !words.is_empty() && words.iter().all(test);
        Self {
            numeric: all(is_number),
            no_flag: all(begins_no_flag),
            unsplit: all(stays_one_word),
            name: all(|word| word.text.as_deref().is_some_and(is_name)),
            readable: all(|word| !names::is_telling_variable(&word.lead)),
        }
    }
}

/// Reports whether the first character of a word, or of a glob's matches, is known and does not start a
/// flag.
fn begins_no_flag(word: &Word) -> bool {
    let known = word.text.is_some() || (word.glob && !word.lead.is_empty());
    known && word.lead.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"/._".contains(byte))
}

fn stays_one_word(word: &Word) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+@:,%=".contains(byte);
    word.text.as_deref().is_some_and(|text| text.iter().all(plain))
}

impl Builder<'_> {
    /// Records an assignment by name. A value that bash evaluates must be a number.
    pub(super) fn note_value(&mut self, name: Vec<u8>, properties: ValueProperties, span: Span) {
        if names::is_evaluated(&name) && !properties.numeric {
            let dangerous = names::is_dangerous_variable(&name);
            self.problem(if dangerous { "dangerous_variables" } else { "arithmetic_evaluation" }, span);
        }
        self.note_assignment(name, properties, span);
    }

    pub(super) fn note_assignment(&mut self, name: Vec<u8>, properties: ValueProperties, span: Span) {
        if names::changes_reading(&name) {
            self.problem("parse_incomplete", span);
        }
        self.assigned.entry(name).and_modify(|known| *known = known.and(properties)).or_insert(properties);
    }

    /// Records a word of a builtin that sets variables: the name in it, or any name.
    pub(super) fn note_set_by_word(&mut self, word: &Word) {
        let given = assignment_name(&word.lead);
        let ends = |byte: &u8| matches!(byte, b'=' | b'+' | b'[');
        let named = word.text.as_deref().and_then(|text| text.split(ends).next());
        match given.or(named) {
            Some(name) => self.note_assignment(name.to_vec(), ValueProperties::UNKNOWN, word.span),
            None => self.sets_anything = true,
        }
    }

    /// Checks each name that is read as a number or as a name: the text must set it, and only to such
    /// values.
    pub(super) fn check_reads(&mut self) {
        for (name, span) in std::mem::take(&mut self.arithmetic_reads) {
            let known = self.assigned.get(&name).is_some_and(|properties| properties.numeric);
            check_read(self, known, &name, span);
        }
        for IndirectRead { name, value_is_used, span } in std::mem::take(&mut self.indirect_reads) {
            let properties = self.assigned.get(&name);
            let known = properties
                .is_some_and(|properties| properties.name && (properties.readable || !value_is_used));
            check_read(self, known, &name, span);
        }
    }
}

fn check_read(builder: &mut Builder<'_>, known: bool, name: &[u8], span: Span) {
    if !known || builder.sets_anything || names::is_set_by_bash(name) {
        builder.problem("arithmetic_evaluation", span);
    }
}
