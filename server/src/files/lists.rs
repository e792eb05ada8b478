//! Listings and comparisons, page by page.

use airlock_proto::{
    domain::{
        ChangeKind, DiffOrder, ExchangeFromRunner, ExchangeOrder, FileChange, FileInfo, ListOrder, RunnerId,
    },
    limits::PATCH_BYTES,
};

use super::{can_be, page};
use crate::{
    api::ApiError,
    exchange::{Exchange, Exchanges, Violation, shown},
    model::Principal,
};

/// Of the reason why there is no patch, in bytes.
const OMITTED_BYTES: usize = 64;

/// A page, and what is needed for the next one.
#[derive(Debug)]
pub struct Listed<T> {
    /// By path.
    pub items: Vec<T>,
    /// There are more after the last.
    pub(super) more: bool,
    /// The request without its place and page size, in which a token moves.
    pub(super) request: String,
}

/// Something of which there are pages.
pub trait Entry {
    /// Its path, or what else its place in the order is told by.
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
    /// The token of the next page; empty after the last.
    #[must_use]
    pub fn next_page_token(&self) -> String {
        match self.items.last() {
            Some(last) if self.more => page::token(&self.request, last.path()),
            _ => String::new(),
        }
    }

    /// Leaves the last entry to the next page.
    pub fn shorten(&mut self) {
        self.more |= self.items.pop().is_some();
    }
}

/// A page of a listing. The order's `after` is taken from `token`, where there is one.
///
/// # Errors
/// `Invalid` for a token of another request; what the runner refuses; `Exhausted`; `Unavailable`.
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

/// A page of a comparison. The order's `after` is taken from `token`, where there is one.
///
/// # Errors
/// As [`list`].
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

/// Holds a page against its order. One that ends where it began would be asked for again without end.
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
