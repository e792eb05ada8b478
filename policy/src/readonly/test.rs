//! `test` and `[`: harmless, except for operators that evaluate a subscript.

use super::proof::{Proof, Refusal};
use crate::analysis::Analysis;
use crate::decision::Span;
use crate::parse::{Word, is_name_byte};

pub(super) fn check(rest: &[Word], analysis: &Analysis, span: Span) -> Proof {
    let refuse = |at: Span| {
        let message = "an operand may be a name with a subscript, which bash evaluates";
        Err(Refusal::new("arithmetic_evaluation", message, at))
    };
    let mut unknown_before = false;
    for (index, word) in rest.iter().enumerate() {
        let unknown = word.text.is_none() && word.lead.is_empty() && !is_number(word, analysis);
        let subscript = word.lead.contains(&b'[') && word.lead.len() > 1;
        let hidden = unknown && (unknown_before || !word.exactly_one);
        if hidden || (unknown_before && subscript) || may_evaluate(word) {
            return refuse(word.span);
        }
        unknown_before = unknown;
        if !matches!(word.text.as_deref(), Some(b"-v" | b"-R")) {
            continue;
        }
        let operand = rest.get(index + 1).and_then(|word| word.text.as_deref());
        let plain = operand.is_some_and(|name| !name.is_empty() && name.iter().copied().all(is_name_byte));
        if !plain {
            return refuse(rest.get(index + 1).map_or(span, |word| word.span));
        }
    }
    Ok(Vec::new())
}

/// Reports whether a glob may become an operator that evaluates the words next to it.
fn may_evaluate(word: &Word) -> bool {
    const OPERATORS: [&[u8]; 8] = [b"-v", b"-R", b"-eq", b"-ne", b"-lt", b"-le", b"-gt", b"-ge"];
    let is_sign = |byte: &u8| matches!(byte, b'*' | b'?' | b'[' | b']');
    let head = word.lead.split(is_sign).next().unwrap_or_default();
    let tail = word.lead.rsplit(is_sign).next().unwrap_or_default();
    word.glob && OPERATORS.iter().any(|operator| operator.starts_with(head) && operator.ends_with(tail))
}

/// Reports whether the word consists of variables that the text only sets to numbers, or of counts
/// from wc.
fn is_number(word: &Word, analysis: &Analysis) -> bool {
    let numeric = |name: &Vec<u8>| analysis.numeric.contains(name);
    let some = !word.variables.is_empty() || !word.substitutions.is_empty();
    some && word.substitutions.iter().all(|made| made.is_count()) && word.variables.iter().all(numeric)
}
