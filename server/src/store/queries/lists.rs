//! What the lists have in common: filters and pages. Reads at most one page.

use std::fmt::Debug;

use futures::{TryStreamExt as _, stream::BoxStream};
use sqlx::{FromRow, QueryBuilder};

use super::engine::{self, Db, Pool, Row};
use crate::store::{Page, PageQuery, StoreError, page, sql::listed::Listed};

/// `column` is one of `names`.
pub(in crate::store) fn any_of(
    sql: &mut QueryBuilder<Db>,
    column: &str,
    names: impl Iterator<Item = &'static str>,
) {
    sql.push(" AND ").push(column).push(" IN (");
    let mut list = sql.separated(", ");
    for name in names {
        list.push_bind(name);
    }
    sql.push(")");
}

/// All of `labels` are there.
pub(in crate::store) fn labels(sql: &mut QueryBuilder<Db>, labels: &[(String, String)]) {
    for (key, value) in labels {
        engine::has_label(sql, key, value);
    }
}

/// The page of what `sql` (filtered and ordered) finds.
pub(in crate::store) async fn page<R, T>(
    pool: &Pool,
    mut sql: QueryBuilder<Db>,
    query: &(impl Debug + Sync),
    page: &PageQuery,
) -> Result<Page<T>, StoreError>
where
    R: for<'r> FromRow<'r, Row> + Send + Unpin,
    T: TryFrom<R, Error = StoreError> + Listed,
{
    let size = page::size(page);
    sql.push(" LIMIT ").push_bind(i64::try_from(size + 1).unwrap_or(i64::MAX));
    let (items, more) = bounded(sql.build_query_as::<R>().fetch(pool), size).await?;
    let next = items.last().filter(|_| more).map(|last: &T| page::token(query, &last.id()));
    Ok(Page { items, next })
}

/// The first of `rows`: at most `size`, and no more than [`page::PAGE_BYTES`] and one more row of them,
/// so that large ones do not fill the memory. Also says whether there are others.
pub(in crate::store) async fn bounded<R, T>(
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
