//! What the lists have in common: filters and pages.

use std::fmt::Debug;

use airlock_proto::domain::InlineOutput;
use futures::{TryStreamExt as _, stream::BoxStream};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqlitePool, sqlite::SqliteRow};

use crate::{
    model::{ApprovalRecord, AuditRecord, ExecutionRecord, RunnerRecord, SessionRecord},
    store::{Page, PageQuery, StoreError, page},
};

/// A record of a list.
pub(super) trait Listed {
    /// The id that the list is ordered by.
    fn id(&self) -> String;
    /// Roughly the memory it takes, in bytes.
    fn bytes(&self) -> usize;
}

impl Listed for SessionRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.env.values().map(Vec::len).sum::<usize>() + self.directory.len() + self.snapshot.text.len()
    }
}

impl Listed for ExecutionRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        let env: usize = self.spec.env.values().map(Vec::len).sum();
        let inline = self.result.as_ref().and_then(|result| result.inline.as_deref());
        let inline = inline.map_or(0, InlineOutput::text_bytes);
        env + self.spec.command.len() + self.decision.encoded.len() + inline
    }
}

impl Listed for ApprovalRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.command.len() + self.decision.encoded.len()
    }
}

impl Listed for AuditRecord {
    fn id(&self) -> String {
        self.sequence.to_string()
    }

    fn bytes(&self) -> usize {
        self.command.len()
    }
}

impl Listed for RunnerRecord {
    fn id(&self) -> String {
        self.id.to_string()
    }

    fn bytes(&self) -> usize {
        self.capabilities.iter().map(|capability| capability.detail.len()).sum()
    }
}

/// `column` is one of `names`.
pub(super) fn any_of(
    sql: &mut QueryBuilder<Sqlite>,
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
pub(super) fn labels(sql: &mut QueryBuilder<Sqlite>, labels: &[(String, String)]) {
    for (key, value) in labels {
        sql.push(" AND EXISTS (SELECT 1 FROM json_each(labels) WHERE key = ")
            .push_bind(key.clone())
            .push(" AND value = ")
            .push_bind(value.clone())
            .push(")");
    }
}

/// The page of what `sql` (filtered and ordered) finds.
pub(super) async fn page<R, T>(
    pool: &SqlitePool,
    mut sql: QueryBuilder<Sqlite>,
    query: &(impl Debug + Sync),
    page: &PageQuery,
) -> Result<Page<T>, StoreError>
where
    R: for<'r> FromRow<'r, SqliteRow> + Send + Unpin,
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
pub(super) async fn bounded<R, T>(
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
