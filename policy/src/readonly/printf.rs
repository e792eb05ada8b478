//! The format of `printf`: in bash's builtin, `%n` sets a variable, which could be PATH.

use super::proof::{Proof, Refusal};
use crate::decision::Span;
use crate::parse::Word;
use crate::tables::names;

pub(super) fn check(operands: &[&Word], span: Span) -> Proof {
    let Some((format, arguments)) = operands.split_first() else {
        return Err(Refusal::new("unknown_flag", "printf has no operand", span));
    };
    let sets = match format.text.as_deref() {
        Some(text) => stores_count(text),
        None => !format.exactly_one || arguments.iter().any(|word| could_be_dangerous(word)),
    };
    if sets {
        let message = "this format may set a variable, as `%n` does";
        return Err(Refusal::new("dangerous_variables", message, format.span));
    }
    Ok(Vec::new())
}

fn could_be_dangerous(word: &Word) -> bool {
    word.text.as_deref().is_none_or(names::is_dangerous_variable)
}

/// Reports whether the format may contain `%n`. A time format in `%(...)T` is not parsed; the text
/// after its start is checked as a format.
fn stores_count(format: &[u8]) -> bool {
    let mut rest = format;
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(behind) = rest.strip_prefix(b"%") {
            rest = behind;
            continue;
        }
        let conversion = rest.iter().find(|byte| !b"-+ #'*.0123456789hjlLtz".contains(byte));
        if conversion == Some(&b'n') {
            return true;
        }
    }
    false
}
