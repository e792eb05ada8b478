//! Page tokens: the end of a page, bound to its query.
//!
//! Lists are ordered by ID, and a token holds the last returned ID. Rows that are added meanwhile neither shift nor
//! duplicate an entry. A token grants no access. It only selects a position in a list to which the caller already has
//! access.

use std::{fmt::Debug, str::FromStr};

use airlock_domain::limits::{PAGE_SIZE_MAX, PAGE_TOKEN_BYTES};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{PageQuery, StoreError};

/// The approximate size limit of a page in bytes. A page that would be larger ends early.
pub(crate) const PAGE_BYTES: usize = 4 << 20;

const VERSION: u8 = 1;
/// The length of the query's hash in a token, in bytes.
pub const QUERY_BYTES: usize = 8;

/// Returns the maximum number of entries of a page.
#[must_use]
pub fn size(page: &PageQuery) -> usize {
    page.size.clamp(1, PAGE_SIZE_MAX.unsigned_abs()) as usize
}

/// Returns the token of a page of `query` that ended with `last`.
#[must_use]
pub fn token(query: &impl Debug, last: &impl ToString) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&digest(query));
    bytes.extend_from_slice(last.to_string().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the last ID of the previous page, if there was one.
///
/// # Errors
/// [`StoreError::BadPageToken`] for a text that [`token`] did not create for the same query.
pub fn after<I: FromStr>(query: &impl Debug, page: &PageQuery) -> Result<Option<I>, StoreError> {
    page.token.as_deref().map(|token| read(query, token).ok_or(StoreError::BadPageToken)).transpose()
}

fn read<I: FromStr>(query: &impl Debug, token: &str) -> Option<I> {
    if token.len() > PAGE_TOKEN_BYTES {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (&version, rest) = bytes.split_first()?;
    let (bound, last) = rest.split_first_chunk::<QUERY_BYTES>()?;
    if version != VERSION || *bound != digest(query) {
        return None;
    }
    std::str::from_utf8(last).ok()?.parse().ok()
}

/// Returns the hash of a query. It uses the debug format, because a token need not stay valid
/// across releases.
#[must_use]
pub fn digest(query: &impl Debug) -> [u8; QUERY_BYTES] {
    let digest = Sha256::digest(format!("{query:?}"));
    let mut short = [0; QUERY_BYTES];
    short.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    short
}
