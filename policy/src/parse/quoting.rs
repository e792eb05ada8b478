//! Quote removal as in bash.

/// Decodes the body of `$'...'`. Returns the bytes, and the length of the body with its closing
/// quote. The locale is assumed to be UTF-8, the default of every run.
pub(crate) fn ansi_c(body: &[u8]) -> (Vec<u8>, usize) {
    let end = closing_quote(body);
    let mut rest = body.get(..end).unwrap_or(body);
    let mut out = Vec::new();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(used) = escape(tail, &mut out) else {
            // In bash a NUL ends the string.
            break;
        };
        rest = tail.get(used..).unwrap_or_default();
    }
    (out, (end + 1).min(body.len()))
}

/// Returns the position of the closing quote. bash finds it before it decodes escapes, so a
/// backslash always covers the next byte.
fn closing_quote(body: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        match byte {
            b'\'' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    body.len()
}

/// Decodes one escape after its backslash and returns its length, or `None` if it is a NUL.
fn escape(rest: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let Some((&kind, tail)) = rest.split_first() else {
        out.push(b'\\');
        return Some(0);
    };
    let simple = match kind {
        b'a' => Some(0x07),
        b'b' => Some(0x08),
        b'e' | b'E' => Some(0x1b),
        b'f' => Some(0x0c),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'v' => Some(0x0b),
        b'\\' | b'\'' | b'"' | b'?' => Some(kind),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return Some(1);
    }
    match kind {
        b'0'..=b'7' => {
            let (value, used) = digits(rest, 3, 8);
            byte(value, used, out)
        }
        b'x' => hexadecimal(tail, out),
        b'u' => code_point(tail, 4, kind, out),
        b'U' => code_point(tail, 8, kind, out),
        b'c' => control(tail, out),
        other => {
            out.extend_from_slice(&[b'\\', other]);
            Some(1)
        }
    }
}

fn digits(rest: &[u8], most: usize, radix: u32) -> (u32, usize) {
    let mut value = 0_u32;
    let mut used = 0;
    for digit in rest.iter().take(most).map_while(|b| (*b as char).to_digit(radix)) {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        used += 1;
    }
    (value, used)
}

/// Appends the low eight bits of a number of `used` bytes, unless they are zero.
fn byte(value: u32, used: usize, out: &mut Vec<u8>) -> Option<usize> {
    let byte = value.to_le_bytes()[0];
    (byte != 0).then(|| {
        out.push(byte);
        used
    })
}

/// Decodes `\x41`, or `\x{41}` with any number of digits and an optional closing brace.
fn hexadecimal(tail: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    if let Some(inner) = tail.strip_prefix(b"{") {
        let (value, used) = digits(inner, usize::MAX, 16);
        let closed = usize::from(inner.get(used) == Some(&b'}'));
        return byte(value, 2 + used + closed, out);
    }
    match digits(tail, 2, 16) {
        (_, 0) => {
            out.extend_from_slice(b"\\x");
            Some(1)
        }
        (value, used) => byte(value, 1 + used, out),
    }
}

/// Decodes `\cX`; in `\c\\` both backslashes are used.
fn control(tail: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let Some((&letter, behind)) = tail.split_first() else {
        out.extend_from_slice(b"\\c");
        return Some(1);
    };
    let doubled = letter == b'\\' && behind.first() == Some(&b'\\');
    let code = if letter == b'?' { 0x7f } else { letter.to_ascii_uppercase() & 0x1f };
    byte(code.into(), 2 + usize::from(doubled), out)
}

fn code_point(rest: &[u8], most: usize, kind: u8, out: &mut Vec<u8>) -> Option<usize> {
    let (value, used) = digits(rest, most, 16);
    if used == 0 {
        out.extend_from_slice(&[b'\\', kind]);
        return Some(1);
    }
    encode(value, out);
    (value != 0).then_some(1 + used)
}

/// Appends UTF-8 as bash encodes it: the original form of up to six bytes, even for surrogates and invalid code points.
/// Numbers of more than 31 bits produce no character.
fn encode(value: u32, out: &mut Vec<u8>) {
    let (lead, more) = match value {
        0 | 0x8000_0000.. => return,
        1..0x80 => (0, 0),
        0x80..0x800 => (0xc0, 1),
        0x800..0x1_0000 => (0xe0, 2),
        0x1_0000..0x20_0000 => (0xf0, 3),
        0x20_0000..0x400_0000 => (0xf8, 4),
        0x400_0000..0x8000_0000 => (0xfc, 5),
    };
    let sextet = |place: u32| (value >> (6 * place)).to_le_bytes()[0];
    out.push(lead | sextet(more));
    out.extend((0..more).rev().map(|place| 0x80 | (sextet(place) & 0x3f)));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected bytes are the output of bash 5.2 in the locale C.UTF-8.
    #[test]
    fn escapes_become_the_bytes_that_bash_makes_of_them() {
        let cases: [(&[u8], &[u8]); 20] = [
            (br"\U1F600b", b"\xf7\xb6\x80\x8b"),
            (br"\U110000", b"\xf4\x90\x80\x80"),
            (br"\U10FFFF", b"\xf4\x8f\xbf\xbf"),
            (br"\ud800", b"\xed\xa0\x80"),
            (br"\udfff", b"\xed\xbf\xbf"),
            (br"\U200000", b"\xf8\x88\x80\x80\x80"),
            (br"\U4000000", b"\xfc\x84\x80\x80\x80\x80"),
            (br"\U7fffffff", b"\xfd\xbf\xbf\xbf\xbf\xbf"),
            (br"a\U80000000b", b"ab"),
            (br"\u7f", b"\x7f"),
            (br"\u80", b"\xc2\x80"),
            (br"\u00e9", "\u{e9}".as_bytes()),
            (br"a\u0b", b"a\x0b"),
            (br"a\U00000000z", b"a"),
            (br"\x{41}b", b"Ab"),
            (br"\x{4142}", b"B"),
            (br"a\x{}z", b"a"),
            (br"\c\\a", b"\x1ca"),
            (br"\c?", b"\x7f"),
            (br"\1234", b"S4"),
        ];
        for (body, decoded) in cases {
            let text = String::from_utf8_lossy(body);
            assert_eq!(ansi_c(&[body, b"'x"].concat()), (decoded.to_vec(), body.len() + 1), "{text}");
        }
    }

    #[test]
    fn a_quote_behind_an_escape_of_two_bytes_ends_the_string() {
        assert_eq!(ansi_c(br"\c'; rm x '"), (br"\c".to_vec(), 3));
        assert_eq!(ansi_c(br"\c\'x'"), (b"\x1c'x".to_vec(), 6));
    }
}
