//! Parses bubblewrap's status descriptor: JSON documents, one per line.
//!
//! The status comes from outside the sandbox. It can therefore be compared with the report of process 1.

use std::os::fd::BorrowedFd;

use rustix::io::Errno;
use serde::Deserialize;

/// The maximum number of bytes that are read.
const MAX_STATUS: usize = 16 << 10;

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "exit-code")]
    exit_code: Option<i32>,
}

/// Returns the exit code of process 1, or `None` if bubblewrap did not report one.
pub(crate) fn exit_code(text: &[u8]) -> Option<i32> {
    serde_json::Deserializer::from_slice(text)
        .into_iter::<Line>()
        .filter_map(Result::ok)
        .find_map(|line| line.exit_code)
}

/// Returns the contents of a pipe with a closed writing end, up to a limit.
pub(crate) fn read_rest(fd: BorrowedFd<'_>) -> Vec<u8> {
    let mut text = vec![0; MAX_STATUS];
    let mut used = 0;
    while let Some(free) = text.get_mut(used..).filter(|free| !free.is_empty()) {
        match rustix::io::read(fd, free) {
            Ok(0) => break,
            Ok(got) => used += got,
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    text.truncate(used);
    text
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
