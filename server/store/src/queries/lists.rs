//! The filters and pages that all lists share, and the lookups of single records. Reads at most one page. `select` is
//! the query of a table without conditions.

use std::fmt::Debug;

use futures::{TryStreamExt as _, stream::BoxStream};
use sqlx::{FromRow, QueryBuilder};

use super::engine::{self, Connection, Db, Pool, Row};
use crate::{Page, PageQuery, StoreError, page, sql::listed::Listed};

/// The order of a list by ID.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Ascending,
    Descending,
}

/// Restricts `column` to a value, if there is one.
pub(crate) fn equals(sql: &mut QueryBuilder<Db>, column: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        sql.push(" AND ").push(column).push(" = ").push_bind(value.to_string());
    }
}

/// Restricts `column` to one of `names`.
pub(crate) fn any_of(sql: &mut QueryBuilder<Db>, column: &str, names: impl Iterator<Item = &'static str>) {
    sql.push(" AND ").push(column).push(" IN (");
    let mut list = sql.separated(", ");
    for name in names {
        list.push_bind(name);
    }
    sql.push(")");
}

/// Restricts a query to rows with all of `labels`.
pub(crate) fn labels(sql: &mut QueryBuilder<Db>, labels: &[(String, String)]) {
    for (key, value) in labels {
        engine::has_label(sql, key, value);
    }
}

/// Returns one page of the results of `sql`, which contains the filter.
pub(crate) async fn page<R, T>(
    pool: &Pool,
    mut sql: QueryBuilder<Db>,
    query: &(impl Debug + Sync),
    page: &PageQuery,
    order: Order,
) -> Result<Page<T>, StoreError>
where
    R: for<'r> FromRow<'r, Row> + Send + Unpin,
    T: TryFrom<R, Error = StoreError> + Listed,
{
    let (beyond, ordered) = match order {
        Order::Ascending => (" AND id > ", " ORDER BY id"),
        Order::Descending => (" AND id < ", " ORDER BY id DESC"),
    };
    if let Some(last) = page::after::<T::Id>(query, page)? {
        sql.push(beyond).push_bind(last.to_string());
    }
    let size = page::size(page);
    sql.push(ordered).push(" LIMIT ").push_bind(i64::try_from(size + 1).unwrap_or(i64::MAX));
    let (items, more) = bounded(sql.build_query_as::<R>().fetch(pool), size).await?;
    let next = items.last().filter(|_| more).map(|last: &T| page::token(query, &last.id()));
    Ok(Page { items, next })
}

/// Returns the first rows, as [`bounded`] does.
pub(crate) async fn first<R, T>(
    rows: BoxStream<'_, Result<R, sqlx::Error>>,
    at_most: u32,
) -> Result<Vec<T>, StoreError>
where
    T: TryFrom<R, Error = StoreError> + Listed,
{
    let (first, _) = bounded(rows, at_most as usize).await?;
    Ok(first)
}

/// Returns the first rows, and whether there are more. It stops after `size` rows, or after the row
/// that exceeds [`page::PAGE_BYTES`], to bound the memory.
async fn bounded<R, T>(
    mut rows: BoxStream<'_, Result<R, sqlx::Error>>,
    size: usize,
) -> Result<(Vec<T>, bool), StoreError>
where
    T: TryFrom<R, Error = StoreError> + Listed,
{
    let mut items: Vec<T> = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.try_next().await? {
        if items.len() == size || bytes > page::PAGE_BYTES {
            return Ok((items, true));
        }
        let item = T::try_from(row)?;
        bytes += item.bytes();
        items.push(item);
    }
    Ok((items, false))
}

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
