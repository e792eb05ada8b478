//! The reasons why a text is not a host.

use airlock_escape::line;

/// The reason why a text is not a host: the problem and the remedy, in one line of ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The text is empty.
    #[error("the host is empty; write a name or an address")]
    Empty,
    /// The name is too long.
    #[error("the host is longer than the 253 characters of DNS; shorten it")]
    TooLong,
    /// A character is never in a host: a control character, a space, `@`, `%` and other punctuation.
    #[error("the host contains `{}`; write a name or an address without it", line(.0.to_string().as_bytes()))]
    Character(char),
    /// A label of the name is empty.
    #[error("the host has two dots together or a dot at its start; remove one")]
    EmptyLabel,
    /// A label of the name is too long.
    #[error("a label of the host is longer than the 63 characters of DNS; shorten it")]
    LongLabel,
    /// A label of the name begins or ends with a hyphen.
    #[error("a label of the host begins or ends with a hyphen; remove it")]
    Hyphen,
    /// The name is not valid in IDNA (UTS 46).
    #[error("the host is not a valid international name (UTS 46); write its form in ASCII that DNS has")]
    Idna,
    /// The last label is a number, but the name is not an IPv4 address.
    #[error("the host ends in a number and is not an IPv4 address; write four numbers from 0 to 255")]
    Ipv4,
    /// The text has a colon and is not an IPv6 address.
    #[error("the host contains `:` and is not an IPv6 address; remove it, or write the port only once")]
    Ipv6,
    /// The brackets are not around the whole host.
    #[error("the host has a bracket in the wrong place; write an IPv6 address as `[2001:db8::1]`")]
    Brackets,
}
