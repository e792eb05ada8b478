//! Single system calls, asked bare.

use std::ffi::OsStr;

use airlock_init::sys::bare_call;
use nix::errno::Errno;

use crate::Way;

/// One system call with arguments on which nothing can act. Any answer but a
/// refusal is about those arguments: the call was let through.
pub(crate) fn bare(name: &OsStr) -> Vec<Way> {
    let name = name.to_string_lossy();
    match bare_call(&name) {
        Some(result) => vec![Way::past(name, result, |errno| !matches!(errno, Errno::ENOSYS | Errno::EPERM))],
        None => vec![Way::new(name, true, "not a call that is known here, so not seen to be refused")],
    }
}
