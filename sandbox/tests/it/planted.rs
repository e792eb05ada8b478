//! Tests of repositories and git drivers that a command plants for the next one. The next command does not use them, or
//! they have no effect. Each has a control, in which they are used and have an effect.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Command;

use airlock_sandbox::protect::{DIRECTORY, Found, GitUses, Guard, Writer};
use airlock_sandbox::{Cause, LaunchSpec, Session, WORKSPACE};

use crate::support::{Host, Output, PROBE, finish};

/// A session with watched protected names. In a control they are not watched.
struct Watched<'a> {
    host: &'a Host,
    session: Session,
    guard: Option<Guard>,
}

fn handle(path: &Path) -> OwnedFd {
    fs::File::open(path).unwrap().into()
}

impl<'a> Watched<'a> {
    fn new(host: &'a Host, is_watched: bool) -> Self {
        let session = host.session();
        let directory = session.directories.root.join(DIRECTORY);
        fs::create_dir(&directory).unwrap();
        let guard = is_watched.then(|| Guard::open(handle(&directory)).unwrap());
        Self { host, session, guard }
    }

    fn spec(&self, command: &str, directory: &str) -> LaunchSpec {
        LaunchSpec { cwd: Path::new(WORKSPACE).join(directory), ..self.host.spec(command) }
    }

    /// Runs a command with these uses of git in its decision.
    fn run(&mut self, git: &[&str], command: &str, directory: &str) -> (Output, Vec<Found>) {
        let mut spec = self.spec(command, directory);
        let workspace = handle(&self.session.directories.workspace);
        let writer = Writer {
            writes: true,
            git: GitUses::read(git),
            directory: directory.as_bytes().to_vec(),
            ..Writer::default()
        };
        let begun = self.guard.as_mut().map(|guard| guard.begin(workspace.as_fd(), writer).unwrap());
        if let Some(begun) = &begun {
            spec.masks.clone_from(&begun.masks);
        }
        let output = self.host.run(&self.session, &spec);
        let found = self
            .guard
            .as_mut()
            .zip(begun)
            .map(|(guard, begun)| guard.end(workspace.as_fd(), begun.id, &[directory.as_bytes()]));
        (output, found.unwrap_or_default())
    }

    /// Returns the repository that git would use in the directory if bare repositories were allowed.
    fn used(&mut self, directory: &str) -> Option<String> {
        let command = "git -c safe.bareRepository=all rev-parse --absolute-git-dir";
        let (output, _) = self.run(&["rev-parse"], command, directory);
        (output.ended.cause == Cause::Exited(0)).then(|| output.stdout.trim().to_owned())
    }
}

const DIRECTORIES: &str = "mkdir -p sub new/a/b; echo mine > file";

/// How the repository is planted, the directory in which git is used afterwards, and the commands that plant it.
const WAYS: [(&str, &str, &str); 14] = [
    ("by plain writes at the root", "", "mkdir objects refs; echo 'ref: refs/heads/x' > HEAD"),
    ("by plain writes", "sub", "cd sub; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD"),
    ("above the directory", "new/a/b", "cd new; mkdir objects refs; echo 'ref: refs/heads/x' > HEAD"),
    ("by a copy", "", "git init -q --bare /tmp/b; cp -r /tmp/b/. ."),
    ("by tar", "sub", "git init -q --bare /tmp/b; tar -C /tmp/b -cf - . | tar -C sub -xf -"),
    ("by mv of a nested one", "", "git init -q --bare n.git; mv n.git/* ."),
    ("by init --bare at the root", "", "git init -q --bare ."),
    ("by init --bare", "sub", "git init -q --bare sub"),
    ("by links to objects and refs", "", "git init -q --bare n; ln -s n/objects n/refs .; cp n/HEAD HEAD"),
    ("by a link as HEAD", "sub", "cd sub; mkdir objects refs; ln -s refs/heads/x HEAD"),
    ("by hard links", "", "git init -q --bare n; mkdir objects refs; ln n/HEAD HEAD"),
    ("by a commondir", "", "mkdir -p c/objects c/refs; echo c > commondir; echo 'ref: refs/heads/x' > HEAD"),
    ("by a commit as HEAD", "sub", "cd sub; mkdir objects refs; printf '%040d\n' 1 > HEAD"),
    ("by a link .git", "sub", "git init -q --bare n.git; ln -s ../n.git sub/.git"),
];

fn plant(ways: &[(&str, &str, &str)]) {
    let host = Host::new();
    for (name, directory, command) in ways {
        let mut control = Watched::new(&host, false);
        control.run(&[], DIRECTORIES, "");
        control.run(&[], command, "");
        assert!(control.used(directory).is_some(), "control: {name}");

        let mut watched = Watched::new(&host, true);
        watched.run(&[], DIRECTORIES, "");
        let (_, found) = watched.run(&[], command, "");
        let used = watched.used(directory);
        assert_eq!(used, None, "{name}: {found:?}");
        let kept = fs::read_to_string(watched.session.directories.workspace.join("file")).unwrap();
        assert_eq!(kept, "mine\n", "{name}");
    }
}

#[test]
fn a_program_planted_in_one_of_the_first_seven_ways_is_not_used() {
    plant(WAYS.get(..7).unwrap());
}

#[test]
fn a_program_planted_in_one_of_the_other_seven_ways_is_not_used() {
    plant(WAYS.get(7..).unwrap());
}

#[test]
fn a_repository_planted_in_pieces_is_not_used() {
    let host = Host::new();
    for is_watched in [false, true] {
        let mut session = Watched::new(&host, is_watched);
        for piece in ["mkdir objects", "mkdir refs", "echo 'ref: refs/heads/x' > HEAD"] {
            session.run(&[], piece, "");
        }
        assert_eq!(session.used("").is_none(), is_watched);
    }
    let mut session = Watched::new(&host, true);
    let (_, found) = session.run(&[], "git init -q n; mv n/.git .GIT; mkdir OBJECTS refs; touch head", "");
    assert_eq!(found, []);
    assert_eq!(session.used(""), None);
}

/// Creates a repository in which everything that can run a program runs `evil`, with a signed commit and a changed
/// file. `evil` writes to every writable directory, reports the files that it reaches, and works as a filter.
const DRIVERS: &str = r#"
export HOME=/tmp/none
cat > /tmp/evil <<'END'
#!/bin/bash
for folder in /workspace /home/agent /tmp; do echo "$1" 2>/dev/null >> $folder/ran; done
{ exec 9<>/dev/tcp/127.0.0.1/PORT && echo REACHED; } 2>/dev/null | tee -a /workspace/ran /var/tmp/ran 2>/dev/null >&2
case "$*" in *-bsau*) cat > /dev/null; printf '\n[GNUPG:] SIG_CREATED \n' >&2; echo '-----BEGIN PGP SIGNATURE-----'; echo; echo x; echo '-----END PGP SIGNATURE-----';; esac
[ "$1" = filter ] && cat
[ "$1" = textconv ] && cat "$2"
exit 0
END
chmod +x /tmp/evil; cp /tmp/evil .; cd /workspace; git init -q; git config user.name a; git config user.email a@b
printf 'a filter=f\nb diff=t\nc diff=d\n' > .gitattributes; echo 1 | tee a b > c
git config gpg.program /workspace/evil
git add -A; git commit -q -S -m one; echo 2 | tee a b > c
git config filter.f.clean '/workspace/evil filter'; git config diff.t.textconv '/workspace/evil textconv'
git config diff.d.command '/workspace/evil external'; git config core.fsmonitor '/workspace/evil fsmonitor'
git config log.showSignature true; git config core.pager '/workspace/evil pager'; git config alias.x '!/workspace/evil alias'
printf '#!/bin/sh\n/workspace/evil hook\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change
rm -f ran /home/agent/ran /tmp/ran; touch a
"#;

/// The commands that run each of them, with plain git.
const USES: [(&str, &str); 8] = [
    ("fsmonitor", "git status"),
    ("hook", "git update-index --refresh; git status"),
    ("filter", "git diff -- a; git status"),
    ("textconv", "git diff -- b; git log -p -- b; git show HEAD -- b; git blame b"),
    ("external", "git diff -- c; git log -p --ext-diff -- c"),
    ("--keyid-format=long", "git log -1; git show -s HEAD"),
    ("pager", "script -qec 'TERM=xterm git log' /dev/null"),
    ("alias", "git x"),
];

/// Returns every entry of a session's directories, with a digest that any changed byte would change.
fn bytes(session: &Session) -> String {
    let command = "find workspace home tmp -printf '%p %m %s %T@ %l\n' | sort; \
        find workspace home tmp -type f -exec sha256sum {} + | sort";
    let output =
        Command::new("sh").args(["-c", command]).current_dir(&session.directories.root).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn drivers_of_git_that_a_read_only_command_runs_change_no_byte_and_reach_nothing() {
    let host = Host::new();
    let without = "unset GIT_OPTIONAL_LOCKS GIT_CONFIG_COUNT GIT_PAGER PAGER; export HOME=/tmp/none; ";
    for (name, command) in USES {
        let session = host.session();
        let server = host.start(&session, &host.spec(format!("{PROBE} listen")));
        let mut line = [0; 64];
        let length = rustix::io::read(&server.streams.stdout, &mut line).unwrap();
        let address = String::from_utf8_lossy(&line[..length]).trim().to_owned();
        let (_, port) = address.split_once(':').unwrap();
        let made = host.run(&session, &host.spec(DRIVERS.replace("PORT", port)));
        assert_eq!(made.ended.cause, Cause::Exited(0), "{}", made.stdout);
        let before = bytes(&session);
        let output = host.run(&session, &host.read_only_spec(format!("{command}; cat /var/tmp/ran")));
        assert_eq!(bytes(&session), before, "{name}");
        assert!(!output.stdout.contains("REACHED"), "{name}: {}", output.stdout);

        let control = host.run(&session, &host.spec(format!("{without} {command}")));
        let ran = fs::read_to_string(session.directories.workspace.join("ran")).unwrap_or_default();
        assert!(ran.lines().any(|line| line == name), "control: {name}: {ran} {}", control.stdout);
        assert!(ran.contains("REACHED"), "control: {name}: {ran}");
        server.control.kill();
        finish(server);
    }
}

/// Uses of git, with the matching entries of the grant.
const AS_ALWAYS: [(&[&str], &str); 11] = [
    (&["init /workspace"], "git init -q -b main ."),
    (&["add", "commit"], "echo a > a; git add a; git commit -qm one"),
    (&["clone /workspace/clone"], "git clone -q . clone"),
    (&["worktree add /workspace/tree"], "git worktree add -q tree"),
    (&["init --bare /workspace/sub/x.git"], "git init -q --bare -b main sub/x.git"),
    (&["push", "remote"], "git remote add x sub/x.git; git push -q x HEAD:main"),
    (&["submodule add /workspace/lib"], "git submodule --quiet add ./sub/x.git lib; git commit -qm lib"),
    (
        &["commit", "rebase", "switch"],
        "git switch -qc b; echo b > b; git add b; git commit -qm b; git switch -q main; echo c > c; git add c; \
         git commit -qm c; git switch -q b; git rebase -q main",
    ),
    (&["stash push", "stash pop"], "echo c > a; git stash -q; git stash pop -q; git checkout -q a"),
    (&["worktree add", "worktree remove"], "git worktree add -q other; git worktree remove other"),
    (&["clone"], "git clone -q --recurse-submodules . \"$(echo else)\""),
];

/// Prints the state of repositories after such a use.
const SEEN: &str = "for at in . clone tree lib else else/lib sub/x.git; do \
    git -C $at log --all --format='%H %s' || echo no $at; git -C $at status -sb 2>/dev/null; done; \
    git fsck --strict 2>&1; git worktree list; git submodule status --recursive; \
    find . -name hooks -prune -o -name .git -print -o -name config -print | sort; cat .gitmodules .git/config";

#[test]
fn git_works_as_always() {
    let host = Host::new();
    let identity = "export HOME=/tmp GIT_AUTHOR_DATE='@1700000000 +0000' GIT_COMMITTER_DATE='@1700000000 +0000'; \
        git config --global user.name a; git config --global user.email a@b; \
        git config --global protocol.file.allow always; ";
    let seen = [true, false].map(|is_watched| {
        let mut session = Watched::new(&host, is_watched);
        for (git, command) in AS_ALWAYS {
            let (output, found) = session.run(git, &format!("set -e; {identity} {command}"), "");
            assert_eq!(output.ended.cause, Cause::Exited(0), "{command}: {}", output.stdout);
            let is_gitmodules =
                |found: &Found| (found.kind, found.path.as_deref()) == ("created", Some(&b".gitmodules"[..]));
            assert!(found.iter().all(is_gitmodules), "{command}: {found:?}");
            assert_eq!(
                found.len(),
                usize::from(is_watched && git.contains(&"submodule add /workspace/lib")),
                "{command}"
            );
        }
        session.run(&["log"], &format!("{identity} {SEEN}"), "").0.stdout
    });
    assert_eq!(seen[0], seen[1], "without the protection");
    assert_eq!(seen[0].matches(" one\n").count(), 6, "{}", seen[0]);
}
