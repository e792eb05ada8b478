//! The code that the SQL engines share in addition to their queries: rows and records, names and JSON in
//! columns, and error mapping. It must not depend on the connection type of an engine.

pub(super) mod answers;
pub(super) mod connections;
pub(super) mod deliveries;
pub(super) mod errors;
pub(super) mod forwards;
pub(super) mod hooks;
pub(super) mod json;
pub(super) mod listed;
pub(super) mod migrations;
pub(super) mod names;
pub(super) mod network_changes;
pub(super) mod restores;
mod row;
pub(super) mod rows;
