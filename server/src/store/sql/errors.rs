//! What the engines' errors mean to the server.
//!
//! None of them carries a value of a row: they reach logs, and rows hold commands and environments.

use sqlx::{error::DatabaseError, postgres::PgDatabaseError};

use crate::store::StoreError;

/// SQLite's primary result codes (the low byte of the extended ones).
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
            // What is not committed when its connection goes is undone.
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

/// By SQLSTATE: its class is the first two characters.
fn of_postgres(cause: &PgDatabaseError) -> StoreError {
    let said = || format!("{} ({})", cause.message(), cause.code());
    match (cause.code().get(..2).unwrap_or_default(), cause.code()) {
        // A deadlock or a conflict that this transaction lost; a server that shuts down.
        ("40", _) | (_, "57P01" | "57P02" | "57P03") => StoreError::Undone(said()),
        ("23", _) | (_, "P0001") => StoreError::Refused(said()),
        // Their messages quote what they could not take.
        ("22", code) => StoreError::Refused(format!("a value that PostgreSQL cannot hold ({code})")),
        (_, "XX001" | "XX002") => StoreError::Corrupt(said()),
        // A table or column that is not there, or is there already: not this schema.
        (_, "42P01" | "42703" | "42P07") => StoreError::Corrupt(said()),
        _ => StoreError::Unavailable(said()),
    }
}

/// A column that holds what this version never writes there.
pub(in crate::store) fn unreadable(column: &str) -> StoreError {
    StoreError::Corrupt(format!("column `{column}` cannot be read"))
}
