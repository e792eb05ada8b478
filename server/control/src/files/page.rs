//! Page tokens of listings and comparisons: the last path or ID of a page, bound to the request. A token
//! grants no access: it only moves the position within a list that the caller may read.

use std::fmt::Debug;

use airlock_domain::{FileInfo, limits::PATH_BYTES};
use airlock_store::{StoreError, page};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::api::ApiError;

const VERSION: u8 = 1;
/// The maximum length of a token in bytes.
pub const TOKEN_BYTES: usize = (1 + page::QUERY_BYTES + PATH_BYTES).div_ceil(3) * 4;

/// Creates the token of a page of `request` that ended with `last`.
pub(super) fn token(request: &impl Debug, last: &[u8]) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&page::digest(request));
    bytes.extend_from_slice(last);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the last path of the previous page.
///
/// # Errors
/// Returns `Invalid` if [`token`] did not create the token for the same request.
pub(super) fn after(request: &impl Debug, token: &str) -> Result<Vec<u8>, ApiError> {
    let is_path = |last: &[u8]| last.starts_with(b"/") && last.len() <= PATH_BYTES && !last.contains(&0);
    last(request, token, is_path)
}

/// Returns the last key of the previous page if `can_be` accepts it.
///
/// # Errors
/// See [`after`].
pub(super) fn last(
    request: &impl Debug,
    token: &str,
    can_be: impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, ApiError> {
    read(request, token).filter(|last| can_be(last)).ok_or_else(|| StoreError::BadPageToken.into())
}

fn read(request: &impl Debug, token: &str) -> Option<Vec<u8>> {
    if token.len() > TOKEN_BYTES {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(token).ok()?;
    let (&version, rest) = bytes.split_first()?;
    let (bound, last) = rest.split_first_chunk::<{ page::QUERY_BYTES }>()?;
    (version == VERSION && *bound == page::digest(request)).then(|| last.to_vec())
}

/// Reports whether the runner's description of a file is valid.
pub(super) fn can_be(info: &FileInfo) -> bool {
    let is_path = info.path.starts_with(b"/") && info.path.len() <= PATH_BYTES && !info.path.contains(&0);
    is_path && info.link_target.len() <= PATH_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_moves_within_its_own_request_alone() {
        let last = b"/workspace/\xff\n";
        let made = token(&"one", last);
        assert_eq!(after(&"one", &made).unwrap(), last);
        assert!(after(&"another", &made).is_err());
        for bad in ["", "x", "====", &"A".repeat(TOKEN_BYTES + 1), &token(&"one", b"relative")] {
            assert!(matches!(after(&"one", bad), Err(ApiError::Invalid(_))), "{bad}");
        }
    }

    #[test]
    fn the_longest_path_has_a_token() {
        let mut last = vec![b'a'; PATH_BYTES];
        last[0] = b'/';
        let made = token(&"one", &last);
        assert!(made.len() <= TOKEN_BYTES);
        assert_eq!(after(&"one", &made).unwrap(), last);
    }
}
