//! Page tokens: where a page of a list ended, bound to the query that it answered.
//!
//! Lists are ordered by id, so a token holds the last id given out; rows that are added meanwhile
//! neither shift nor double an entry. A token opens nothing: it only moves its bearer within a list
//! that the query lets it see anyway.

use std::{fmt::Debug, str::FromStr};

use airlock_proto::limits::{PAGE_SIZE_MAX, PAGE_TOKEN_BYTES};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::{PageQuery, StoreError};

/// Of one page's entries, roughly: a page that would be larger ends early.
pub(super) const PAGE_BYTES: usize = 4 << 20;

const VERSION: u8 = 1;
/// Of the hash of a query in a token.
pub(crate) const QUERY_BYTES: usize = 8;

/// How many entries a page may have.
pub(crate) fn size(page: &PageQuery) -> usize {
    page.size.clamp(1, PAGE_SIZE_MAX.unsigned_abs()) as usize
}

/// The token of a page of `query` that ended with `last`.
pub(crate) fn token(query: &impl Debug, last: &impl ToString) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&digest(query));
    bytes.extend_from_slice(last.to_string().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The last id of the page before, if there was one.
///
/// # Errors
/// [`StoreError::BadPageToken`] for anything that [`token`] did not make for the same query.
pub(crate) fn after<I: FromStr>(query: &impl Debug, page: &PageQuery) -> Result<Option<I>, StoreError> {
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

/// The debug form will do: a token need not outlive a release.
pub(crate) fn digest(query: &impl Debug) -> [u8; QUERY_BYTES] {
    let digest = Sha256::digest(format!("{query:?}"));
    let mut short = [0; QUERY_BYTES];
    short.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
    short
}
