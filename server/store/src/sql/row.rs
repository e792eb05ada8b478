//! Rows as structs: each field is the column of the same name.

/// Defines a struct and its conversion from a row of any engine. `#[derive(sqlx::FromRow)]` does the same, but sqlx's
/// macros build both database drivers a second time, for the compiler.
macro_rules! row {
    ($(#[$meta:meta])* $visibility:vis struct $name:ident { $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $kind:ty,)+ }) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $kind,)+
        }

        impl<'r, R: sqlx::Row> sqlx::FromRow<'r, R> for $name
        where
            &'static str: sqlx::ColumnIndex<R>,
            $($kind: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,)+
        {
            fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: row.try_get(stringify!($field))?,)+ })
            }
        }
    };
}

pub(super) use row;
