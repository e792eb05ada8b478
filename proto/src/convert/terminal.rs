//! Conversion of terminals and their sizes.

use super::error::ConvertError;
use crate::v1;
use airlock_domain::{Pty, TerminalSize, limits::TERMINAL_CELLS};

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
