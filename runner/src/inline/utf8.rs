//! Checks whether bytes that arrive in pieces are UTF-8.

/// The state of the check.
#[derive(Default)]
pub(super) struct Utf8 {
    /// The beginning of an incomplete character.
    open: Vec<u8>,
    /// Whether the previous bytes are unknown: a character may have begun there.
    after_gap: bool,
    invalid: bool,
}

impl Utf8 {
    pub(super) fn take(&mut self, mut data: &[u8]) {
        if std::mem::take(&mut self.after_gap) {
            let rest_of_one = data.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
            data = data.get(rest_of_one..).unwrap_or_default();
        }
        while !self.open.is_empty() {
            let Some((byte, rest)) = data.split_first() else { return };
            self.open.push(*byte);
            data = rest;
            match std::str::from_utf8(&self.open) {
                Ok(_) => self.open.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.invalid = true;
                    self.open.clear();
                }
            }
        }
        if let Err(error) = std::str::from_utf8(data) {
            self.invalid |= error.error_len().is_some();
            self.open =
                data.get(error.valid_up_to()..).filter(|rest| rest.len() < 4).unwrap_or_default().to_vec();
        }
    }

    /// Handles a gap: the next bytes do not follow the previous ones.
    pub(super) fn gap(&mut self) {
        self.open.clear();
        self.after_gap = true;
    }

    /// Reports, at the end of the stream, whether any byte was invalid.
    pub(super) fn is_invalid(&self) -> bool {
        self.invalid || !self.open.is_empty()
    }
}
