//! Listings and comparisons, page by page.

use airlock_domain::{
    ChangeKind, DiffOrder, ExchangeFromRunner, ExchangeOrder, FileChange, FileInfo, ListOrder, RunnerId,
    limits::PATCH_BYTES,
};

use super::page::{self, can_be};
use crate::{
    api::ApiError,
    exchange::{Exchange, Exchanges, Violation, shown},
    model::Principal,
};

/// The maximum length, in bytes, of the reason for a missing patch.
const OMITTED_BYTES: usize = 64;

/// A page, with the information for the next one.
#[derive(Debug)]
pub struct Listed<T> {
    /// The entries, ordered by path.
    pub items: Vec<T>,
    /// More entries follow the last one.
    pub(super) more: bool,
    /// The request without its position and page size. A page token is bound to it.
    pub(super) request: String,
}

/// An entry of a paged list.
pub trait Entry {
    /// Returns the path, or another key that determines the order.
    fn path(&self) -> &[u8];
}

impl Entry for FileInfo {
    fn path(&self) -> &[u8] {
        &self.path
    }
}

impl Entry for FileChange {
    fn path(&self) -> &[u8] {
        self.kind.path()
    }
}

impl<T: Entry> Listed<T> {
    /// Returns the token of the next page. Empty after the last page.
    #[must_use]
    pub fn next_page_token(&self) -> String {
        match self.items.last() {
            Some(last) if self.more => page::token(&self.request, last.path()),
            _ => String::new(),
        }
    }

    /// Moves the last entry to the next page.
    pub fn shorten(&mut self) {
        self.more |= self.items.pop().is_some();
    }
}

/// Returns a page of a listing. `token` sets the order's `after`.
///
/// # Errors
/// Returns `Invalid` for a token of another request, the runner's refusal, `Exhausted` or `Unavailable`.
pub async fn list(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    mut order: ListOrder,
    token: Option<String>,
) -> Result<Listed<FileInfo>, ApiError> {
    let request = format!("{:?}", ListOrder { after: Vec::new(), page_size: 0, ..order.clone() });
    order.after = token.map_or(Ok(Vec::new()), |token| page::after(&request, &token))?;
    let (after, most) = (order.after.clone(), order.page_size);
    let mut exchange = exchanges.open(who, runner, ExchangeOrder::List(order)).await?;
    let listed = match exchange.hear().await {
        Ok(ExchangeFromRunner::Files { files, more }) => check(&exchange, &files, more, most, &after, can_be)
            .map(|()| Listed { items: files, more, request }),
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    exchange.settled(listed)
}

/// Returns a page of a comparison. `token` sets the order's `after`.
///
/// # Errors
/// See [`list`].
pub async fn diff(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    mut order: DiffOrder,
    token: Option<String>,
) -> Result<Listed<FileChange>, ApiError> {
    let request = format!("{:?}", DiffOrder { after: Vec::new(), page_size: 0, ..order.clone() });
    order.after = token.map_or(Ok(Vec::new()), |token| page::after(&request, &token))?;
    let (after, most) = (order.after.clone(), order.page_size);
    let mut exchange = exchanges.open(who, runner, ExchangeOrder::Diff(order)).await?;
    let listed = match exchange.hear().await {
        Ok(ExchangeFromRunner::Changes { mut changes, more }) => {
            for change in &mut changes {
                change.patch_omitted = shown(&change.patch_omitted, OMITTED_BYTES);
            }
            check(&exchange, &changes, more, most, &after, change_can_be).map(|()| Listed {
                items: changes,
                more,
                request,
            })
        }
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    exchange.settled(listed)
}

/// Checks a page against its order. A page that does not advance is refused, because it would be requested
/// forever.
pub(super) fn check<T: Entry>(
    exchange: &Exchange,
    items: &[T],
    more: bool,
    most: u32,
    after: &[u8],
    can_be: fn(&T) -> bool,
) -> Result<(), ApiError> {
    if items.len() > most as usize {
        return Err(exchange.misbehaved(Violation::TooMany));
    }
    let goes_on = items.last().is_some_and(|last| last.path() != after);
    if !items.iter().all(can_be) || (more && !goes_on) {
        return Err(exchange.misbehaved(Violation::BadEntry));
    }
    Ok(())
}

fn change_can_be(change: &FileChange) -> bool {
    let infos = match &change.kind {
        ChangeKind::Added { after: info } | ChangeKind::Deleted { before: info } => can_be(info),
        ChangeKind::Modified { before, after } => {
            can_be(before) && can_be(after) && before.path == after.path
        }
    };
    infos && change.patch.len() <= PATCH_BYTES
}
