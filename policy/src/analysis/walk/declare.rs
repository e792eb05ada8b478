//! Assignments in the words of `export` and similar builtins. The grammar recognizes them only if the builtin's name is
//! plain. bash assigns them for any spelling of the name, and also after `command` and `builtin`.

use crate::parse::{Assign, DECLARING, Word, assignment_name};

/// Returns the assignments that the grammar recognized, and those that are words.
pub(super) fn all(words: &[Word], seen: &[Assign]) -> Vec<Assign> {
    let mut all = seen.to_vec();
    let Some((program, rest)) = words.split_first() else { return all };
    if program.text.as_deref().is_some_and(|name| DECLARING.contains(&name)) {
        let is_new = |assign: &Assign| {
            !seen.iter().any(|known| known.span == assign.span && known.name == assign.name)
        };
        all.extend(rest.iter().filter_map(assigned).filter(is_new));
    }
    all
}

/// Returns the assignment in a word `NAME=value`. Its substitutions are listed with the word.
fn assigned(word: &Word) -> Option<Assign> {
    let name = assignment_name(&word.lead)?.to_vec();
    let from = word.lead.iter().position(|byte| *byte == b'=')? + 1;
    let behind = |text: &Vec<u8>| text.get(from..).unwrap_or_default().to_vec();
    let value = Word {
        text: word.text.as_ref().map(behind),
        lead: behind(&word.lead),
        substitutions: Vec::new(),
        ..word.clone()
    };
    Some(Assign { name, values: vec![value], span: word.span })
}

/// Returns the names that this command defines as aliases.
pub(super) fn aliases(words: &[Word]) -> impl Iterator<Item = Vec<u8>> {
    let makes = words.first().is_some_and(|word| word.text.as_deref() == Some(b"alias"));
    let made = words.iter().skip(1).filter(move |_| makes);
    made.filter_map(|word| {
        let text = word.text.as_deref()?;
        let at = text.iter().position(|byte| *byte == b'=')?;
        text.get(..at).map(<[u8]>::to_vec)
    })
}
