//! Names of variables, as bash reads them.

/// Reports whether the byte can be in a name.
pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Reports whether the text is a name. A name does not start with a digit.
pub(crate) fn is_name(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| !byte.is_ascii_digit()) && text.iter().copied().all(is_name_byte)
}

/// Returns the name that `NAME=value` or `NAME+=value` sets, if the text has this form.
pub(crate) fn assignment_name(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| *byte == b'=')?;
    let (name, _) = text.split_at_checked(end)?;
    let name = name.strip_suffix(b"+").unwrap_or(name);
    is_name(name).then_some(name)
}
