//! The operations of the contract, and their queries by table. This source is compiled once per engine: `Engine` and
//! `engine` are those of the including module, with its connections, types, clock and locks. Placeholders are `$1`,
//! `$2`, ..., which all engines accept. Columns are named, so a column that a later schema adds does no harm.
//!
//! In engines with row locks, a transaction locks in this order: the tenant's lock, the execution, the
//! approval, the session, the tenant, and last the counters of audit and milestones.

use super::{Engine, engine};

mod answers;
mod approvals;
mod audit;
mod connections;
mod deliveries;
pub(crate) mod executions;
mod forwards;
mod hooks;
mod lists;
mod milestones;
mod network_changes;
mod operations;
mod pace;
mod questions;
mod queue;
mod rules;
mod runners;
mod sessions;
mod transition;
