//! Names in a profile file. Pure.

use airlock_domain::limits::NAME_BYTES;

/// Reports whether this can be the name of a secret.
pub(super) fn is_secret(name: &str) -> bool {
    name.len() <= NAME_BYTES && is_variable(name)
}

/// Reports whether this can be the name of a variable.
pub(super) fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
