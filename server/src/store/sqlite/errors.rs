//! What SQLite's errors mean to the server.
//!
//! None of them carries a value of a row: they reach logs, and rows hold commands and environments.

use crate::store::StoreError;

/// SQLite's primary result codes (the low byte of the extended ones).
const CORRUPT: u32 = 11;
const CONSTRAINT: u32 = 19;
const NOT_A_DATABASE: u32 = 26;

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(cause) => {
                let code = cause.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default() & 0xff;
                match code {
                    CORRUPT | NOT_A_DATABASE => Self::Corrupt(cause.message().to_owned()),
                    CONSTRAINT => Self::Refused(cause.message().to_owned()),
                    _ => Self::Unavailable(cause.message().to_owned()),
                }
            }
            sqlx::Error::ColumnDecode { index, .. } => unreadable(index),
            sqlx::Error::ColumnNotFound(column) => unreadable(column),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

/// A column that holds what this version never writes there.
pub(super) fn unreadable(column: &str) -> StoreError {
    StoreError::Corrupt(format!("column `{column}` cannot be read"))
}
