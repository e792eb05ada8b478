//! One attempt, and whether it worked.

use std::io;

use nix::errno::Errno;
use serde::Serialize;

/// One attempt.
#[derive(Serialize)]
pub(crate) struct Attempt {
    /// A description of the attempt.
    pub(crate) way: String,
    /// Whether it worked.
    pub(crate) reached: bool,
    /// The observation or the answer; never the contents of a file.
    pub(crate) detail: String,
    /// The name of the error, if the operating system returned one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) errno: Option<String>,
}

impl Attempt {
    pub(crate) fn new(way: impl Into<String>, reached: bool, detail: impl Into<String>) -> Self {
        Self { way: way.into(), reached, detail: detail.into(), errno: None }
    }

    /// An attempt that worked if the call succeeded.
    pub(crate) fn of<T>(way: impl Into<String>, result: Result<T, impl Into<io::Error>>) -> Self {
        Self::past(way, result, |_| false)
    }

    /// An attempt that worked if the program exited successfully; otherwise its first message is the detail.
    pub(crate) fn program(way: impl Into<String>, result: io::Result<std::process::Output>) -> Self {
        Self::of(
            way,
            result.and_then(|output| {
                if output.status.success() {
                    return Ok(());
                }
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().next().unwrap_or_default();
                Err(io::Error::other(format!("{}, {said}", output.status)))
            }),
        )
    }

    /// An attempt that worked if the call succeeded, or if its error shows that the call was allowed.
    pub(crate) fn past<T>(
        way: impl Into<String>,
        result: Result<T, impl Into<io::Error>>,
        let_through: impl Fn(Errno) -> bool,
    ) -> Self {
        match result {
            Ok(_) => Self::new(way, true, "worked"),
            Err(error) => {
                let error = error.into();
                let errno = error.raw_os_error().map(Errno::from_raw);
                let errno_name = errno.map(|errno| format!("{errno:?}"));
                let way = Self::new(way, errno.is_some_and(let_through), error.to_string());
                Self { errno: errno_name, ..way }
            }
        }
    }
}
