//! Tests of repositories that a command creates, in every way and place, with planted programs. The repositories
//! work, and a command with masks runs none of the programs. Each has a control, in which all of them run.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use airlock_sandbox::protect::{DIRECTORY, Found, Grounds, Guard, Outcome, Planted, Use, Writer, planted};
use airlock_sandbox::{Cause, LaunchSpec, Session};

use crate::support::{Host, Output};

fn handle(path: &Path) -> OwnedFd {
    fs::File::open(path).unwrap().into()
}

struct Watched<'a> {
    host: &'a Host,
    session: Session,
    guard: Guard,
}

impl<'a> Watched<'a> {
    fn new(host: &'a Host) -> Self {
        let session = host.session();
        let directory = session.directories.root.join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        Self { host, session, guard: Guard::open(handle(&directory)).unwrap() }
    }

    /// Runs a command that could write, without any use of git in its decision.
    fn run(&mut self, command: &str) -> (Output, Vec<Found>) {
        let workspace = handle(&self.session.directories.workspace);
        let writer = Writer { writes: true, ..Writer::default() };
        let begun = self.guard.begin(workspace.as_fd(), writer).unwrap();
        let spec = LaunchSpec { masks: begun.masks, ..self.host.spec(command) };
        let output = self.host.run(&self.session, &spec);
        assert_eq!(output.ended.cause, Cause::Exited(0), "{command}: {}", output.stdout);
        (output, self.guard.end(workspace.as_fd(), begun.id, &[b""]))
    }

    fn planted(&self, place: &str) -> Planted {
        let workspace = handle(&self.session.directories.workspace);
        let suspects = self.guard.suspects(workspace.as_fd(), true).unwrap().unwrap();
        let paths = [PathBuf::from(place)];
        let command = Use { paths: &paths, rebases: false, outside: false };
        let grounds = Grounds::open(&self.session.directories, &self.host.profile).unwrap();
        planted(&grounds, &suspects, command).unwrap()
    }

    /// Runs a command with masks for the planted programs. Returns its output.
    fn held(&self, spec: LaunchSpec, place: &str) -> String {
        let found = self.planted(place);
        assert_eq!(found.open, None);
        let output = self.host.run(&self.session, &LaunchSpec { masks: found.masks(), ..spec });
        assert_eq!(output.ended.cause, Cause::Exited(0), "{}", output.stdout);
        output.stdout
    }
}

/// Creates a repository to clone from, and the programs.
const SOURCE: &str = r#"
cat > evil <<'END'
#!/bin/sh
for folder in /workspace /var/tmp; do echo "$1" >> $folder/ran; done 2>/dev/null
case "$1" in filter) cat;; textconv) cat "$2";; esac
exit 0
END
printf '#!/bin/sh\nexec /workspace/evil hook\n' > hook; printf '#!/bin/sh\nexec /workspace/evil signer\n' > signer
chmod +x evil hook signer
git init -q -b main source; cd source
echo 1 | tee a b > c
printf 'a filter=f\nb diff=t\nc diff=d\n' > .gitattributes; git add -A; git commit -qm first
"#;
const IDENTITY: &str = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b \
    GIT_TERMINAL_PROMPT=0; ";

/// The path of a repository, and the command that creates it.
const MADE: [(&str, &str); 12] = [
    ("/workspace/c", "git clone -q source c"),
    (
        "/workspace/c",
        "/usr/bin/python3 -c \"import subprocess; subprocess.run(['git','clone','-q','source','c'], check=True)\"",
    ),
    (
        "/workspace/c",
        "/usr/bin/perl -e 'system(qw(git init -q c)) and die' && cd c && cp -r ../source/* \
      ../source/.gitattributes . && git add -A && git commit -qm first",
    ),
    ("/workspace", "cp -r source/. . && git checkout -q ."),
    ("/workspace/c", "cp -r source x && tar -cf - -C x . | (mkdir c && tar -xf - -C c); rm -rf x"),
    ("/workspace/c", "git clone -q source d && git -C d worktree add -q ../c"),
    ("/workspace/c", "git clone -q --separate-git-dir=else source c"),
    (
        "/workspace/source/sub",
        "git -C source -c protocol.file.allow=always submodule --quiet add /workspace/source sub",
    ),
    ("/workspace/c", "git clone -q --separate-git-dir=/tmp/else source c"),
    (
        "/workspace/c",
        "git clone -q --separate-git-dir=/home/agent/else source c; ln -s /home/agent /tmp/way; \
      echo 'gitdir: /tmp/way/else' > c/.git",
    ),
    ("/tmp/x/c", "mkdir /tmp/x && git clone -q source /tmp/x/c"),
    ("/home/agent/c", "git clone -q source ~/c"),
];

/// Plants programs in the repository, in the same command.
const PLANT: &str = r#"
set -e; at=$(git rev-parse --git-common-dir); evil=/workspace/evil
mkdir -p $at/hooks; cp /workspace/hook $at/hooks/pre-commit
ln -s /workspace/hook $at/hooks/post-index-change
git config core.fsmonitor "$evil fsmonitor"
git config filter.f.clean "$evil filter"; git config diff.t.textconv "$evil textconv"
git config diff.d.command "$evil external"; git config alias.look "!$evil alias"
git config credential.helper "!$evil credential"; git config gpg.program /workspace/signer
printf '[alias]\n\tincluded = !/workspace/evil included\n' > /workspace/more; git config include.path /workspace/more
git config extensions.worktreeConfig true; git config --worktree core.sshCommand "$evil ssh"
"#;

/// Runs each of the programs.
const USES: &str = r#"
for one in a b c; do echo 2 >> $one; done 2>/dev/null
for words in status diff 'log -p -1' look included 'ls-remote ssh://h/p' 'update-index --refresh'; do
    git $words; done > /dev/null 2>&1 < /dev/null
printf 'protocol=https\nhost=h\n\n' | git credential fill > /dev/null 2>&1
"#;
const COMMITS: &str =
    "git commit -q -S --allow-empty -m signed >/dev/null 2>&1; git commit -q --allow-empty -m second; ";
const RAN: &str = "sort -u /var/tmp/ran 2>/dev/null; git log --format=%s; true";
const ALL: [&str; 10] = [
    "alias",
    "credential",
    "external",
    "filter",
    "fsmonitor",
    "hook",
    "included",
    "signer",
    "ssh",
    "textconv",
];

fn works_and_runs_nothing(of: &[(&str, &str)]) {
    let host = Host::new();
    for (place, make) in of {
        let mut watched = Watched::new(&host);
        watched.run(&format!("{IDENTITY}{SOURCE}"));
        let (_, found) = watched
            .run(&format!("set -e; {IDENTITY}{make}; cd {place}; {PLANT} cat /dev/null > /var/tmp/ran"));
        assert!(found.iter().all(|found| found.outcome == Outcome::Reported), "{make}: {found:?}");

        let command = format!("cd {place}; {IDENTITY}{USES} {RAN}");
        assert_eq!(
            watched.held(host.read_only_spec(&command), place),
            "first\n",
            "{make}: a command that reads"
        );
        let command = format!("cd {place}; {IDENTITY}{USES} {COMMITS} {RAN}");
        let said = watched.held(host.spec(&command), place);
        assert_eq!(said, "second\nfirst\n", "{make}: a command that writes");

        let (control, _) = watched.run(&format!("cd {place}; {IDENTITY}{USES} {COMMITS} {RAN}"));
        let ran: Vec<_> = control.stdout.lines().filter(|line| ALL.contains(line)).collect();
        assert_eq!(ran, ALL, "{make}: control: {}", control.stdout);
    }
}

#[test]
fn repositories_that_are_cloned_or_copied_work_and_run_nothing_that_was_planted() {
    works_and_runs_nothing(MADE.get(..5).unwrap());
}

#[test]
fn repositories_of_worktrees_and_submodules_and_elsewhere_work_and_run_nothing_that_was_planted() {
    works_and_runs_nothing(MADE.get(5..).unwrap());
}

#[test]
fn a_command_does_not_get_around_what_is_laid_over_a_repository() {
    let host = Host::new();
    let mut watched = Watched::new(&host);
    watched.run(&format!("{IDENTITY}{SOURCE} cd /workspace; git clone -q source c; cd c; {PLANT}"));
    for attack in [
        "rm -rf .git/hooks",
        "mv .git/hooks x",
        "cp ../hook .git/hooks/pre-commit",
        "rm .git/config",
        "mv .git/config x",
        "echo > .git/config",
        "chmod 777 .git/hooks .git/config",
        "umount /workspace/c/.git/config",
        "mount --bind ../hook .git/config",
    ] {
        let command = format!(
            "cd c; {{ {attack}; }} 2>/dev/null && echo done; rm -f /tmp/ran; {IDENTITY}{COMMITS} {RAN}"
        );
        let said = watched.held(host.spec(&command), "/workspace/c");
        assert!(
            !said.contains("done") && !said.contains("hook") && said.contains("second"),
            "{attack}: {said}"
        );
    }
}
