//! The lookups of single records that the tables share. `select` is the query of a table without conditions.

use sqlx::{FromRow, QueryBuilder};

use super::engine::{self, Connection, Db, Row};
use crate::StoreError;

/// Reads the record with this ID.
pub(crate) async fn by_id<R, T>(
    connection: &mut Connection,
    select: &'static str,
    id: &impl ToString,
) -> Result<Option<T>, StoreError>
where
    R: for<'r> FromRow<'r, Row> + Send + Unpin,
    T: TryFrom<R, Error = StoreError>,
{
    let sql = of_id(select, id.to_string());
    one::<R, T>(connection, sql).await
}

/// Same as [`by_id`], but locks the row until the transaction ends.
pub(crate) async fn by_id_to_change<R, T>(
    connection: &mut Connection,
    select: &'static str,
    id: &impl ToString,
) -> Result<Option<T>, StoreError>
where
    R: for<'r> FromRow<'r, Row> + Send + Unpin,
    T: TryFrom<R, Error = StoreError>,
{
    let mut sql = of_id(select, id.to_string());
    sql.push(engine::TO_CHANGE);
    one::<R, T>(connection, sql).await
}

/// Reads the record that a principal of a tenant created with this request ID.
pub(crate) async fn by_request<R, T>(
    connection: &mut Connection,
    select: &'static str,
    (tenant, principal): (&str, &str),
    request_id: &str,
) -> Result<Option<T>, StoreError>
where
    R: for<'r> FromRow<'r, Row> + Send + Unpin,
    T: TryFrom<R, Error = StoreError>,
{
    let mut sql = QueryBuilder::<Db>::new(select);
    sql.push(" WHERE tenant = ").push_bind(tenant);
    sql.push(" AND principal = ").push_bind(principal);
    sql.push(" AND request_id = ").push_bind(request_id);
    one::<R, T>(connection, sql).await
}

fn of_id(select: &'static str, id: String) -> QueryBuilder<Db> {
    let mut sql = QueryBuilder::new(select);
    sql.push(" WHERE id = ").push_bind(id);
    sql
}

async fn one<R, T>(connection: &mut Connection, mut sql: QueryBuilder<Db>) -> Result<Option<T>, StoreError>
where
    R: for<'r> FromRow<'r, Row> + Send + Unpin,
    T: TryFrom<R, Error = StoreError>,
{
    let row: Option<R> = sql.build_query_as().fetch_optional(connection).await?;
    row.map(T::try_from).transpose()
}
