//! Lists and restores quarantined files.

use airlock_domain::{
    ExchangeFailure, ExchangeFromRunner, ExchangeOrder, ExecutionId, QuarantineOrder, QuarantinedFile,
    RunnerId, SessionId,
    limits::{PAGE_SIZE_MAX, PATH_BYTES},
};

use super::{
    lists::{Entry, Listed, check},
    page,
    page::can_be,
};
use crate::{
    api::ApiError,
    exchange::{ExchangeRefusal, Exchanges, Violation},
    model::Principal,
};

/// The maximum length of an ID in bytes.
pub const ID_BYTES: usize = 64;
/// The maximum number of pages to search for an entry.
const LOOKUP_PAGES: u32 = 100;
/// The maximum length of a reason's name in bytes.
const REASON_BYTES: usize = 64;

impl Entry for QuarantinedFile {
    fn path(&self) -> &[u8] {
        self.id.as_bytes()
    }
}

/// Returns one page of the session's quarantined files. `token` continues an earlier page, and replaces the order's
/// `after`.
///
/// # Errors
/// See [`super::list`].
pub async fn list_quarantine(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    mut order: QuarantineOrder,
    token: Option<String>,
) -> Result<Listed<QuarantinedFile>, ApiError> {
    let request = format!("{:?}", QuarantineOrder { after: String::new(), page_size: 0, ..order.clone() });
    let can_be = |last: &[u8]| std::str::from_utf8(last).is_ok_and(is_id);
    let after = token.map_or(Ok(Vec::new()), |token| page::last(&request, &token, can_be))?;
    order.after = String::from_utf8_lossy(&after).into_owned();
    let most = order.page_size;
    let mut exchange = exchanges.open(who, runner, ExchangeOrder::Quarantine(order)).await?;
    let listed = match exchange.hear().await {
        Ok(ExchangeFromRunner::Quarantine { files, more }) => {
            check(&exchange, &files, more, most, &after, item_can_be).map(|()| Listed {
                items: files,
                more,
                request,
            })
        }
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    exchange.settled(listed)
}

/// Returns the entry with this ID.
///
/// # Errors
/// Returns `NotFound` (`NOT_IN_QUARANTINE`), or an error as [`super::list`].
pub async fn quarantined(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    session_id: SessionId,
    id: &str,
) -> Result<QuarantinedFile, ApiError> {
    let mut token = None;
    for _ in 0..LOOKUP_PAGES {
        let order =
            QuarantineOrder { session_id, after: String::new(), page_size: PAGE_SIZE_MAX.unsigned_abs() };
        let mut listed = list_quarantine(exchanges, who, runner, order, token).await?;
        token = Some(listed.next_page_token()).filter(|token| !token.is_empty());
        if let Some(place) = listed.items.iter().position(|item| item.id == id) {
            return Ok(listed.items.swap_remove(place));
        }
        if token.is_none() {
            break;
        }
    }
    Err(ApiError::Exchange(ExchangeRefusal {
        failure: ExchangeFailure::NotFound,
        reason: "NOT_IN_QUARANTINE".to_owned(),
        message: format!("`{id}` is not in the session's quarantine"),
        accepted: None,
    }))
}

/// Restores an entry. Returns its path, and the ID of the file that existed at this path, or an empty ID.
///
/// # Errors
/// Returns the runner's refusal, `Exhausted` or `Unavailable`.
pub async fn restore_quarantine(
    exchanges: &Exchanges,
    who: &Principal,
    runner: &RunnerId,
    session_id: SessionId,
    quarantine_id: String,
) -> Result<(Vec<u8>, String), ApiError> {
    let order = ExchangeOrder::Restore { session_id, quarantine_id };
    let mut exchange = exchanges.open(who, runner, order).await?;
    let restored = match exchange.hear().await {
        Ok(ExchangeFromRunner::Restored { path, replaced_id })
            if path.starts_with(b"/")
                && path.len() <= PATH_BYTES
                && (replaced_id.is_empty() || is_id(&replaced_id)) =>
        {
            Ok((path, replaced_id))
        }
        Ok(ExchangeFromRunner::Restored { .. }) => Err(exchange.misbehaved(Violation::BadEntry)),
        Ok(_) => Err(exchange.misbehaved(Violation::WrongKind)),
        Err(error) => Err(error),
    };
    exchange.settled(restored)
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= ID_BYTES && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn item_can_be(file: &QuarantinedFile) -> bool {
    let by_execution = file.execution_id.is_empty() || file.execution_id.parse::<ExecutionId>().is_ok();
    let reason = &file.reason;
    let named = reason.len() <= REASON_BYTES && reason.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'));
    is_id(&file.id) && can_be(&file.info) && named && by_execution
}
