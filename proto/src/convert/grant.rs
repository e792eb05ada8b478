//! Conversion of grants and of the profiles of sessions, which travel in their canonical encoding.

use super::error::{ConvertError, digest};
use crate::{runner_v1 as wire, v1};
use airlock_domain::{
    EncodingError, Grant, Pty, SandboxProfile, TerminalSize, encoding, limits::TERMINAL_CELLS,
};

/// Converts a grant to its wire form, with the hash that the decision is bound to.
pub(super) fn into_wire(grant: &Grant, binding: [u8; 32]) -> wire::Grant {
    wire::Grant { binding: binding.to_vec().into(), encoded: grant.encode().into() }
}

/// Converts a grant from its wire form. Returns the hash that came with it without checking it: the runner
/// compares it with [`Grant::binding`].
pub(super) fn from_wire(grant: &wire::Grant) -> Result<(Grant, [u8; 32]), ConvertError> {
    let binding = digest("grant.binding", &grant.binding)?;
    let grant = Grant::decode(&grant.encoded).map_err(|error| malformed("grant.encoded", &error))?;
    Ok((grant, binding))
}

/// Decodes the grant of a preview, which must have a file edit.
pub(super) fn of_preview(order: &wire::PreviewOrder) -> Result<Grant, ConvertError> {
    let grant = Grant::decode(&order.grant).map_err(|error| malformed("preview.grant", &error))?;
    match grant.decided.edit {
        Some(_) => Ok(grant),
        None => Err(ConvertError::new("preview.grant", "has no file edit")),
    }
}

/// Converts the profile of a session to its wire form.
pub(super) fn wire_profile(profile: Option<&SandboxProfile>) -> Vec<u8> {
    profile.map(encoding::encode).unwrap_or_default()
}

/// Converts the profile of a session from its wire form.
pub(super) fn profile(encoded: &[u8]) -> Result<Option<Box<SandboxProfile>>, ConvertError> {
    if encoded.is_empty() {
        return Ok(None);
    }
    encoding::decode(encoded).map(Some).map_err(|error| malformed("open_session.profile", &error))
}

fn malformed(field: &'static str, error: &EncodingError) -> ConvertError {
    ConvertError::new(field, error.to_string())
}

impl From<TerminalSize> for v1::TerminalSize {
    fn from(TerminalSize { rows, cols }: TerminalSize) -> Self {
        Self { rows: rows.into(), cols: cols.into() }
    }
}

impl From<Pty> for v1::Pty {
    fn from(Pty { size: TerminalSize { rows, cols }, term }: Pty) -> Self {
        Self { rows: rows.into(), cols: cols.into(), term }
    }
}

/// Converts the size in `field` and checks its bounds.
pub(super) fn terminal_size(
    field: &'static str,
    size: &v1::TerminalSize,
) -> Result<TerminalSize, ConvertError> {
    let side = |value: u32| u16::try_from(value).ok().filter(|side| (1..=TERMINAL_CELLS).contains(side));
    match (side(size.rows), side(size.cols)) {
        (Some(rows), Some(cols)) => Ok(TerminalSize { rows, cols }),
        _ => Err(ConvertError::new(
            field,
            format!("is {} by {}, each side must be 1 to {TERMINAL_CELLS}", size.rows, size.cols),
        )),
    }
}
