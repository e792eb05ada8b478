//! The check that a text identifies a path exactly.

/// Reports whether the text identifies the path exactly.
pub(super) fn is_exact(path: &str) -> bool {
    path.starts_with('/') && !path.contains(char::REPLACEMENT_CHARACTER)
}
