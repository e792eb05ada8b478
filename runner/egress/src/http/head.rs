//! The check of a request's head before it is parsed. It is stricter than RFC 9112: every head on which two parsers
//! could disagree is refused, so that no request can hide in another one.
//!
//! It decides nothing about the target.

use std::str;

/// The longest head in bytes.
pub(crate) const MAX_BYTES: usize = 64 * 1024;
/// The most header lines of a head.
pub(crate) const MAX_HEADERS: usize = 100;

/// The end of a head.
const END: &[u8] = b"\r\n\r\n";
/// Headers that a head may contain once.
const ONCE: [&str; 5] = ["content-length", "host", "proxy-authorization", "transfer-encoding", "expect"];

/// What follows a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// A body of this length, and then the next head.
    Length(u64),
    /// A body in chunks. The connection ends with it.
    Chunked,
    /// The bytes of a tunnel.
    Tunnel,
}

/// Why a head was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("the request line is not `METHOD TARGET HTTP/1.1`")]
    RequestLine,
    #[error("the head has more than 64 KiB or 100 headers")]
    TooLarge,
    #[error("a line does not end with CR and LF")]
    LineEnd,
    #[error("the head contains a control character")]
    Control,
    #[error("a header continues on the next line")]
    Folded,
    #[error("a header line is not `NAME: VALUE`")]
    Name,
    #[error("a header that may occur once is repeated")]
    Repeated,
    #[error("the head contains both Content-Length and Transfer-Encoding")]
    TwoLengths,
    #[error("the value of Content-Length is not a number")]
    Length,
    #[error("the value of Transfer-Encoding is not `chunked`")]
    Encoding,
}

/// Finds the end of the first head, if it has arrived. The bytes before `from` were checked by earlier calls.
///
/// # Errors
///
/// Fails if the bytes so far cannot become an acceptable head.
pub(crate) fn find_end(bytes: &[u8], from: usize) -> Result<Option<usize>, HeadError> {
    let fresh = from.saturating_sub(END.len() - 1);
    let found = bytes.get(fresh..).unwrap_or_default().windows(END.len()).position(|window| window == END);
    let end = found.map(|at| fresh + at + END.len());
    let head = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
    if head.len() > MAX_BYTES {
        return Err(HeadError::TooLarge);
    }
    if head.first().is_some_and(|first| !is_token(*first)) {
        return Err(HeadError::RequestLine);
    }
    let mut before = from.checked_sub(1).and_then(|last| head.get(last)).copied().unwrap_or_default();
    for byte in head.get(from..).unwrap_or_default() {
        match *byte {
            b'\n' if before != b'\r' => return Err(HeadError::LineEnd),
            b'\n' => {}
            _ if before == b'\r' => return Err(HeadError::LineEnd),
            b'\r' | b'\t' => {}
            byte if byte.is_ascii_control() => return Err(HeadError::Control),
            _ => {}
        }
        before = *byte;
    }
    Ok(end)
}

/// Checks a whole head, which [`find_end`] has found.
pub(crate) fn check(head: &[u8]) -> Result<Body, HeadError> {
    let text = head.strip_suffix(END).unwrap_or(head);
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let (method, is_11) = request_line(lines.next().unwrap_or_default())?;
    let mut seen = Vec::new();
    let (mut length, mut chunked) = (None, false);
    for (index, line) in lines.enumerate() {
        if index >= MAX_HEADERS {
            return Err(HeadError::TooLarge);
        }
        let (name, value) = header(line)?;
        if ONCE.contains(&name.as_str()) {
            if seen.contains(&name) {
                return Err(HeadError::Repeated);
            }
            match name.as_str() {
                "content-length" => length = Some(number(value)?),
                "transfer-encoding" if value.eq_ignore_ascii_case(b"chunked") && is_11 => chunked = true,
                "transfer-encoding" => return Err(HeadError::Encoding),
                _ => {}
            }
            seen.push(name);
        }
    }
    match (length, chunked) {
        (Some(_), true) => Err(HeadError::TwoLengths),
        _ if method == b"CONNECT" => Ok(Body::Tunnel),
        (_, true) => Ok(Body::Chunked),
        (length, false) => Ok(Body::Length(length.unwrap_or(0))),
    }
}

/// Returns the method, and whether the version is 1.1.
fn request_line(line: &[u8]) -> Result<(&[u8], bool), HeadError> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Err(HeadError::RequestLine);
    };
    let is_11 = match version {
        b"HTTP/1.1" => true,
        b"HTTP/1.0" => false,
        _ => return Err(HeadError::RequestLine),
    };
    let holds = !method.is_empty()
        && method.iter().all(|byte| is_token(*byte))
        && !target.is_empty()
        && target.iter().all(u8::is_ascii_graphic);
    if holds { Ok((method, is_11)) } else { Err(HeadError::RequestLine) }
}

/// Returns the name in lower case, and the value without surrounding blanks.
fn header(line: &[u8]) -> Result<(String, &[u8]), HeadError> {
    if line.first().is_some_and(|first| matches!(first, b' ' | b'\t')) {
        return Err(HeadError::Folded);
    }
    let colon = line.iter().position(|byte| *byte == b':').ok_or(HeadError::Name)?;
    let (name, value) = line.split_at(colon);
    if name.is_empty() || !name.iter().all(|byte| is_token(*byte)) {
        return Err(HeadError::Name);
    }
    let name = str::from_utf8(name).map_err(|_| HeadError::Name)?.to_ascii_lowercase();
    Ok((name, value.strip_prefix(b":").unwrap_or(value).trim_ascii()))
}

fn number(value: &[u8]) -> Result<u64, HeadError> {
    let text = str::from_utf8(value).map_err(|_| HeadError::Length)?;
    // `parse` would accept a plus sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(HeadError::Length);
    }
    text.parse().map_err(|_| HeadError::Length)
}

/// Returns whether a byte may occur in a method or in the name of a header.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
