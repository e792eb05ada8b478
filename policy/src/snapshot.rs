//! The session's shell snapshot: the meaning that its aliases and functions give to names. The text
//! is parsed here; claims of a shell about itself are not trusted. If any part is not understood,
//! every name is unknown.

mod expand;
mod powershell;
mod read;
mod zsh;

pub(crate) use expand::Expanded;
pub use read::Snapshot;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Profile, Request, decide};

    #[test]
    fn what_only_reads_by_an_alias_gets_the_alias() {
        let snapshot = Snapshot::parse(b"# PATH=/usr/bin\nalias hi='echo hello'\nalias ls='touch'\n");
        let profile = Profile::builtin("sandboxed").unwrap();
        let reads = |text: &str| {
            let request = Request { snapshot: Some(&snapshot), ..Request::bash(text.as_bytes()) };
            decide(&request, &profile).read_only
        };
        assert!(!reads("hi there"), "without the alias, the name is another program");
        assert!(!reads("ls x"), "with the alias, the name is a program that writes");
        assert!(reads("cat x"), "the control");
    }
}
