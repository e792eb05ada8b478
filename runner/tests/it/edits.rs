//! File edits on a runner with real sandboxes: the preview, the exact write, and the refusal after a change.
//!
//! The oracle is sed itself: the same words run as an ordinary command on equal files in another directory.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use airlock_domain::{
    BoundFile, Cause, DecidedEdit, EditPreview, EditedFile, ExchangeFromRunner, ExchangeOrder, FileState,
    Grant, JobPhase, PathRules, SessionId,
};
use sha2::{Digest as _, Sha256};

use crate::fixture::{Fixture, grant, reason};

/// The files of each case, in the current directory.
const SETUP: &str = r"
printf 'a\nb\na\n' > f; printf 'x a\n' > g; chmod 640 f; chmod 755 g
printf 'a\nlast a' > open; printf 'a\r\nb\r\n' > crlf; printf 'a\0b\na\n' > binary; : > empty
mkdir d; printf 'a\n' > d/f; ln -s d/f link; printf 'a\n' > ro; chmod 444 ro
printf 'a\n' > one; ln one two; printf 'old\n' > g.bak; printf '\377 a\n' > latin; printf 'a\n' > 'with space'
";

/// The words of each case, the edited files, and the suffix of their backups.
const CASES: &[(&[&str], &[&str], &str)] = &[
    (&["-i", "s/a/X/", "f"], &["f"], ""),
    (&["-i", "s/a/X/g", "f", "g"], &["f", "g"], ""),
    (&["-i", "-e", "s/a/X/", "-e", "s/b/Y/", "f"], &["f"], ""),
    (&["-E", "-i", "s/(a|b)/<\\1>/", "f"], &["f"], ""),
    (&["-r", "-i", "s/(a)+/X/", "f"], &["f"], ""),
    (&["-n", "-i", "/a/p", "f"], &["f"], ""),
    (&["-ni", "/a/p", "f"], &["f"], ""),
    (&["-i.bak", "s/a/X/", "f"], &["f"], ".bak"),
    (&["-i.bak", "s/a/X/", "g"], &["g"], ".bak"),
    (&["-i.bak", "s/a/X/", "f", "g"], &["f", "g"], ".bak"),
    (&["-iold_*", "s/a/X/", "f"], &["f"], "old_*"),
    (&["-i*.bak", "s/a/X/", "d/f"], &["d/f"], "*.bak"),
    (&["-ie", "s/a/X/", "f"], &["f"], "e"),
    (&["--in-place", "s/a/X/", "f"], &["f"], ""),
    (&["--in-place=.orig", "s/a/X/", "f"], &["f"], ".orig"),
    (&["--expression=s/a/X/", "--in-place", "f"], &["f"], ""),
    (&["s/a/X/", "f", "-i"], &["f"], ""),
    (&["-i", "s/a/X/", "--", "f"], &["f"], ""),
    (&["-s", "-i", "1d", "f", "g"], &["f", "g"], ""),
    (&["-z", "-i", "s/\\n/ /g", "f"], &["f"], ""),
    (&["-i", "--posix", "s/a/X/", "f"], &["f"], ""),
    (&["-i", "$d", "f"], &["f"], ""),
    (&["-i", "1i\\header", "f"], &["f"], ""),
    (&["-i", "a after", "f"], &["f"], ""),
    (&["-i", "d", "f"], &["f"], ""),
    (&["-i", "y/ab/xy/", "f"], &["f"], ""),
    (&["-i", "/b/{s/b/Y/;n;d}", "f"], &["f"], ""),
    (&["-i", "=", "f"], &["f"], ""),
    (&["-i", "s/nothing/X/", "f"], &["f"], ""),
    (&["-i", "1q", "f", "g"], &["f", "g"], ""),
    (&["-i.bak", "1q7", "f", "g"], &["f", "g"], ".bak"),
    (&["-i", "F", "f"], &["f"], ""),
    (&["-i", "s/a/X/", "open"], &["open"], ""),
    (&["-i", "s/a/X/", "crlf"], &["crlf"], ""),
    (&["-i", "s/a/X/", "binary"], &["binary"], ""),
    (&["-i", "s/a/X/", "latin"], &["latin"], ""),
    (&["-i", "s/a/X/", "empty"], &["empty"], ""),
    (&["-i", "s/a/X/", "link"], &["link"], ""),
    (&["-i.bak", "s/a/X/", "link"], &["link"], ".bak"),
    (&["-i", "s/a/X/", "ro"], &["ro"], ""),
    (&["-i", "s/a/X/", "one"], &["one"], ""),
    (&["-i", "s/a/X/", "with space"], &["with space"], ""),
    (&["-i", "s/a/it's \"$x\" `y`/", "f"], &["f"], ""),
];

/// Lists every file of the current directory with its type, mode, links, target and contents.
const LIST: &str = "find . -printf '%p %y %m %n %l ' -type f -exec sha256sum {} ';' -o -printf '\\n' | sort";

fn in_directory(grant: Grant, directory: &str) -> Grant {
    let mut grant = grant;
    grant.command.directory = directory.as_bytes().to_vec();
    grant
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Returns the grant of an edit without states and results.
fn edit(session: SessionId, directory: &str, (words, files, suffix): (&[&str], &[&str], &str)) -> Grant {
    let file = |name: &&str| {
        let path = format!("{directory}/{name}");
        let (parent, base) = path.rsplit_once('/').unwrap();
        let backup = match suffix {
            "" => String::new(),
            star if star.contains('*') => format!("{parent}/{}", star.replace('*', base)),
            suffix => format!("{path}{suffix}"),
        };
        EditedFile { path: path.clone().into_bytes(), backup: backup.into_bytes(), result: None }
    };
    let words = std::iter::once(&"sed").chain(words);
    let text: Vec<String> = words.clone().map(|word| quoted(word)).collect();
    let mut grant = in_directory(grant(session, &text.join(" ")), directory);
    grant.decided.edit = Some(DecidedEdit {
        words: words.map(|word| word.as_bytes().to_vec()).collect(),
        files: files.iter().map(file).collect(),
    });
    grant
}

/// Returns the grant with the states and results of a preview, as a server builds it.
fn approved(grant: &Grant, preview: &EditPreview) -> Grant {
    let mut grant = grant.clone();
    let mut states: Vec<BoundFile> = Vec::new();
    for (file, found) in grant.decided.edit.as_mut().unwrap().files.iter_mut().zip(&preview.files) {
        file.result = Some(found.after);
        states.push(BoundFile { path: found.path.clone(), state: FileState::Digest(found.before) });
        states.extend(found.backup.clone());
    }
    states.sort();
    grant.decided.files = states;
    grant
}

async fn preview(it: &mut Fixture, grant: &Grant) -> Result<EditPreview, String> {
    let mut exchange = it.order(ExchangeOrder::Preview(Box::new(grant.clone()))).await;
    match exchange.next().await.unwrap() {
        ExchangeFromRunner::Previewed(preview) => Ok(preview),
        ExchangeFromRunner::Failed(failed) => Err(failed.message),
        other => panic!("{other:?}"),
    }
}

async fn listed(it: &mut Fixture, session: SessionId, directory: &str) -> String {
    it.said(in_directory(grant(session, LIST), directory)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_edit_writes_what_sed_writes_and_what_its_preview_showed() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    // For each case, a directory for sed and an equal one for the edit.
    let last = CASES.len() - 1;
    let directories = format!("for d in {{r,e}}{{0..{last}}}; do mkdir $d; cd $d; {SETUP} cd ..; done");
    it.run(grant(session, &directories)).await;
    let before = listed(&mut it, session, "/workspace/r0").await;
    for (number, case) in CASES.iter().enumerate() {
        let (real, own) = (format!("/workspace/r{number}"), format!("/workspace/e{number}"));
        let asked = edit(session, &own, *case);
        let shown = preview(&mut it, &asked).await.unwrap_or_else(|why| panic!("{case:?}: {why}"));
        assert_eq!(listed(&mut it, session, &own).await, before, "{case:?}: a preview changes nothing");

        let command = String::from_utf8(asked.command.text.clone()).unwrap();
        let (_, by_sed) = it.run(in_directory(grant(session, &command), &real)).await;
        let (_, result) = it.run(approved(&asked, &shown)).await;
        assert_eq!(result.cause, by_sed.cause, "{case:?}");
        let both = it.said(grant(session, &format!("cd {real}; {LIST}; echo ==; cd {own}; {LIST}"))).await;
        let (expected, after) = both.split_once("==\n").unwrap();
        assert_eq!(after, expected, "{case:?}");
        for file in &shown.files {
            let path = String::from_utf8(file.path.clone()).unwrap();
            let name = path.strip_prefix(&own).unwrap();
            let digest = format!("{}  .{name}\n", hex::encode(file.after));
            assert!(after.contains(&digest), "{case:?}: {digest} in {after}");
            let is_same = file.before == file.after;
            assert_eq!(file.diff.is_empty(), is_same || file.is_binary, "{case:?}");
            assert_eq!(file.is_binary, path.ends_with("binary"), "{case:?}");
            assert_eq!(file.replaces_link, path.ends_with("link"), "{case:?}");
        }
    }
    assert!(CASES.len() >= 30);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_the_real_diff() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, SETUP)).await;
    let asked = edit(session, "/workspace", (&["-i", "s/a/X/", "f", "open"], &["f", "open"], ""));
    let shown = preview(&mut it, &asked).await.unwrap();
    let diffs: Vec<&str> = shown.files.iter().map(|file| std::str::from_utf8(&file.diff).unwrap()).collect();
    assert_eq!(
        diffs,
        [
            "--- a/workspace/f\n+++ b/workspace/f\n@@ -1,3 +1,3 @@\n-a\n+X\n b\n-a\n+X\n",
            "--- a/workspace/open\n+++ b/workspace/open\n@@ -1,2 +1,2 @@\n-a\n-last a\n\\ No newline at end of file\n\
             +X\n+lXst a\n\\ No newline at end of file\n",
        ]
    );
    assert_eq!(shown.files[0].mode, 0o640);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_ends_although_its_sandbox_runs_on_without_output() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, SETUP)).await;
    let mut asked = edit(session, "/workspace", (&["-i", "s/a/X/", "f"], &["f"], ""));
    let runs_on = ["/bin/bash", "-c", "exec >&- 2>&-; sleep 1000"];
    asked.profile.shell_prefix = runs_on.map(str::to_owned).to_vec();
    assert_eq!(preview(&mut it, &asked).await.unwrap_err(), "sed did not end within 5 s");
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_after_the_preview_is_not_written() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    let asked = edit(session, "/workspace", (&["-i.bak", "s/a/X/", "f"], &["f"], ".bak"));
    for attack in [
        "echo evil >> f",
        "rm f",
        "rm f; ln -s g f",
        "rm f; mkfifo f",
        "rm f; mkdir f",
        "ln -f g f",
        "echo precious > f.bak",
        "ln -s /etc/passwd f.bak",
    ] {
        it.run(grant(session, &format!("rm -rf f g f.bak; {{ {SETUP} }} 2>&1"))).await;
        it.run(grant(session, "rm -f f.bak")).await;
        let shown = preview(&mut it, &asked).await.unwrap();
        it.run(grant(session, attack)).await;
        let before = listed(&mut it, session, "/workspace").await;
        let offered = it.offer(approved(&asked, &shown)).await;
        let refused = it.job(offered, JobPhase::Refused).await;
        assert_eq!(reason(&refused), "files_changed", "{attack}");
        assert_eq!(listed(&mut it, session, "/workspace").await, before, "{attack}");
    }
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_with_another_result_than_the_shown_one_is_not_written() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, SETUP)).await;
    let asked = edit(session, "/workspace", (&["-i", "s/a/X/", "f"], &["f"], ""));
    let shown = preview(&mut it, &asked).await.unwrap();
    let before = listed(&mut it, session, "/workspace").await;
    let mut other = approved(&asked, &shown);
    other.decided.edit.as_mut().unwrap().files[0].result = Some(Sha256::digest("other").into());
    let (_, result) = it.run(other).await;
    assert!(
        matches!(&result.cause, Cause::Refused { reason, .. } if reason == "files_changed"),
        "{result:?}"
    );
    assert_eq!(listed(&mut it, session, "/workspace").await, before);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_sees_only_copies_of_its_own_files() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, SETUP)).await;
    let before = listed(&mut it, session, "/workspace").await;
    // The policy refuses these scripts. A server that misbehaves cannot use the preview to run or to write.
    for script in ["e touch made", "w made", "s/a/b/w made", "s/.*/touch made/e", "r g", "R g", "W made"] {
        let asked = edit(session, "/workspace", (&["-i", script, "f"], &["f"], ""));
        let why = preview(&mut it, &asked).await.unwrap_err();
        assert!(why.contains("sandbox"), "{script}: {why}");
    }
    // A file that the edit does not name is not there.
    let asked = edit(session, "/workspace", (&["-i", "s/a/X/", "f", "g"], &["f"], ""));
    assert!(preview(&mut it, &asked).await.unwrap_err().contains("can't read g"));
    for (files, expected) in [
        (&["missing"][..], "does not exist"),
        (&["d"], "not a regular file"),
        (&["f", "f"], "names one file twice"),
        (&["../f"], "not a plain path"),
    ] {
        let words: Vec<&str> = ["-i", "s/a/X/"].iter().chain(files).copied().collect();
        let why = preview(&mut it, &edit(session, "/workspace", (&words, files, ""))).await.unwrap_err();
        assert!(why.contains(expected), "{files:?}: {why}");
    }
    let endless = edit(session, "/workspace", (&["-i", ":a;ba", "f"], &["f"], ""));
    assert!(preview(&mut it, &endless).await.unwrap_err().contains("did not end"));
    assert_eq!(listed(&mut it, session, "/workspace").await, before);
    it.shut_down().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_obeys_the_path_rules_of_the_profile() {
    let mut it = Fixture::new().await;
    let session = it.open("").await;
    it.run(grant(session, SETUP)).await;
    for (rules, name, is_refused) in [
        (PathRules { deny_write: vec!["d/**".to_owned()], ..PathRules::default() }, "d/f", true),
        (PathRules { deny_read: vec!["d/f".to_owned()], ..PathRules::default() }, "d/f", true),
        (PathRules { allow_write: Some(vec!["d".to_owned()]), ..PathRules::default() }, "f", true),
        (PathRules { deny_write: vec!["d/**".to_owned()], ..PathRules::default() }, "f", false),
    ] {
        let mut asked = edit(session, "/workspace", (&["-i", "s/a/X/", name], &[name], ""));
        asked.profile.paths = rules.clone();
        let found = preview(&mut it, &asked).await;
        assert_eq!(found.is_err(), is_refused, "{rules:?} {name}: {found:?}");
        if let Err(why) = found {
            assert!(why.contains("read-only or hides it"), "{why}");
        }
    }
    it.shut_down().await;
}
