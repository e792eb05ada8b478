//! The queries, by table. This source is compiled once per engine: `engine` is that of the including
//! module, with its types, clock and locks. Placeholders are `$1`, `$2`, ..., which all engines accept.
//! Columns are named, so a column that a later schema adds does no harm.
//!
//! In engines with row locks, a transaction locks in this order: the tenant's lock, the execution, the
//! approval, the session, the tenant, and last the counters of audit and milestones.

use super::engine;

pub(crate) mod approvals;
mod audit;
pub(crate) mod executions;
mod lists;
mod lookup;
pub(crate) mod milestones;
mod pace;
pub(crate) mod queue;
pub(crate) mod restores;
pub(crate) mod rules;
pub(crate) mod runners;
pub(crate) mod servers;
pub(crate) mod sessions;
pub(crate) mod transition;

pub(crate) use audit::list as audit;
