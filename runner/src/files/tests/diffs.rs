//! Tests of diff: against the base, against uploads, across restarts, in pages, with patches.

use std::os::unix::fs::symlink;

use super::*;

fn based() -> (tempfile::TempDir, Fixture) {
    let base = tempfile::tempdir().unwrap();
    project(base.path());
    let fixture = Fixture::with(|_| {}, Some(base.path()));
    (base, fixture)
}

#[tokio::test]
async fn what_changed_since_the_base_was_copied_is_found() {
    let (_base, fixture) = based();
    assert_eq!(fixture.changes().await, Vec::<String>::new());
    fixture.write("README", "one\n2\nthree\n");
    fixture.write("src/new/file", "");
    fs::remove_file(fixture.path("run")).unwrap();
    airlock_mounts::remove_tree(fixture.path("src/deep")).unwrap();
    fs::remove_file(fixture.path("link")).unwrap();
    symlink("README", fixture.path("link")).unwrap();
    fs::set_permissions(fixture.path("empty"), fs::Permissions::from_mode(0o700)).unwrap();
    let expected = [
        "M README",
        "M empty",
        "M link",
        "D run",
        "D src/deep",
        "D src/deep/data",
        "A src/new",
        "A src/new/file",
    ];
    assert_eq!(fixture.changes().await, expected);
    let fixture = fixture.reopen();
    assert_eq!(fixture.changes().await, expected);
    let (all, _) = fixture.diff(fixture.diff_order("")).await.unwrap();
    let ChangeKind::Modified { before, after } = &all[0].kind else { panic!("{:?}", all[0]) };
    assert_eq!((before.size, after.size, before.mode), (14, 12, 0o644));
    assert!(all.iter().all(|change| change.patch.is_empty() && change.patch_omitted.is_empty()));
    let mut paged = Vec::new();
    loop {
        let after = paged.last().map_or(Vec::new(), |last: &FileChange| last.kind.path().to_vec());
        let order = DiffOrder { page_size: 1, after, ..fixture.diff_order("") };
        let (page, more) = fixture.diff(order).await.unwrap();
        paged.extend(page);
        if !more {
            break;
        }
    }
    assert_eq!(paged, all);
}

#[tokio::test]
async fn what_only_looks_changed_is_not_and_what_hides_its_change_is() {
    let (_base, fixture) = based();
    let readme = fixture.path("README");
    let before = fs::metadata(&readme).unwrap();
    let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
    fs::write(&readme, "one\ntwo\nthree\n").unwrap();
    fs::copy(fixture.path("src/main.rs"), fixture.path("copy")).unwrap();
    fs::rename(fixture.path("copy"), fixture.path("src/main.rs")).unwrap();
    assert_eq!(fixture.changes().await, Vec::<String>::new(), "the same content");
    // The same length and the same times as before.
    fs::write(&readme, "one\nTWO\nthree\n").unwrap();
    fs::File::options().append(true).open(&readme).unwrap().set_times(times).unwrap();
    assert_eq!(fixture.changes().await, ["M README"]);
}

#[tokio::test]
async fn a_session_without_base_or_upload_has_added_everything() {
    let fixture = Fixture::new();
    project(fixture.session.workspace());
    let all = fixture.changes().await;
    assert_eq!(all.len(), 8);
    assert!(all.iter().all(|line| line.starts_with("A ")), "{all:?}");
}

#[tokio::test]
async fn what_was_uploaded_is_compared_with_its_upload() {
    let (_base, fixture) = based();
    fixture.write("README", "changed by a command");
    fixture.write("untracked", "");
    let source = tempfile::tempdir().unwrap();
    project(source.path());
    fs::write(source.path().join("README"), "uploaded\n").unwrap();
    fs::hard_link(source.path().join("run"), source.path().join("run2")).unwrap();
    let order = fixture.upload_order("t", "", FileFormat::Tar);
    fixture.upload(order, &tar(source.path())).await.unwrap();
    assert_eq!(fixture.changes().await, ["A untracked"]);
    let order = fixture.upload_order("f", "deep/er/file", FileFormat::File);
    fixture.upload(order, b"one file\n").await.unwrap();
    symlink("deep", fixture.path("way")).unwrap();
    let order = fixture.upload_order("g", "way/by/link", FileFormat::File);
    fixture.upload(order, b"").await.unwrap();
    assert_eq!(fixture.changes().await, ["A untracked", "A way"]);
    fixture.write("deep/er/file", "One file\n");
    fixture.write("README", "Uploaded\n");
    let fixture = fixture.reopen();
    assert_eq!(fixture.changes().await, ["M README", "M deep/er/file", "A untracked", "A way"]);
    // Many layers give the same result as one.
    for index in 0..20 {
        let order = fixture.upload_order(&index.to_string(), &format!("deep/{index}"), FileFormat::File);
        fixture.upload(order, b"x").await.unwrap();
    }
    fs::remove_file(fixture.path("deep/7")).unwrap();
    let expected = ["M README", "D deep/7", "M deep/er/file", "A untracked", "A way"];
    assert_eq!(fixture.changes().await, expected);
    let layers = fs::read_dir(fixture.session.directories().root.with_file_name("baseline")).unwrap();
    assert!(layers.count() < 10);
}

#[tokio::test]
async fn a_path_and_a_filter_restrict_it() {
    let (_base, fixture) = based();
    for path in ["src/main.rs", "src/deep/data", "src-other", "README"] {
        fixture.write(path, "changed");
    }
    fs::remove_file(fixture.path("run")).unwrap();
    let told = async |order: DiffOrder| -> Vec<String> {
        fixture.diff(order).await.unwrap().0.iter().map(|change| told(&change.kind)).collect()
    };
    assert_eq!(told(fixture.diff_order("src")).await, ["M src/deep/data", "M src/main.rs"]);
    assert_eq!(told(fixture.diff_order("src/main.rs")).await, ["M src/main.rs"]);
    assert_eq!(told(fixture.diff_order("run")).await, ["D run"]);
    assert_eq!(told(fixture.diff_order("empty")).await, Vec::<String>::new());
    let order = DiffOrder { after: b"/workspace/src/deep/data".to_vec(), ..fixture.diff_order("src") };
    assert_eq!(told(order).await, ["M src/main.rs"]);
    let filter = FileFilter { exclude: vec!["deep".to_owned()], ..FileFilter::default() };
    assert_eq!(told(DiffOrder { filter, ..fixture.diff_order("src") }).await, ["M src/main.rs"]);
    let filter = FileFilter { include: vec!["*".to_owned()], ..FileFilter::default() };
    let order = DiffOrder { filter, ..fixture.diff_order("") };
    assert_eq!(told(order).await, ["M README", "D run", "A src-other"]);
    assert_eq!(
        told(DiffOrder { filter: of_type(FileType::Directory), ..fixture.diff_order("") }).await,
        Vec::<String>::new()
    );
    assert_eq!(reason(fixture.diff(fixture.diff_order("nothing")).await), "NO_SUCH_FILE");
    assert_eq!(reason(fixture.diff(fixture.diff_order("../x")).await), "PATH_INVALID");
    // A directory that was replaced by a link is reported as deleted with its contents. The link is not followed.
    airlock_mounts::remove_tree(fixture.path("src")).unwrap();
    symlink("/etc", fixture.path("src")).unwrap();
    let gone = told(fixture.diff_order("src")).await;
    assert_eq!(gone, ["M src", "D src/deep", "D src/deep/data", "D src/main.rs"]);
    assert_eq!(told(fixture.diff_order("src/deep")).await, ["D src/deep", "D src/deep/data"]);
}

#[tokio::test]
async fn changes_of_texts_are_shown_and_others_say_why_not() {
    let base = tempfile::tempdir().unwrap();
    project(base.path());
    fs::write(base.path().join("large"), "x\n".repeat(3000)).unwrap();
    for name in ["zz1", "zz2", "zz3"] {
        fs::write(base.path().join(name), "y\n".repeat(2800)).unwrap();
    }
    let limits = |config: &mut TransfersConfig| {
        // Two of the three files of 5600 bytes fit, and all smaller ones, in any order of the directory.
        (config.baseline_bytes, config.baseline_file_bytes) = (16_500, 5900);
    };
    let fixture = Fixture::with(limits, Some(base.path()));
    fixture.write("README", "one\n2\nthree\n");
    fixture.write("src/deep/data", [1; 10]);
    fixture.write("large", "small now\n");
    fixture.write("new", "line\n");
    for name in ["zz1", "zz2", "zz3"] {
        fs::remove_file(fixture.path(name)).unwrap();
    }
    fs::remove_file(fixture.path("run")).unwrap();
    fs::create_dir(fixture.path("run")).unwrap();
    fs::set_permissions(fixture.path("src/main.rs"), fs::Permissions::from_mode(0o755)).unwrap();
    let order = DiffOrder { patch: true, ..fixture.diff_order("") };
    let (changes, _) = fixture.diff(order).await.unwrap();
    let of = |path: &str| {
        let path = format!("/workspace/{path}");
        let change = changes.iter().find(|change| change.kind.path() == path.as_bytes()).unwrap();
        (String::from_utf8(change.patch.clone()).unwrap(), change.patch_omitted.as_str())
    };
    let readme =
        "diff --git a/README b/README\n--- a/README\n+++ b/README\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    assert_eq!(of("README"), (readme.to_owned(), ""));
    let new =
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+line\n";
    assert_eq!(of("new"), (new.to_owned(), ""));
    let mode = "diff --git a/src/main.rs b/src/main.rs\nold mode 100644\nnew mode 100755\n";
    assert_eq!(of("src/main.rs"), (mode.to_owned(), ""));
    assert_eq!(of("src/deep/data").1, "binary");
    assert_eq!(of("large").1, "too_large");
    assert_eq!(of("run").1, "not_a_file");
    let kept = ["zz1", "zz2", "zz3"].map(|name| of(name).1);
    assert_eq!(kept.iter().filter(|omitted| **omitted == "not_kept").count(), 1, "{kept:?}");
}
