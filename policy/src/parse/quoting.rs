//! Quote removal, as bash does it.

/// Decodes the body of `$'...'`: the bytes, and how many were used with the quote
/// that ends it.
pub(crate) fn ansi_c(body: &[u8]) -> (Vec<u8>, usize) {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&byte) = body.get(at) {
        at += 1;
        match byte {
            b'\'' => return (out, at),
            b'\\' => {
                let (used, ended) = escape(body.get(at..).unwrap_or_default(), &mut out);
                at += used;
                if ended {
                    return (out, at + skip_to_quote(body.get(at..).unwrap_or_default()));
                }
            }
            other => out.push(other),
        }
    }
    (out, at)
}

/// A NUL ends the string in bash; what is left up to the quote is dropped.
fn skip_to_quote(rest: &[u8]) -> usize {
    let mut at = 0;
    while let Some(&byte) = rest.get(at) {
        at += 1;
        match byte {
            b'\\' => at += 1,
            b'\'' => break,
            _ => {}
        }
    }
    at.min(rest.len())
}

/// Decodes one escape behind its backslash; true where it is a NUL.
fn escape(rest: &[u8], out: &mut Vec<u8>) -> (usize, bool) {
    let Some(&kind) = rest.first() else {
        out.push(b'\\');
        return (0, false);
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
        return (1, false);
    }
    let tail = rest.get(1..).unwrap_or_default();
    match kind {
        b'0'..=b'7' => numeric(rest, 3, 8, 0, out),
        b'x' => numeric(tail, 2, 16, 1, out),
        b'u' => unicode(tail, 4, kind, out),
        b'U' => unicode(tail, 8, kind, out),
        b'c' => {
            let Some(&control) = tail.first() else {
                out.extend_from_slice(b"\\c");
                return (1, false);
            };
            out.push(control & 0x1f);
            (2, control & 0x1f == 0)
        }
        other => {
            out.extend_from_slice(&[b'\\', other]);
            (1, false)
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

fn numeric(rest: &[u8], most: usize, radix: u32, lead: usize, out: &mut Vec<u8>) -> (usize, bool) {
    let (value, used) = digits(rest, most, radix);
    if used == 0 {
        out.extend_from_slice(b"\\x");
        return (lead, false);
    }
    let byte = (value & 0xff) as u8;
    if byte != 0 {
        out.push(byte);
    }
    (lead + used, byte == 0)
}

fn unicode(rest: &[u8], most: usize, kind: u8, out: &mut Vec<u8>) -> (usize, bool) {
    let (value, used) = digits(rest, most, 16);
    if used == 0 {
        out.extend_from_slice(&[b'\\', kind]);
        return (1, false);
    }
    if let Some(c) = char::from_u32(value).filter(|c| *c != '\0') {
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }
    (1 + used, value == 0)
}
