//! Parses the fields of tar headers and the records of PAX headers. It does not guess: a field that violates the format
//! is malformed. The tar crate's own parsers use the low 64 bits of any number. They also end a PAX record at the first
//! line feed, even inside a name.

use tar::Header;

/// The size of a tar header and of the padding unit, in bytes.
pub(crate) const HEADER_BYTES: usize = 512;
/// The last second of the year 9999, the latest modification time that is used.
const LAST_SECOND: i128 = 253_402_300_799;
/// The largest number that fits in a header's size field in octal.
const LARGEST_OCTAL: u64 = 0o77_777_777_777;

/// Reports whether the header's checksum matches its bytes.
pub(crate) fn checksum_holds(header: &Header) -> bool {
    let field = &header.as_old().cksum;
    let all: u32 = header.as_bytes().iter().map(|byte| u32::from(*byte)).sum();
    let own: u32 = field.iter().map(|byte| u32::from(*byte)).sum();
    let blank = u32::from(b' ') * 8;
    number(field) == Some(i128::from(all - own + blank))
}

/// Returns the entry's size in bytes.
pub(crate) fn size(header: &Header) -> Option<u64> {
    number(&header.as_old().size).and_then(|size| u64::try_from(size).ok())
}

/// Returns the twelve permission bits. Some writers add the file's type above them.
pub(crate) fn mode(header: &Header) -> Option<u32> {
    number(&header.as_old().mode).and_then(|mode| u32::try_from(mode).ok()).map(|mode| mode & 0o7777)
}

/// Returns the modification time in seconds since 1970, limited to a valid range.
pub(crate) fn modified(header: &Header) -> Option<u64> {
    let seconds = number(&header.as_old().mtime)?;
    u64::try_from(seconds.clamp(0, LAST_SECOND)).ok()
}

/// Returns the link's target, as far as the header contains it.
pub(crate) fn link(header: &Header) -> Vec<u8> {
    header.as_old().linkname.iter().take_while(|byte| **byte != 0).copied().collect()
}

/// Returns the effective size from a header and a PAX record, or `None` if they contradict each other. A
/// record is needed for sizes that do not fit in the field, which is then 0 or the largest value.
pub(crate) fn agreed_size(header: u64, pax: u64) -> Option<u64> {
    let holds = header == pax || (pax > LARGEST_OCTAL && (header == 0 || header == LARGEST_OCTAL));
    holds.then_some(pax)
}

/// Parses a number: octal, terminated by spaces or NULs, or base 256 with the first bit set. An empty
/// field is 0.
fn number(field: &[u8]) -> Option<i128> {
    let (first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        // The second bit is the sign.
        let start = if first & 0x40 == 0 { i128::from(first & 0x3f) } else { i128::from(*first) - 256 };
        return Some(rest.iter().fold(start, |value, byte| (value << 8) | i128::from(*byte)));
    }
    let start = field.iter().position(|byte| *byte != b' ').unwrap_or(field.len());
    let field = field.get(start..)?;
    let digits = field.iter().take_while(|byte| (b'0'..=b'7').contains(*byte)).count();
    let (digits, rest) = field.split_at(digits);
    if rest.iter().any(|byte| !matches!(byte, 0 | b' ')) {
        return None;
    }
    Some(digits.iter().fold(0, |value, digit| (value << 3) | i128::from(digit - b'0')))
}

/// The fields that are used from a PAX header.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pax {
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) target: Option<Vec<u8>>,
    pub(crate) size: Option<u64>,
    /// Whether it describes a sparse file.
    pub(crate) sparse: bool,
    /// Whether it describes a part of a multi-volume archive, or a label.
    pub(crate) volume: bool,
}

impl Pax {
    /// Parses `length key=value\n` records. Unknown keys are ignored. The last record of a key counts, and
    /// an empty value removes the key.
    pub(crate) fn read(mut bytes: &[u8]) -> Result<Self, &'static str> {
        let mut pax = Self::default();
        while !bytes.is_empty() {
            let (key, value, rest) = record(bytes).ok_or("its extension header is not a list of records")?;
            let set = (!value.is_empty()).then(|| value.to_vec());
            match key {
                b"path" => pax.path = set,
                b"linkpath" => pax.target = set,
                b"size" if value.is_empty() => pax.size = None,
                b"size" => {
                    pax.size =
                        Some(decimal(value).ok_or("the size in its extension header is not a number")?);
                }
                _ if key.starts_with(b"GNU.sparse.") || key == b"SCHILY.realsize" => pax.sparse = true,
                _ if key.starts_with(b"GNU.volume.") => pax.volume = true,
                _ => {}
            }
            bytes = rest;
        }
        Ok(pax)
    }
}

/// Returns the key and value of the first record, and the remaining bytes.
fn record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().take(8).position(|byte| *byte == b' ')?;
    let length = usize::try_from(decimal(bytes.get(..space)?)?).ok()?;
    let (own, rest) = bytes.split_at_checked(length)?;
    let text = own.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = text.iter().position(|byte| *byte == b'=')?;
    Some((text.get(..equals)?, text.get(equals + 1..)?, rest))
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let digits =
        str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_the_formats_say() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"  644 \0\0"), Some(0o644));
        assert_eq!(number(b"\0\0\0\0\0\0\0\0"), Some(0));
        assert_eq!(number(b"777777777777"), Some(0o777_777_777_777));
        assert_eq!(number(b"\x80\0\0\0\0\0\0\0\0\0\x01\x02"), Some(258));
        assert_eq!(number(b"\x80\0\0\0\x80\0\0\0\0\0\0\0"), Some(1 << 63));
        assert_eq!(number(&[0xff; 12]), Some(-1));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0"), Some(-256));
        assert_eq!(number(b"\xbf\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), Some((1 << 94) - 1));
        for bad in [&b"0000648\0"[..], b"-000644\0", b"0x00644\0", b"644\x00644"] {
            assert_eq!(number(bad), None);
        }
    }

    #[test]
    fn pax_records_are_read_by_their_lengths() {
        let pax = Pax::read(b"12 path=a\nb\n20 SCHILY.xattr.u=x\n14 linkpath=l\n9 size=7\n").unwrap();
        assert_eq!(pax.path.as_deref(), Some(&b"a\nb"[..]), "a line feed in a name does not end it");
        assert_eq!((pax.target.as_deref(), pax.size), (Some(&b"l"[..]), Some(7)));
        assert_eq!(Pax::read(b"10 path=a\n8 path=\n").unwrap(), Pax::default(), "taken back");
        assert!(Pax::read(b"22 GNU.sparse.major=1\n").unwrap().sparse);
        for bad in [
            &b"x"[..],
            b"99 path=a\n",
            b"3 a",
            b"10 path=ab",
            b"0 path=a\n",
            b"-1 path=a\n",
            b"2 \n",
            b"9 size=x\n",
        ] {
            Pax::read(bad).unwrap_err();
        }
        Pax::read(b"29 size=99999999999999999999\n").unwrap_err();
    }

    #[test]
    fn two_sizes_have_to_agree() {
        assert_eq!(agreed_size(5, 5), Some(5));
        assert_eq!(agreed_size(5, 6), None);
        assert_eq!(agreed_size(0, 6), None);
        assert_eq!(agreed_size(0, 1 << 40), Some(1 << 40));
    }
}
