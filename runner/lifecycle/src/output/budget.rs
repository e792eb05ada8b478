//! The limit on the bytes of all spools together.

/// The limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the limit of {limit} bytes is reached")]
pub struct Full {
    /// The limit in bytes.
    pub limit: u64,
}

/// The limit, and the bytes in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    limit: u64,
    used: u64,
}

impl Budget {
    /// Creates a budget of this many bytes.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self { limit, used: 0 }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// [`Full`], without effect, if the limit would be exceeded.
    pub fn take(&mut self, bytes: u64) -> Result<(), Full> {
        let sum = self.used.checked_add(bytes).filter(|sum| *sum <= self.limit);
        self.used = sum.ok_or(Full { limit: self.limit })?;
        Ok(())
    }

    /// Counts existing bytes, even if they exceed the limit.
    pub fn count(&mut self, bytes: u64) {
        self.used = self.used.saturating_add(bytes);
    }

    /// Returns bytes.
    pub fn give_back(&mut self, bytes: u64) {
        self.used = self.used.saturating_sub(bytes);
    }

    /// Returns the bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }
}
