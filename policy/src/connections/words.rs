//! Finds the hosts in the words of a command. A word with an unknown value names no host.

use airlock_network::{Host, Target};

use crate::getopt::is_one_of;
use crate::parse::Word;
use crate::tables::{Names, Network};

/// The schemes of URLs with their ports.
const SCHEMES: [(&str, u16); 24] = [
    ("amqp", 5672),
    ("amqps", 5671),
    ("ftp", 21),
    ("ftps", 990),
    ("git", 9418),
    ("git+http", 80),
    ("git+https", 443),
    ("git+ssh", 22),
    ("http", 80),
    ("https", 443),
    ("mariadb", 3306),
    ("mongodb", 27017),
    ("mysql", 3306),
    ("oci", 443),
    ("postgres", 5432),
    ("postgresql", 5432),
    ("redis", 6379),
    ("rediss", 6379),
    ("rsync", 873),
    ("scp", 22),
    ("sftp", 22),
    ("ssh", 22),
    ("ws", 80),
    ("wss", 443),
];
/// The port of a URL without a scheme.
const HTTP: u16 = 80;
/// The port of `host:path`.
const SSH: u16 = 22;

/// The words after the program's name.
pub(super) struct Sorted {
    /// Whether a flag or a subcommand states that the program does not connect.
    pub(super) is_excluded: bool,
    pub(super) targets: Vec<Target>,
}

/// The words of one command, by their use.
#[derive(Default)]
struct Given<'w> {
    operands: Vec<&'w str>,
    hosts: Vec<&'w str>,
    port: Option<u16>,
    is_excluded: bool,
    has_needed: bool,
}

pub(super) fn sort(entry: &Network, words: &[Word]) -> Sorted {
    let given = read(entry, words);
    let port = given.port.unwrap_or(entry.port);
    let by_flag = given.hosts.iter().filter_map(|text| match entry.names {
        Names::Remotes => remote(text),
        _ => url(text).or_else(|| host(text, port)),
    });
    let operands = given.operands.as_slice();
    let by_operand: Vec<Target> = match entry.names {
        Names::Nothing => Vec::new(),
        Names::Urls if entry.needs_host => operands.iter().filter_map(|text| url(text)).collect(),
        Names::Urls => operands.iter().filter_map(|text| url(text).or_else(|| bare_url(text))).collect(),
        Names::Remotes => operands.iter().filter_map(|text| remote(text)).collect(),
        Names::First => {
            operands.iter().take(1).filter_map(|text| url(text).or_else(|| host(text, port))).collect()
        }
        Names::All => operands.iter().filter_map(|text| host(text, port)).collect(),
        Names::HostAndPort => match operands {
            [name, number, ..] => number.parse().ok().and_then(|port| host(name, port)).into_iter().collect(),
            _ => Vec::new(),
        },
    };
    let lacks = !entry.only_with.is_empty() && !given.has_needed;
    Sorted { is_excluded: given.is_excluded || lacks, targets: by_flag.chain(by_operand).collect() }
}

fn read<'w>(entry: &Network, words: &'w [Word]) -> Given<'w> {
    let mut given = Given::default();
    let mut flags = true;
    let mut at = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        let Some(text) = known(word) else {
            continue;
        };
        if !flags || !text.starts_with('-') || text == "-" {
            let is_first = given.operands.is_empty();
            given.is_excluded |= is_first && entry.except.contains(&text);
            given.operands.push(text);
            continue;
        }
        if text == "--" {
            flags = false;
            continue;
        }
        given.is_excluded |=
            matches!(text, "--help" | "--version") || is_one_of(entry.except, text.as_bytes());
        given.has_needed |= is_one_of(entry.only_with, text.as_bytes());
        let next = || words.get(at).and_then(known);
        let (takes_host, takes_port) = (value(entry.host_flags, text), value(entry.port_flags, text));
        let takes_next = [takes_host, takes_port, value(entry.values, text)].contains(&Value::Next);
        given.hosts.extend(takes_host.of(next));
        given.port = takes_port.of(next).and_then(|text| text.parse().ok()).or(given.port);
        at += usize::from(takes_next);
    }
    given
}

/// Returns the text of a word, or of an operand the part before an unknown value if it contains a whole host, such as
/// `https://example.com/$x`.
fn known(word: &Word) -> Option<&str> {
    let text = std::str::from_utf8(word.text.as_deref().unwrap_or(&word.lead)).ok()?;
    let is_whole = match text.split_once("://") {
        Some((_, rest)) => rest.contains(['/', '?', '#']),
        None => text.contains('/') || text.ends_with(':'),
    };
    (word.text.is_some() || (is_whole && !text.starts_with('-'))).then_some(text)
}

/// The value of a flag.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value<'w> {
    None,
    Attached(&'w str),
    Next,
}

impl<'w> Value<'w> {
    fn of(self, next: impl Fn() -> Option<&'w str>) -> Option<&'w str> {
        match self {
            Self::None => None,
            Self::Attached(text) => Some(text),
            Self::Next => next(),
        }
    }
}

/// Returns the value of a word that is one of the flags, also at the end of a cluster such as `-sSo`.
fn value<'w>(flags: &[&str], text: &'w str) -> Value<'w> {
    for flag in flags {
        if text == *flag {
            return Value::Next;
        }
        let rest = text.strip_prefix(*flag);
        match (flag.strip_prefix("--"), rest) {
            (Some(_), Some(rest)) => {
                if let Some(value) = rest.strip_prefix('=') {
                    return Value::Attached(value);
                }
            }
            (None, Some(rest)) if flag.len() == 2 => return Value::Attached(rest),
            (None, None) if flag.len() == 2 && is_at_end(flag, text) => return Value::Next,
            _ => {}
        }
    }
    Value::None
}

/// Reports whether the letter of a flag ends a cluster of letters.
fn is_at_end(flag: &str, text: &str) -> bool {
    let letters = text.strip_prefix('-').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_alphabetic()));
    letters && flag.strip_prefix('-').is_some_and(|letter| text.ends_with(letter))
}

/// Returns the target of a URL with a known scheme.
fn url(text: &str) -> Option<Target> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let (_, port) = SCHEMES.iter().find(|(known, _)| *known == scheme)?;
    authority(rest, *port)
}

/// Returns the target of a URL without a scheme, such as `example.com/path`.
fn bare_url(text: &str) -> Option<Target> {
    let place = text.split('/').next().unwrap_or_default();
    let is_host = place.contains(['.', ':']) || place.eq_ignore_ascii_case("localhost");
    if text.contains("://") || !is_host { None } else { authority(text, HTTP) }
}

/// Returns the target of a URL, or of `user@host:path`.
fn remote(text: &str) -> Option<Target> {
    let by_path = || {
        let (before, _) = text.split_once(':')?;
        let is_host = !before.contains('/') && (before.contains('@') || before.contains('.'));
        if is_host { host(before, SSH) } else { None }
    };
    if text.contains("://") { url(text) } else { by_path() }
}

/// Returns the target of the text up to the path: `user@host:port/path?query`.
fn authority(text: &str, port: u16) -> Option<Target> {
    let end = text.find(['/', '?', '#', '\\']).unwrap_or(text.len());
    let place = behind_user(text.get(..end)?);
    if let Ok(target) = Target::parse(place) {
        return Some(target);
    }
    Some(Target { host: Host::parse(place.strip_suffix(':').unwrap_or(place)).ok()?, port })
}

/// Returns the target of `user@host` or `host`. A name without a dot may be an alias.
fn host(text: &str, port: u16) -> Option<Target> {
    let host = Host::parse(behind_user(text)).ok()?;
    let is_alias = matches!(&host, Host::Name(name) if !name.as_str().contains('.')) && !host.is_loopback();
    (!is_alias && port != 0).then_some(Target { host, port })
}

fn behind_user(text: &str) -> &str {
    text.rsplit_once('@').map_or(text, |(_, place)| place)
}
