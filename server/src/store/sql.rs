//! What the SQL engines have in common beside their queries: rows and the records they hold, names and JSON
//! in columns, what errors mean. Knows no engine's connections.

pub(super) mod errors;
pub(super) mod json;
pub(super) mod listed;
pub(super) mod migrations;
pub(super) mod names;
pub(super) mod restores;
mod row;
pub(super) mod rows;
