//! End-to-end tests of hostile archives and hostile workspaces: over gRPC, through the server, to a
//! runner, and back to a local disk. Nothing outside the target changes, and each attack has a clear
//! error.
//!
//! Archives from a lying server are tested with the client library.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Seek as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use airlock_archive::{
    Format,
    hostile::{Hostile, cases},
};
use airlock_client::{Client, ClientError, Progress, v1};
use airlock_tests::{
    desk::{Airlock, said},
    process::Process,
    reader::{exit_code, run, spec_in},
    site::Site,
};

/// Limits that are small enough to detect the bombs early.
const TRANSFERS: &str = "[transfers]\nunpacked_bytes = 1073741824\n";

struct Fixture {
    client: Client,
    session: String,
    _server: Process,
    _runner: Process,
    site: Site,
}

impl Fixture {
    async fn new() -> Self {
        let site = Site::with_tables("", TRANSFERS);
        let (server, runner) = (site.server(&[]), site.runner(&[]));
        let client = site.ready().await;
        let created = client.create_session(v1::SessionServiceCreateRequest::default()).await.unwrap();
        let fixture = Self { client, session: created.session_id, _server: server, _runner: runner, site };
        fixture
            .run_script("mkdir canary target && echo sings > canary/file && echo kept > target/kept")
            .await;
        fixture
    }

    async fn run(&self, command: &str) -> String {
        let story = run(&self.client, spec_in(&self.session, command)).await.unwrap();
        assert_eq!(story.end.as_ref().and_then(exit_code), Some(0), "{command}: {story:?}");
        String::from_utf8_lossy(&story.stdout).into_owned()
    }

    /// Runs a script with content that the policy has not seen.
    async fn run_script(&self, text: &str) {
        let header = v1::UploadHeader {
            session_id: self.session.clone(),
            path: "script".into(),
            format: v1::FileFormat::File.into(),
            ..Default::default()
        };
        let mut text = io::Cursor::new(text.as_bytes().to_vec());
        self.client.upload(header, &mut text, &Progress::default()).await.unwrap();
        self.run("bash ./script && rm script").await;
    }

    async fn upload(&self, case: &Hostile, path: &str) -> Result<v1::FileServiceUploadResponse, ClientError> {
        let mut file = tempfile::tempfile().unwrap();
        io::copy(&mut (case.bytes)(), &mut file).unwrap();
        file.rewind().unwrap();
        let format = match case.format {
            Format::Tar => v1::FileFormat::Tar,
            Format::TarGzip => v1::FileFormat::TarGzip,
        };
        let header = v1::UploadHeader {
            session_id: self.session.clone(),
            path: path.to_owned(),
            format: format.into(),
            ..Default::default()
        };
        let mut file = tokio::fs::File::from_std(file);
        self.client.upload(header, &mut file, &Progress::default()).await
    }

    /// Returns everything on the disk except files that every command and transfer changes.
    fn disk(&self) -> BTreeMap<PathBuf, String> {
        let mut found = snapshot(self.site.path());
        found.retain(|path, _| {
            let name = path.strip_prefix(self.site.path()).unwrap().to_string_lossy().into_owned();
            let moves = [
                "airlock.db",
                "server.log",
                "runner-1.log",
                "outputs",
                "runner-1/journal",
                "runner-1/spool",
                "runner-1/transfers",
                "runner-1/trash",
            ];
            !moves.iter().any(|part| name.starts_with(part)) && !["", "runner-1"].contains(&name.as_str())
        });
        found
    }
}

/// Returns everything below a directory, with all attributes that an attack could change.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_dir() {
            left.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        let link = fs::read_link(&path).unwrap_or_default();
        let (mode, uid, size, time) =
            (meta.mode(), meta.uid(), meta.size(), (meta.mtime(), meta.mtime_nsec()));
        let size = if meta.is_dir() { 0 } else { size };
        found.insert(path, format!("{mode:o} {uid} {size} {time:?} {}", link.display()));
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_archives_are_refused_on_the_way_up_and_touch_nothing() {
    let fixture = Fixture::new().await;
    let all: Vec<Hostile> = cases().into_iter().filter(|case| case.refusal.is_some()).collect();
    assert!(all.len() >= 30, "{} cases", all.len());
    let before = fixture.disk();
    assert!(before.keys().any(|path| path.ends_with("canary/file")), "the canary is on this disk");
    for case in &all {
        let Err(error) = fixture.upload(case, "target").await else { panic!("`{}` was taken", case.name) };
        let rejection = error.rejection().unwrap_or_else(|| panic!("`{}`: {error}", case.name));
        let told = rejection.message.clone();
        assert!(told.contains(case.refusal.unwrap()), "`{}`: {told}", case.name);
        assert!(!told.contains('\n') && told.len() < 1000, "`{}`: one line: {told}", case.name);
        assert_eq!(fixture.disk(), before, "`{}` has changed a file", case.name);
    }
    assert!(!Path::new("/tmp/airlock-canary").exists());
    // The control: a harmless archive is accepted in the same way.
    let harmless: Vec<Hostile> = cases().into_iter().filter(|case| case.refusal.is_none()).collect();
    assert!(!harmless.is_empty());
    for (index, case) in harmless.iter().enumerate() {
        let path = format!("harmless-{index}");
        fixture.upload(case, &path).await.unwrap_or_else(|error| panic!("`{}`: {error}", case.name));
    }
    assert_eq!(fixture.run("cat canary/file target/kept").await, "sings\nkept\n");
}

/// Creates a workspace that attacks a client that downloads it.
const TRAPS: &str = r#"mkdir -p traps/deep && cd traps
ln -s /etc/shadow shadow; ln -s ../../../../../../etc/passwd passwd; ln -s /home home
ln -s deep/../../../x through; ln -s . self; ln -s self/self/self loop; ln -s loop/../../.. up
mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
echo shy > unreadable; chmod 0 unreadable; echo s > setuid; chmod 4755 setuid; mkdir sticky; chmod 1777 sticky
printf x > "$(printf 'new\nline')"; printf x > "$(printf 'escape\033[2J')"; printf x > "$(printf 'bytes\377')"
printf x > ' blank '; printf x > -rf; printf x > 'back\slash'; printf x > '*'; printf x > "$(printf 'n%.0s' $(seq 255))"
truncate -s 64M sparse; ln sparse hard; echo plain > deep/plain"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_workspace_is_taken_home_without_harm() {
    let fixture = Fixture::new().await;
    fixture.run_script(TRAPS).await;
    let home = fixture.site.path().join("home");
    fs::create_dir_all(home.join("canary")).unwrap();
    fs::write(home.join("canary/file"), "sings\n").unwrap();
    let before = snapshot(&home.join("canary"));
    let airlock = Airlock::at(&fixture.site);
    let there = format!("{}:traps", fixture.session);
    let target = home.join("target");
    let output = airlock.run(&["cp", &there, &target.display().to_string()]);
    let told = said(&output);
    for skipped in ["shadow", "passwd", "home", "through", "up", "fifo", "socket"] {
        assert!(told.contains(skipped), "`{skipped}` is reported as skipped: {told}");
        assert!(fs::symlink_metadata(target.join(skipped)).is_err(), "`{skipped}` was not downloaded");
    }
    assert!(!told.contains('\u{1b}'), "no escape sequence reaches the terminal: {told:?}");
    assert_eq!(fs::read_to_string(target.join("deep/plain")).unwrap(), "plain\n");
    assert_eq!(fs::metadata(target.join("sparse")).unwrap().len(), 64 << 20);
    for odd in [" blank ", "-rf", "back\\slash", "*", "new\nline"] {
        assert_eq!(fs::read_to_string(target.join(odd)).unwrap(), "x", "{odd:?}");
    }
    let setuid = fs::metadata(target.join("setuid")).map_or(0, |meta| meta.mode());
    assert_eq!(setuid & 0o7000, 0, "no program gains rights here");
    assert_eq!(snapshot(&home.join("canary")), before);
    let names: Vec<_> = fs::read_dir(&home).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names.len(), 2, "only the canary and the target: {names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_is_never_a_window_to_the_host() {
    let fixture = Fixture::new().await;
    fixture
        .run_script("ln -s /etc etc; ln -s /etc/shadow shadow; ln -s ../../.. up; ln -s /proc/self/root root")
        .await;
    for path in ["etc/shadow", "shadow", "up", "root/etc/shadow", "etc", "/etc/shadow", "../runner-1.toml"] {
        let request = v1::FileServiceDownloadRequest {
            session_id: fixture.session.clone(),
            path: path.to_owned(),
            ..Default::default()
        };
        let refused = fixture.client.download(request, 1 << 20).header().await;
        let error = refused.err().unwrap_or_else(|| panic!("`{path}` was given"));
        assert!(error.rejection().is_some(), "{path}: {error}");
        let list = v1::FileServiceListRequest {
            session_id: fixture.session.clone(),
            path: path.to_owned(),
            recursive: true,
            ..Default::default()
        };
        let listed = fixture.client.files(list).await;
        assert!(listed.is_err(), "`{path}` was listed: {listed:?}");
    }
    // A link itself can be shown as a link.
    let link = fixture.client.stat(&fixture.session, b"shadow").await.unwrap();
    assert_eq!((link.r#type(), link.link_target()), (v1::FileType::Symlink, &b"/etc/shadow"[..]));
    let list = v1::FileServiceListRequest {
        session_id: fixture.session.clone(),
        recursive: true,
        ..Default::default()
    };
    let all = fixture.client.files(list).await.unwrap();
    let beyond = all.files.iter().filter(|file| file.path.contains("root/"));
    assert_eq!(beyond.count(), 0, "{all:?}");
    // The runner parses the pattern, and the server returns the error.
    let include = vec!["a[".to_owned()];
    let filter = Some(v1::FileFilter { include, ..Default::default() });
    let list =
        v1::FileServiceListRequest { session_id: fixture.session.clone(), filter, ..Default::default() };
    let error = fixture.client.files(list).await.unwrap_err();
    let rejection = error.rejection().unwrap();
    assert_eq!(rejection.code, tonic::Code::InvalidArgument, "{rejection:?}");
    assert!(rejection.message.contains("`a[`"), "{rejection:?}");
}
