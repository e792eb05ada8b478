//! Paths with one reading.

/// Reports whether every server reads a path in the same way: it begins with a slash, has no empty segment, no `.` and
/// `..`, no parameter after a semicolon, and encodes no character that needs no encoding.
///
/// A final slash is permitted. `path` ends before the query.
pub(super) fn is_plain(path: &str) -> bool {
    let Some(decoded) = decoded(path) else { return false };
    let Some(segments) = decoded.strip_prefix(b"/") else { return false };
    let segments: Vec<&[u8]> = segments.split(|byte| *byte == b'/').collect();
    let last = segments.len().saturating_sub(1);
    segments.iter().enumerate().all(|(index, segment)| match *segment {
        b"." | b".." => false,
        b"" => index == last,
        segment => !segment.contains(&b';'),
    })
}

/// Decodes the percent-encoded bytes. `None`: an encoding is incomplete, or stands for a character that a server could
/// read in two ways, such as a slash or a letter.
fn decoded(path: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let byte = (digit(bytes.next()?)? << 4) | digit(bytes.next()?)?;
                if has_two_readings(byte) {
                    return None;
                }
                out.push(byte);
            }
            b'\\' | b'?' | b'#' => return None,
            byte if !byte.is_ascii_graphic() => return None,
            byte => out.push(byte),
        }
    }
    Some(out)
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// Returns whether an encoded byte has a meaning in paths, or needs no encoding.
fn has_two_readings(byte: u8) -> bool {
    byte.is_ascii_control()
        || byte.is_ascii_alphanumeric()
        || matches!(byte, b'/' | b'\\' | b'%' | b';' | b'.' | b'-' | b'_' | b'~' | b'?' | b'#')
        // An overlong form of UTF-8 for an ASCII character.
        || matches!(byte, 0xc0 | 0xc1)
}
