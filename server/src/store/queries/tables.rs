//! The queries, table by table. One text, compiled once for each engine: what it calls `engine` is that of
//! the module that includes it, with its types, its clock and its locks. Placeholders are `$1`, `$2`, ...,
//! which all engines take; columns are named, so that a later schema's new ones do no harm.
//!
//! A transaction locks in this order, in engines that lock rows: its tenant's turn, the execution, the
//! approval, the session, the tenant, and last the numbers of audit and milestones.

use super::engine;

pub(in crate::store) mod approvals;
mod audit;
pub(in crate::store) mod executions;
mod lists;
pub(in crate::store) mod milestones;
pub(in crate::store) mod queue;
pub(in crate::store) mod restores;
pub(in crate::store) mod rules;
pub(in crate::store) mod runners;
pub(in crate::store) mod servers;
pub(in crate::store) mod sessions;
pub(in crate::store) mod transition;

pub(in crate::store) use audit::list as audit;
