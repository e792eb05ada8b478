//! IPv4 addresses in the spellings that `inet_aton` and browsers accept: one to four parts, each in decimal, octal or
//! hexadecimal notation. See the [IPv4 parser](https://url.spec.whatwg.org/#concept-ipv4-parser).

use std::net::Ipv4Addr;

use super::error::HostError;

const MOST_PARTS: usize = 4;

/// Parses a normalized name as an address. Returns `None` if its last label is not a number: then it is a name.
pub(super) fn parse(name: &str) -> Option<Result<Ipv4Addr, HostError>> {
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|b| b.is_ascii_digit()) || number(last).is_some();
    is_number.then(|| address(name).ok_or(HostError::Ipv4))
}

fn address(name: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = name.split('.').take(MOST_PARTS + 1).map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() >= MOST_PARTS || first.iter().any(|part| *part > 255) {
        return None;
    }
    let free_bits = 32 - 8 * u32::try_from(first.len()).ok()?;
    if *last >= 1_u64 << free_bits {
        return None;
    }
    let high = first.iter().fold(0, |bits, part| bits << 8 | part) << free_bits;
    u32::try_from(high | last).ok().map(Ipv4Addr::from)
}

/// Returns the value of a part. A value that is too large for any address becomes the largest `u64`.
fn number(part: &str) -> Option<u64> {
    let (digits, radix) = match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        _ if part.is_empty() => return None,
        (Some(hex), _) => (hex, 16),
        (None, Some(octal)) => (octal, 8),
        (None, None) => (part, 10),
    };
    digits.chars().try_fold(0_u64, |value, c| {
        let digit = c.to_digit(radix)?;
        Some(value.saturating_mul(radix.into()).saturating_add(digit.into()))
    })
}
