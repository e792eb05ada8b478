//! Normalization of names: IDNA, case, the final dot, and the limits of DNS.

use std::fmt;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use super::error::HostError;

const MOST_CHARACTERS: usize = 253;
const MOST_PER_LABEL: usize = 63;

/// The punctuation that is not in names. Underscores are accepted, as browsers do, because names of services have them.
const DENIED: AsciiDenyList = AsciiDenyList::new(true, "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~");

/// A name in lower-case ASCII, without the final dot. It has no form of an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostName(String);

impl HostName {
    /// Wraps a name that [`normalized`] returned and that is not an address.
    pub(super) const fn from_normalized(name: String) -> Self {
        Self(name)
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reports whether the name has one or more labels before `parent`.
    #[must_use]
    pub fn is_below(&self, parent: &Self) -> bool {
        self.0.strip_suffix(parent.as_str()).is_some_and(|rest| rest.ends_with('.'))
    }

    /// Reports whether the name has only one label, so that its meaning depends on the resolver's search list.
    #[must_use]
    pub fn is_single_label(&self) -> bool {
        !self.0.contains('.')
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the name in the form that DNS has. IDNA maps some characters to digits and dots, so that the result can be an
/// address.
pub(super) fn normalized(text: &str) -> Result<String, HostError> {
    if text.is_ascii() {
        check(without_final_dot(text))?;
    }
    let ascii = Uts46::new()
        .to_ascii(text.as_bytes(), DENIED, Hyphens::CheckFirstLast, DnsLength::Ignore)
        .map_err(|_| HostError::Idna)?;
    let name = without_final_dot(&ascii);
    check(name)?;
    Ok(name.to_owned())
}

fn without_final_dot(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

/// Checks the limits of DNS, and hyphens, for which the error of IDNA has no details.
fn check(name: &str) -> Result<(), HostError> {
    if name.len() > MOST_CHARACTERS {
        return Err(HostError::TooLong);
    }
    for label in name.split('.') {
        if label.is_empty() {
            return Err(HostError::EmptyLabel);
        }
        if label.len() > MOST_PER_LABEL {
            return Err(HostError::LongLabel);
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(HostError::Hyphen);
        }
    }
    Ok(())
}
