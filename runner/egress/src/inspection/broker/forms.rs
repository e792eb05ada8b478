//! The forms of a secret in an answer: itself, in Base64 at each position, and percent-encoded.

use base64::{
    Engine,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use zeroize::Zeroizing;

/// The characters that encoders leave as they are.
pub(super) const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The bits of a character of Base64.
const BITS: usize = 6;

/// Returns every form, each once.
pub(super) fn of(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut forms = vec![Zeroizing::new(value.to_vec())];
    for skipped in 0..3 {
        for engine in [BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD] {
            forms.push(inner(value, skipped, |bytes| engine.encode(bytes)));
        }
    }
    let encoded = percent_encode(value, &UNRESERVED).to_string();
    forms.push(Zeroizing::new(with_small_digits(&encoded)));
    forms.push(Zeroizing::new(encoded.into_bytes()));
    forms.sort_by(|one, other| one.as_slice().cmp(other));
    forms.dedup();
    forms
}

/// Writes the hexadecimal digits of percent-encoded bytes in lower case.
fn with_small_digits(encoded: &str) -> Vec<u8> {
    let mut digits = 0;
    let small = |byte: u8| {
        let is_digit = digits > 0;
        digits = if byte == b'%' { 2 } else { usize::saturating_sub(digits, 1) };
        if is_digit { byte.to_ascii_lowercase() } else { byte }
    };
    encoded.bytes().map(small).collect()
}

/// Returns the characters of Base64 that depend only on the value, if `skipped` bytes precede it.
fn inner(value: &[u8], skipped: usize, encode: impl Fn(&[u8]) -> String) -> Zeroizing<Vec<u8>> {
    let bytes = Zeroizing::new([&vec![0; skipped], value].concat());
    let text = Zeroizing::new(encode(&bytes).into_bytes());
    let (first, last) = ((skipped * 8).div_ceil(BITS), bytes.len() * 8 / BITS);
    Zeroizing::new(text.get(first..last).unwrap_or_default().to_vec())
}
