//! The state of the files that an approval is bound to: programs and scripts that commands of the session can write.
//! They are read when an approval is requested, and again before the start.
//!
//! Only the session's own directories count. No command can write to the targets of links that lead out of them.

use airlock_domain::{
    BoundFile, FileState, Grant, Requirement,
    limits::{BOUND_FILE_BYTES, BOUND_FILES_BYTES},
};
use airlock_sandbox::SessionDirectories;

use super::view::View;
use crate::{
    files::{as_session, shown},
    floor::Refusal,
};

/// The reason of a refusal that allows a new approval.
const CHANGED: &str = "files_changed";

/// Reads the files at these paths. Blocks while it reads at most [`BOUND_FILES_BYTES`], or until `is_over` returns
/// true. Files that were not read by then have an unknown state.
pub(crate) fn look(
    paths: Vec<Vec<u8>>,
    directories: &SessionDirectories,
    owner: Option<(u32, u32)>,
    is_over: &dyn Fn() -> bool,
) -> Vec<BoundFile> {
    if paths.is_empty() {
        return Vec::new();
    }
    // Opened with the runner's rights, which are needed to open the directories.
    let view = View::of_session(directories);
    let states = as_session(owner, || {
        let mut left = BOUND_FILES_BYTES;
        let mut state = |path: &Vec<u8>| {
            let (state, read) = view.contents(path, BOUND_FILE_BYTES.min(left), is_over);
            left = left.saturating_sub(read);
            if is_over() { FileState::Unknown } else { state }
        };
        paths.iter().map(&mut state).collect::<Vec<_>>()
    });
    let states = states.unwrap_or_else(|error| {
        tracing::error!(%error, "the files of an approval cannot be checked");
        vec![FileState::Unknown; paths.len()]
    });
    paths.into_iter().zip(states).map(|(path, state)| BoundFile { path, state }).collect()
}

/// Reports whether the contents of files matter to a grant: an approval is bound to them, or its refusal may cause a
/// new approval.
pub(crate) fn matter(grant: &Grant) -> bool {
    let files = &grant.decided.files;
    let is_bound = files.iter().any(|file| file.state != FileState::Any);
    is_bound || !files.is_empty() && grant.requires.contains(&Requirement::TrustedPath)
}

/// Refuses a grant if its files differ from the approved ones.
pub(crate) fn check(grant: &Grant, found: &[BoundFile]) -> Result<(), Refusal> {
    let is_same = |wanted: &BoundFile| match wanted.state {
        FileState::Any => true,
        FileState::Unknown => false,
        state => found.iter().any(|file| file.path == wanted.path && file.state == state),
    };
    let Some(changed) = grant.decided.files.iter().find(|wanted| !is_same(wanted)) else {
        return Ok(());
    };
    let path = shown(&changed.path);
    let message = match changed.state {
        FileState::Unknown => format!("the file `{path}` could not be read when the command was approved"),
        _ => format!("the file `{path}` has changed since the command was approved"),
    };
    Err(Refusal::new(CHANGED, message))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use airlock_domain::Decided;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::{floor::tests::grant, trust::fixture::Session};

    impl Session {
        fn look(&self, paths: Vec<Vec<u8>>) -> Vec<BoundFile> {
            look(paths, &self.directories(), None, &|| false)
        }

        fn state(&self, path: &str) -> FileState {
            self.look(vec![path.into()])[0].state
        }

        fn grant(&self, path: &str) -> Grant {
            let files = self.look(vec![path.into()]);
            Grant { decided: Decided { files, ..Decided::default() }, ..grant() }
        }

        fn runs(&self, grant: &Grant) -> bool {
            let paths = grant.decided.files.iter().map(|file| file.path.clone()).collect();
            check(grant, &self.look(paths)).is_ok()
        }
    }

    fn digest(text: &str) -> FileState {
        FileState::Digest(Sha256::digest(text).into())
    }

    #[test]
    fn a_file_is_what_it_holds_wherever_its_path_leads_in_the_session() {
        let session = Session::new();
        session.write("workspace/x.sh", "one");
        session.link("../x.sh", "workspace/sub/relative");
        session.link("/workspace/x.sh", "tmp/absolute");
        for path in ["/workspace/x.sh", "/workspace/sub/relative", "/tmp/absolute", "/workspace/sub/../x.sh"]
        {
            assert_eq!(session.state(path), digest("one"), "{path}");
        }
        session.write("workspace/empty", "");
        assert_eq!(session.state("/workspace/empty"), digest(""));
    }

    #[test]
    fn what_holds_nothing_is_told_apart() {
        let session = Session::new();
        session.link("/etc/passwd", "workspace/out");
        session.link("loop", "workspace/loop");
        session.link("nothing", "workspace/dangling");
        let pipe = session.path("workspace/pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let big = fs::File::create(session.path("workspace/big")).unwrap();
        big.set_len(BOUND_FILE_BYTES + 1).unwrap();
        for (path, expected) in [
            ("/workspace/none", FileState::Absent),
            ("/workspace/none/deep", FileState::Absent),
            ("/workspace/dangling", FileState::Absent),
            ("/workspace/sub", FileState::Other),
            ("/workspace/pipe", FileState::Other),
            ("/workspace/out", FileState::Other),
            ("/workspace/loop", FileState::Other),
            ("/usr/bin/env", FileState::Other),
            ("/proc/self/exe", FileState::Other),
            ("/workspace/big", FileState::TooLarge),
        ] {
            assert_eq!(session.state(path), expected, "{path}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_opened_is_not_taken_for_an_empty_one() {
        let session = Session::new();
        session.write("workspace/x.sh", "one");
        fs::rename(session.path("workspace"), session.path("elsewhere")).unwrap();
        assert_eq!(session.state("/workspace/x.sh"), FileState::Unknown);
    }

    #[test]
    fn what_was_approved_runs_while_it_stays_and_once_it_is_back() {
        let session = Session::new();
        session.write("workspace/x.sh", "one");
        let approved = session.grant("/workspace/x.sh");
        assert!(session.runs(&approved));
        session.write("workspace/x.sh", "two");
        assert!(!session.runs(&approved), "changed");
        fs::remove_file(session.path("workspace/x.sh")).unwrap();
        assert!(!session.runs(&approved), "removed");
        session.write("workspace/other", "evil");
        session.link("other", "workspace/x.sh");
        assert!(!session.runs(&approved), "a link to something else");
        session.write("workspace/other", "one");
        assert!(session.runs(&approved), "the same contents");

        let nothing = session.grant("/workspace/later");
        assert!(session.runs(&nothing));
        session.write("workspace/later", "evil");
        assert!(!session.runs(&nothing), "created after the question");
    }

    #[test]
    fn what_nobody_saw_does_not_run_and_what_does_not_matter_does() {
        let session = Session::new();
        session.write("workspace/x.sh", "one");
        for (state, runs) in [(FileState::Unknown, false), (FileState::Any, true)] {
            let files = vec![BoundFile { path: b"/workspace/x.sh".to_vec(), state }];
            let grant = Grant { decided: Decided { files, ..Decided::default() }, ..grant() };
            assert_eq!(session.runs(&grant), runs, "{state:?}");
        }
    }

    #[test]
    fn all_files_of_a_command_together_are_bounded() {
        let session = Session::new();
        let each = BOUND_FILE_BYTES;
        let count = BOUND_FILES_BYTES / each + 1;
        let paths = (0..count).map(|index| format!("/workspace/{index}").into_bytes()).collect::<Vec<_>>();
        for index in 0..count {
            let file = fs::File::create(session.path(&format!("workspace/{index}"))).unwrap();
            file.set_len(each).unwrap();
        }
        let found = session.look(paths);
        assert!(found[0].state.digest().is_some());
        assert_eq!(found.last().unwrap().state, FileState::TooLarge);
    }

    #[test]
    fn what_was_not_read_to_its_end_is_unknown() {
        let session = Session::new();
        for name in ["one", "two"] {
            session.write(&format!("workspace/{name}"), &name.repeat(1 << 20));
        }
        let paths = vec![b"/workspace/one".to_vec(), b"/workspace/two".to_vec()];
        let reads = std::cell::Cell::new(0_u32);
        let is_over = || reads.replace(reads.get() + 1) > 2;
        let found = look(paths, &session.directories(), None, &is_over);
        assert!(found.iter().all(|file| file.state == FileState::Unknown), "{found:?}");
        assert!(reads.get() < 10, "it was not read on: {}", reads.get());
    }
}
