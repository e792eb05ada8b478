//! Tests of changes in git's form.

use super::*;

fn file(mode: u32) -> FileInfo {
    FileInfo {
        path: "/workspace/src/a.txt".to_owned(),
        r#type: FileType::Regular.into(),
        mode,
        ..Default::default()
    }
}

fn modified(patch: &'static str) -> FileChange {
    FileChange {
        kind: ChangeKind::Modified.into(),
        before: Some(file(0o644)),
        after: Some(file(0o644)),
        patch: patch.into(),
        ..Default::default()
    }
}

#[test]
fn a_patch_can_be_applied_with_git() {
    for body in ["@@ -1 +1 @@\n-a\n+b\n", "--- x\n+++ y\n@@ -1 +1 @@\n-a\n+b\n"] {
        let text = String::from_utf8(patch(&modified(body))).unwrap();
        assert_eq!(
            text,
            "diff --git a/src/a.txt b/src/a.txt\n--- a/src/a.txt\n+++ b/src/a.txt\n@@ -1 +1 @@\n-a\n+b\n"
        );
    }
    let new = FileChange { kind: ChangeKind::Added.into(), before: None, ..modified("@@ -0,0 +1 @@\n+b\n") };
    let text = String::from_utf8(patch(&new)).unwrap();
    assert!(text.contains("new file mode 100644\n--- /dev/null\n+++ b/src/a.txt\n"), "{text}");
    let link = FileInfo { r#type: FileType::Symlink.into(), link_target: "b".into(), ..file(0o777) };
    let gone = FileChange { before: Some(link), after: None, ..modified("") };
    let text = String::from_utf8(patch(&gone)).unwrap();
    assert!(text.ends_with("+++ /dev/null\n@@ -1 +0,0 @@\n-b\n\\ No newline at end of file\n"), "{text}");
    let modes = FileChange { after: Some(file(0o755)), ..modified("") };
    let text = String::from_utf8(patch(&modes)).unwrap();
    assert!(text.ends_with("old mode 100644\nnew mode 100755\n"), "{text}");
    let binary = FileChange { patch_omitted: "binary".to_owned(), ..modified("") };
    let text = String::from_utf8(patch(&binary)).unwrap();
    assert!(text.ends_with("Binary files a/src/a.txt and b/src/a.txt differ (not text)\n"), "{text}");
}

#[test]
fn lines_are_counted_and_bars_fit() {
    let change = modified("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-a\n--- b\n+c\n x\n");
    assert_eq!(counts(&change), Some((1, 2)));
    let binary = FileChange { patch_omitted: "binary".to_owned(), ..modified("") };
    let text = stat(&[Line::of(&change), Line::of(&binary)]);
    assert!(text.contains(" src/a.txt | 3 +--\n src/a.txt | not text\n 2 files changed, 1 insert"), "{text}");
    assert_eq!(total(1, 1, 0), " 1 file changed, 1 insertion(+)");
    assert_eq!(total(2, 0, 2), " 2 files changed, 2 deletions(-)");
    assert_eq!(total(1, 0, 0), " 1 file changed, 0 insertions(+), 0 deletions(-)");
    assert_eq!((scaled(1, 1000), scaled(1000, 1000), scaled(7, 9)), (1, 50, 7));
}

#[test]
fn a_terminal_gets_no_escapes_but_colours() {
    let shown = coloured(b"--- a\n@@ -1 +1 @@\n-x\n+\x1b]0;title\x07\xc3\xa9\n");
    assert!(shown.contains("\x1b[32m+\\u{1b}]0;title\\u{7}\u{e9}\x1b[0m\n"), "{shown}");
    assert!(shown.contains("\x1b[1m--- a") && shown.contains("\x1b[31m-x"), "{shown}");
}
