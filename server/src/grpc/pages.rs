//! Pages of lists that fit into a message regardless of their entries.

use airlock_domain::limits::MESSAGE_BYTES;
use airlock_store::PageQuery;
use prost::Message;

/// Reports whether `answer`, the result for `page`, fits into a message. If not, halves `page` for a retry. A
/// single entry always fits.
pub(super) fn fits(answer: &impl Message, page: &mut PageQuery) -> bool {
    if page.size <= 1 || answer.encoded_len() <= MESSAGE_BYTES {
        return true;
    }
    page.size /= 2;
    false
}

#[cfg(test)]
mod tests {
    use airlock_proto::v1::{Execution, ExecutionServiceListResponse};

    use super::*;

    #[test]
    fn a_page_is_halved_until_it_fits() {
        let mut page = PageQuery { size: 100, token: None };
        let answer = loop {
            let entry = Execution { command: "0".repeat(100_000), ..Default::default() };
            let executions = vec![entry; page.size as usize];
            let answer = ExecutionServiceListResponse { executions, next_page_token: String::new() };
            if fits(&answer, &mut page) {
                break answer;
            }
        };
        assert_eq!(answer.executions.len(), 6);
    }
}
