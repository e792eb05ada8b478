//! Archives that attack programs that unpack them. They are test data for this crate and for all crates
//! that accept archives, behind the feature `hostile`. Do not use this module to write archives for other
//! purposes: `pack` does that.
//!
//! Each case has a name and a part of the expected error message. A case that is refused for its size
//! exceeds any limits below 1,000,000 entries and 4 GiB. No case sends more than 32 MiB.

mod bombs;
mod case;
mod format;
mod links;
mod naming;
mod raw;

pub use case::{Bytes, Hostile};
pub use raw::{Block, Tar, gzip, longer, pax, pax_record};

/// Returns all cases.
#[must_use]
pub fn cases() -> Vec<Hostile> {
    [naming::cases(), links::cases(), naming::kind_cases(), format::cases(), bombs::cases()]
        .into_iter()
        .flatten()
        .collect()
}
