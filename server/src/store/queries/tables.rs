//! The queries, by table. This source is compiled once per engine: `engine` is that of the including
//! module, with its types, clock and locks. Placeholders are `$1`, `$2`, ..., which all engines accept.
//! Columns are named, so a column that a later schema adds does no harm.
//!
//! In engines with row locks, a transaction locks in this order: the tenant's lock, the execution, the
//! approval, the session, the tenant, and last the counters of audit and milestones.

use super::engine;

pub(in crate::store) mod approvals;
mod audit;
pub(in crate::store) mod executions;
mod lists;
pub(in crate::store) mod milestones;
mod pace;
pub(in crate::store) mod queue;
pub(in crate::store) mod restores;
pub(in crate::store) mod rules;
pub(in crate::store) mod runners;
pub(in crate::store) mod servers;
pub(in crate::store) mod sessions;
pub(in crate::store) mod transition;

pub(in crate::store) use audit::list as audit;
