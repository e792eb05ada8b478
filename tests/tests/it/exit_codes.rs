//! Tests of the meanings of exit codes with real programs: each command runs through server, runner and
//! sandbox, and its exit code has the expected meaning.

use std::collections::BTreeSet;

use airlock_client::v1;
use airlock_tests::{
    reader::{exit_code, run, spec_in},
    site::Site,
};

/// A command, its exit code, and the expected meaning.
type Row = (&'static str, i32, &'static str);

/// Answers, which are not failures.
const ANSWERS: &[Row] = &[
    ("grep x /dev/null", 1, "grep: no line matched"),
    ("egrep x /dev/null", 1, "egrep: no line matched"),
    ("fgrep x /dev/null", 1, "fgrep: no line matched"),
    ("rg nothing a.txt", 1, "rg: no line matched"),
    ("ag nothing a.txt", 1, "ag: no line matched"),
    ("diff a.txt b.txt", 1, "diff: the files differ"),
    ("cmp a.txt b.txt", 1, "cmp: the files differ"),
    ("test -e nowhere", 1, "test: the condition is false"),
    ("[ a = b ]", 1, "[: the condition is false"),
    ("expr 1 - 1", 1, "expr: the value is empty or 0"),
    ("which nosuchprogram", 1, "which: one of the names was not found"),
    ("type nosuchprogram", 1, "type: the name was not found"),
    ("command -v nosuchprogram", 1, "command: the name was not found"),
    ("pgrep nosuchprogram", 1, "pgrep: no process matched"),
    ("getent passwd nobodyofthisname", 2, "getent: one of the keys was not found"),
    ("false", 1, "false: always returns this code"),
    ("read x </dev/null", 1, "read: the end of the input was reached"),
    ("git -C repo diff --exit-code", 1, "git diff: the files differ"),
    ("git -C repo grep nothinglikethis", 1, "git grep: no line matched"),
    ("git -C repo config --get no.such", 1, "git config: there is no such setting"),
    ("git -C repo check-ignore a", 1, "git check-ignore: none of the paths is ignored"),
    (
        "git -C repo merge-base --is-ancestor HEAD HEAD~1",
        1,
        "git merge-base: there is no common ancestor, or the commit is not an ancestor",
    ),
    ("git -C repo show-ref nosuchref", 1, "git show-ref: there is no such ref"),
    ("printf 'b\\na\\n' | sort -c", 1, "sort: the input is not sorted"),
    ("echo false | jq -e .", 1, "jq: the last value is false or null"),
    ("make -f Q -q x", 1, "make: something is not up to date"),
];

/// Failures with a meaning of the program.
const FAILURES: &[Row] = &[
    ("grep x nowhere", 2, "grep: an error, such as a file that cannot be read or a bad pattern"),
    ("diff nowhere b.txt", 2, "diff: the files could not be compared"),
    ("test 1 -eq x", 2, "test: the condition could not be evaluated"),
    ("expr 1 +", 2, "expr: the expression is not valid"),
    ("find nowhere", 1, "find: part of the tree could not be searched, or a command it ran failed"),
    ("fdfind --quiet nothinglikethis", 1, "fdfind: nothing was found with --quiet, or an error"),
    ("comm --check-order unsorted a.txt", 1, "comm: a file could not be read, or was not sorted"),
    ("pgrep --nosuchoption", 2, "pgrep: a mistake in the options"),
    ("getent nosuchdatabase", 1, "getent: an argument is missing, or the database is not known"),
    ("curl --nosuchoption", 2, "curl: a mistake in the options"),
    ("curl -s http://", 3, "curl: the URL is malformed"),
    ("curl -s http://nosuchhost.invalid/", 6, "curl: the host's name could not be resolved"),
    ("curl -s http://127.0.0.1:1/", 7, "curl: the connection was refused or failed"),
    ("curl -s file:///nowhere", 37, "curl: the file could not be read"),
    ("curl -s nosuch://x/", 1, "curl: the protocol is not supported"),
    ("git -C repo frobnicate-nosuch", 1, ""),
    ("git log", 128, "git: a fatal error"),
    ("git -C repo log --nosuchoption", 128, "git: a fatal error"),
    ("git -C repo status --nosuchoption", 129, "git: a mistake in the options"),
    ("git -C repo commit -m nothing", 1, "git commit: there was nothing to commit, or a hook refused it"),
    ("echo x | git -C repo apply", 128, "git apply: a fatal error"),
    ("git -C repo apply ../other.patch", 1, "git apply: the patch does not apply"),
    ("patch -f -s a.txt other.patch", 1, "patch: some hunks did not apply"),
    ("ls nowhere", 2, "ls: a name on the command line could not be read"),
    ("sort nowhere", 2, "sort: an error"),
    ("sed -n p nowhere", 2, "sed: a file could not be read"),
    ("sed nosuchcommand a.txt", 1, "sed: the script or an option is not valid"),
    (
        "gawk 1 nowhere",
        2,
        "gawk: a fatal error, such as a file that cannot be read or a mistake in the program",
    ),
    (
        "mawk 1 nowhere",
        2,
        "mawk: a fatal error, such as a file that cannot be read or a mistake in the program",
    ),
    ("jq 'nosuchfunction' a.txt", 3, "jq: the program does not compile"),
    ("echo 1 | jq -e empty", 4, "jq: there was no valid value"),
    ("jq . nowhere", 2, "jq: a mistake in the options, or a file cannot be read"),
    ("echo a | xargs false", 123, "xargs: a command it ran failed"),
    ("echo a | xargs nosuchprogram", 127, "xargs: the command was not found"),
    ("timeout 0.1 sleep 5", 124, "timeout: the time limit was reached; or another command failed"),
    (
        "timeout 600 grep x a.nowhere",
        2,
        "grep: an error, such as a file that cannot be read or a bad pattern",
    ),
    ("env -u", 125, "env: the program itself failed"),
    ("nice nosuchprogram", 127, "nice: the command was not found; or another command failed"),
    ("make nosuchtarget", 2, "make: a target failed, or there is no rule for it"),
    ("tar xf nowhere.tar", 2, "tar: a fatal error"),
    ("tar df t.tar", 1, "tar: some files differ, or changed while they were read"),
    ("gzip -d <a.txt", 1, "gzip: an error"),
    ("unzip -qq nowhere.zip", 9, "unzip: there is no such archive, or the file is not an archive"),
    ("node --nosuchoption", 9, "node: an option is not valid"),
    ("node -e 'throw 1'", 1, "node: an uncaught exception"),
    ("node --input-type=module -e 'await new Promise(() => {})'", 13, "node: a promise was never settled"),
    ("python3 -c 'raise Exception'", 1, "python3: an uncaught exception, or a code that the program chose"),
    ("python3 nowhere.py", 2, "python3: a mistake in the options, or there is no such script"),
    ("javac nowhere.java", 2, "javac: a mistake in the options"),
    ("sqlite3 :memory: 'nonsense'", 1, "sqlite3: an error, such as SQL that is not valid"),
    ("bash -c 'if'", 2, "bash: a syntax error, or a builtin was used wrongly"),
    ("nosuchprogram", 127, "the command was not found"),
    ("./a.txt", 126, "the command was found, but could not be run"),
    ("bash -c 'kill -SEGV $$'; exit $?", 139, "ended by SIGSEGV (128 + 11)"),
    ("sh -c 'kill -9 $$'", 137, "ended by SIGKILL (128 + 9)"),
];

/// Creates the files for the commands.
const PREPARE: &str = r"
set -e
printf 'a\n' >a.txt; printf 'b\n' >b.txt
printf -- '--- a\n+++ a\n@@ -1 +1 @@\n-zzz\n+yyy\n' >other.patch
tar cf t.tar a.txt; printf 'aa\n' >a.txt; printf 'b\na\n' >unsorted
printf 'x:\n\ttrue\n' >Q
git init -q repo
(
cd repo
git config user.email a@example.com; git config user.name A
echo a >a; git add a; git commit -qm one; echo b >a; git commit -qam two; echo c >a
)
";

#[tokio::test(flavor = "multi_thread")]
async fn real_exit_codes_are_explained_by_their_programs() {
    let site = Site::new();
    let (_server, _runner) = (site.server(&[]), site.runner(&[]));
    let client = site.ready().await;
    let request = v1::SessionServiceCreateRequest { mode: v1::Mode::Bypass.into(), ..Default::default() };
    let session = client.create_session(request).await.unwrap().session_id;
    let prepared = run(&client, spec_in(&session, PREPARE)).await.unwrap();
    assert_eq!(prepared.exit_code(), Some(0), "{}", String::from_utf8_lossy(&prepared.stdout));
    let mut wrong = Vec::new();
    let mut explained = BTreeSet::new();
    let rows = ANSWERS.iter().map(|row| (row, false)).chain(FAILURES.iter().map(|row| (row, true)));
    for ((command, code, means), is_failure) in rows {
        let story = run(&client, spec_in(&session, command)).await.unwrap();
        let end = story.end.unwrap();
        let told = end.result.as_ref().unwrap().interpretation.clone();
        let text = told.as_ref().map_or("", |told| told.text.as_str());
        let fails = told.as_ref().map_or(is_failure, |told| told.failure);
        if (exit_code(&end), text, fails) != (Some(*code), *means, is_failure) {
            let output = String::from_utf8_lossy(&story.stdout).into_owned();
            wrong.push(format!("{command}\n  {:?} {told:?}\n  {output}", exit_code(&end)));
        } else if let Some((program, _)) = text.split_once(": ") {
            explained.insert(program.to_owned());
        }
    }
    assert!(wrong.is_empty(), "{} of the commands:\n{}", wrong.len(), wrong.join("\n"));
    assert!(explained.len() >= 25, "programs that were explained: {explained:?}");
}
