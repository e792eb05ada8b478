//! `env -S`: a text that env splits into words by its own rules.

use crate::getopt::Sorted;
use crate::parse::Word;
use crate::tables::Takes;

/// Returns the launcher's words with the text split, or `None` if they are unknown. The text is shorter than the
/// word that it came from, so repeated splitting ends.
pub(super) fn words(sorted: &Sorted, rest: &[Word]) -> Option<Vec<Word>> {
    let text = sorted.flags.iter().find(|given| given.flag.takes == Takes::SplitText);
    let value = text.and_then(|given| given.value.as_ref())?;
    let texts = split(value.text.as_deref()?)?;
    let split = texts.iter().map(|text| Word::known(text, value.span));
    let behind = sorted.behind.and_then(|from| rest.get(from..)).unwrap_or_default();
    Some(split.chain(behind.iter().cloned()).collect())
}

/// Splits a text as `env -S` does. Returns `None` for variables and for text that env refuses.
fn split(text: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, quote) {
            (b'$', None | Some(b'"')) => return None,
            (end, Some(open)) if end == open => quote = None,
            (b'\'' | b'"', None) => {
                quote = Some(byte);
                word.get_or_insert_default();
            }
            (b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r', None) => out.extend(word.take()),
            (b'#', None) if word.is_none() => return Some(out),
            (b'\\', None | Some(b'"')) => match (bytes.next()?, quote) {
                (b'_', None) => out.extend(word.take()),
                (b'_', _) => word.get_or_insert_default().push(b' '),
                (b'c', None) => {
                    out.extend(word.take());
                    return Some(out);
                }
                (escaped, _) => word.get_or_insert_default().push(escape(escaped)?),
            },
            (b'\\', Some(_)) => {
                let next = bytes.next()?;
                let word = word.get_or_insert_default();
                if !matches!(next, b'\\' | b'\'') {
                    word.push(b'\\');
                }
                word.push(next);
            }
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    out.extend(word.take());
    quote.is_none().then_some(out)
}

fn escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'#' | b'$' | b'\\' | b'"' | b'\'' => byte,
        _ => return None,
    })
}
