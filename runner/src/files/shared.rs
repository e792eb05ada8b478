//! The parts that all file work shares.

use super::{baseline::BaselineLimits, transfers::Transfers, work::Work};

/// The parts that all file work shares.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) work: Work,
    pub(super) transfers: Transfers,
    pub(super) baseline: BaselineLimits,
}
