//! Random mutations of generated texts: bytes are inserted, deleted, duplicated and moved. A
//! mutation does not consider whether the result is valid.

use fastrand::Rng;

/// Texts to insert.
const SPLICES: &[&str] = &[
    "'",
    "\"",
    "\\",
    "\n",
    "`",
    "$",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ";",
    "&",
    "|",
    "<",
    ">",
    "#",
    " ",
    "\t",
    "\r",
    "!",
    "*",
    "?",
    "~",
    "=",
    "-",
    ",",
    "\\\n",
    "$(touch q)",
    "`touch q`",
    ";touch q;",
    "\ntouch q\n",
    "$((",
    "))",
    "[[",
    "]]",
    "<<E\n",
    "\nE\n",
    "<<<",
    ">&",
    "&>",
    "2>",
    "{a,b}",
    "${",
    "$'",
    "$\"",
    "&&",
    "||",
    "|&",
    "# ",
    " #",
    "<(",
    ">(",
    "\u{a0}",
    "\u{b}",
    "é",
    "esac",
    "fi",
    "done",
    "do ",
    "then ",
    "in ",
    "touch q",
    "eval ",
    "x=",
    "a[$(touch q)]",
    "@P}",
    "''",
    "\"\"",
    "\\'",
    "\\\"",
];

/// Changes the text in one to three places.
pub(super) fn mutate(text: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(1..=3) {
        one(text, rng);
    }
    // An argument of bash cannot contain NUL bytes.
    text.retain(|byte| *byte != 0);
}

fn one(text: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.usize(..=text.len());
    let end = (at + rng.usize(1..=6)).min(text.len());
    match rng.u8(..10) {
        0..5 => {
            let splice = rng.choice(SPLICES).copied().unwrap_or_default();
            text.splice(at..at, splice.bytes());
        }
        5..7 => {
            text.drain(at..end);
        }
        7 => {
            let part = text.get(at..end).unwrap_or_default().to_vec();
            text.splice(at..at, part);
        }
        8 => {
            let part: Vec<u8> = text.drain(at..end).collect();
            let to = rng.usize(..=text.len());
            text.splice(to..to, part);
        }
        _ => {
            if let Some(byte) = text.get_mut(at) {
                *byte = rng.u8(1..);
            }
        }
    }
}
