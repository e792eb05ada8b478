//! Words that can name another host: addresses in place of files, and hosts in socket filters.
//! Programs resolve or fetch them.

use super::proof::{Proof, Refusal};
use crate::getopt::Sorted;
use crate::parse::Word;
use crate::tables::Takes;

/// Words of an `ss` filter that do not name a host.
const FILTER_WORDS: &[&[u8]] = &[
    b"src",
    b"dst",
    b"sport",
    b"dport",
    b"dev",
    b"fwmark",
    b"cgroup",
    b"autobound",
    b"and",
    b"or",
    b"not",
    b"eq",
    b"ne",
    b"neq",
    b"lt",
    b"le",
    b"leq",
    b"gt",
    b"ge",
    b"geq",
    b"state",
    b"exclude",
    b"all",
    b"connected",
    b"synchronized",
    b"bucket",
    b"big",
    b"established",
    b"syn-sent",
    b"syn-recv",
    b"fin-wait-1",
    b"fin-wait-2",
    b"time-wait",
    b"closed",
    b"close-wait",
    b"last-ack",
    b"listening",
    b"closing",
    b"listen",
];

/// Checks that files, in operands or flags, are not addresses.
pub(super) fn check_local(sorted: &Sorted, operands: &[&Word]) -> Proof {
    let read = sorted.flags.iter().filter(|given| given.flag.takes == Takes::Read);
    let values = read.filter_map(|given| given.value.as_ref());
    match operands.iter().copied().chain(values).find(|word| !is_local(word)) {
        None => Ok(Vec::new()),
        Some(word) => Err(Refusal::new("network", "this may be the address of another host", word.span)),
    }
}

/// Reports whether the word starts with a directory or contains no colon.
pub(super) fn is_local(word: &Word) -> bool {
    let complete = word.text.is_some() || (word.glob && word.variables.is_empty());
    match word.lead.iter().find(|byte| matches!(byte, b'/' | b':')) {
        Some(b'/') => true,
        Some(_) => false,
        None => complete && word.substitutions.is_empty(),
    }
}

/// Checks an `ss` filter: its keywords, ports and numeric addresses are permitted.
pub(super) fn check_sockets(operands: &[&Word]) -> Proof {
    let numeric = |token: &[u8]| {
        let colons = token.iter().filter(|byte| **byte == b':').count();
        token.iter().all(|b| {
            b.is_ascii_digit() || b".:*/[]=<>!&|".contains(b) || (colons > 1 && b.is_ascii_hexdigit())
        })
    };
    let port = |token: &[u8]| token.starts_with(b":") && !token.contains(&b'.');
    let known = |token: &[u8]| numeric(token) || port(token) || FILTER_WORDS.contains(&token);
    let names_no_host = |word: &&&Word| {
        let text = word.text.as_deref();
        text.is_some_and(|text| text.split(|b| b.is_ascii_whitespace() || b"()=<>!".contains(b)).all(known))
    };
    match operands.iter().find(|word| !names_no_host(word)) {
        None => Ok(Vec::new()),
        Some(word) => Err(Refusal::new(
            "network",
            "this may be a host name, which is resolved over the network",
            word.span,
        )),
    }
}

/// Checks the text after an `@`, which is a host. A numeric host is not resolved.
pub(super) fn check_no_host(sorted: &Sorted, operands: &[&Word]) -> Proof {
    let named = |text: &[u8]| {
        let host = text.iter().position(|byte| *byte == b'@').and_then(|at| text.get(at + 1..));
        host.is_some_and(|host| !host.starts_with(b"[") && host.iter().any(u8::is_ascii_alphabetic))
    };
    let mut words = operands.iter().copied().chain(sorted.values("i"));
    match words.find(|word| word.text.as_deref().is_none_or(named)) {
        None => Ok(Vec::new()),
        Some(word) => Err(Refusal::new(
            "network",
            "this may be a host name, which is resolved over the network",
            word.span,
        )),
    }
}
