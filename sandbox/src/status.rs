//! What bubblewrap says on its status descriptor: JSON documents, one a line.
//!
//! Comes from outside the sandbox, which is why it can be held against what
//! pid 1 reports.

use serde::Deserialize;

/// The most that is read of it, in bytes.
pub(crate) const MAX_STATUS: usize = 16 << 10;

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "exit-code")]
    exit_code: Option<i32>,
}

/// The exit code of pid 1, or `None` if bubblewrap did not say one.
pub(crate) fn exit_code(text: &[u8]) -> Option<i32> {
    serde_json::Deserializer::from_slice(text)
        .into_iter::<Line>()
        .filter_map(Result::ok)
        .find_map(|line| line.exit_code)
}

#[cfg(test)]
mod tests {
    use super::exit_code;

    #[test]
    fn the_code_is_found_among_other_documents() {
        let text = b"{ \"child-pid\": 7, \"ipc-namespace\": 4026532 }\n{ \"exit-code\": 3 }\n";
        assert_eq!(exit_code(text), Some(3));
    }

    #[test]
    fn without_a_code_there_is_none() {
        for text in [&b""[..], b"{ \"child-pid\": 7 }\n", b"{ \"exit-", b"nonsense"] {
            assert_eq!(exit_code(text), None);
        }
    }
}
