//! The mapping from the engines' errors to [`StoreError`].
//!
//! No error contains a value of a row. Errors reach the logs, and rows contain commands and
//! environments.

use sqlx::{error::DatabaseError, postgres::PgDatabaseError};

use crate::StoreError;

/// The primary result codes of SQLite, which are the low byte of the extended ones.
mod sqlite {
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const CONSTRAINT: u32 = 19;
    pub(super) const NOT_A_DATABASE: u32 = 26;
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(cause) => match cause.try_downcast_ref::<PgDatabaseError>() {
                Some(cause) => of_postgres(cause),
                None => of_sqlite(cause.as_ref()),
            },
            // A transaction that was not committed when the connection failed is rolled back.
            sqlx::Error::Io(_) => Self::Undone(error.to_string()),
            sqlx::Error::ColumnDecode { index, .. } => unreadable(index),
            sqlx::Error::ColumnNotFound(column) => unreadable(column),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}

fn of_sqlite(cause: &dyn DatabaseError) -> StoreError {
    let code = cause.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default() & 0xff;
    match code {
        sqlite::CORRUPT | sqlite::NOT_A_DATABASE => StoreError::Corrupt(cause.message().to_owned()),
        sqlite::CONSTRAINT => StoreError::Refused(cause.message().to_owned()),
        _ => StoreError::Unavailable(cause.message().to_owned()),
    }
}

/// Maps an error by its SQLSTATE. The first two characters are its class.
fn of_postgres(cause: &PgDatabaseError) -> StoreError {
    let said = || format!("{} ({})", cause.message(), cause.code());
    match (cause.code().get(..2).unwrap_or_default(), cause.code()) {
        // A deadlock, a serialization failure, or a database that shuts down.
        ("40", _) | (_, "57P01" | "57P02" | "57P03") => StoreError::Undone(said()),
        ("23", _) | (_, "P0001") => StoreError::Refused(said()),
        // The messages of this class quote the value.
        ("22", code) => StoreError::Refused(format!("PostgreSQL cannot store a value ({code})")),
        (_, "XX001" | "XX002") => StoreError::Corrupt(said()),
        // A missing or duplicate table or column: not this schema.
        (_, "42P01" | "42703" | "42P07") => StoreError::Corrupt(said()),
        _ => StoreError::Unavailable(said()),
    }
}

/// Returns the error for a column with a value that this version never writes.
pub(crate) fn unreadable(column: &str) -> StoreError {
    StoreError::Corrupt(format!("column `{column}` cannot be read"))
}
