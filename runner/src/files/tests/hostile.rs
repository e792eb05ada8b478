//! Tests of hostile commands against file work in their session. They use links that lead out, and swap directories
//! for links and files for pipes, during upload, download, list, stat and diff. Each attack has a control, which
//! shows that it succeeds against code that uses path names.

mod roots;

use std::{
    io::Write,
    os::unix::{fs::symlink, net::UnixListener},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Instant,
};

use rustix::fs::{CWD, FileType as RawType, Mode, RenameFlags, mknodat, renameat_with};

use super::*;

const SECRET: &[u8] = b"the secret of another";
/// The timeout until a control has seen its attack succeed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Files next to the session that must be neither read nor changed.
struct Outside {
    directory: PathBuf,
}

impl Outside {
    fn new(fixture: &Fixture) -> Self {
        let directory = fixture.dir.path().join("outside");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("file"), SECRET).unwrap();
        fs::write(directory.join("secret"), SECRET).unwrap();
        Self { directory }
    }

    fn assert_untouched(&self) {
        let mut names: Vec<_> =
            fs::read_dir(&self.directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["file", "secret"]);
        for name in names {
            assert_eq!(fs::read(self.directory.join(name)).unwrap(), SECRET);
        }
    }
}

/// Repeats an action on a thread until it is dropped.
struct Again {
    stop: Arc<AtomicBool>,
    rounds: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Again {
    fn new(mut act: impl FnMut() + Send + 'static) -> Self {
        let (stop, rounds) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&rounds));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                act();
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { stop, rounds, thread: Some(thread) }
    }
}

impl Drop for Again {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join();
        let went = ended.is_ok() && self.rounds.load(Ordering::Relaxed) > 0;
        assert!(went || std::thread::panicking());
    }
}

/// Exchanges `dir` repeatedly between a directory and a link out of the workspace, atomically.
fn swap_directory_and_link(fixture: &Fixture, outside: &Outside) -> Again {
    fixture.write("dir/file", "of the session");
    symlink(&outside.directory, fixture.path("way")).unwrap();
    let (dir, way) = (fixture.path("dir"), fixture.path("way"));
    Again::new(move || renameat_with(CWD, &dir, CWD, &way, RenameFlags::EXCHANGE).unwrap())
}

/// Repeats the action of a program that uses path names, until the attack succeeds.
fn is_fooled(mut by_name: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if by_name() {
            return true;
        }
    }
    false
}

#[tokio::test]
async fn nothing_is_read_through_a_folder_that_becomes_a_link() {
    let fixture = Fixture::new();
    let outside = Outside::new(&fixture);
    let _swapping = swap_directory_and_link(&fixture, &outside);
    // The control: check the directory, and then open its file by name.
    let (dir, file) = (fixture.path("dir"), fixture.path("dir/file"));
    assert!(is_fooled(|| fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir())
        && fs::read(&file).is_ok_and(|content| content == SECRET)));
    for round in 0..200 {
        let id = round.to_string();
        if let Ok(got) = fixture.download(fixture.download_order(&id, "dir/file")).await {
            assert_eq!(got.bytes, b"of the session");
        }
        let got = fixture.download(fixture.download_order(&format!("all {id}"), "")).await.unwrap();
        assert!(!got.bytes.windows(SECRET.len()).any(|part| part == SECRET));
        let order = ListOrder { recursive: true, ..fixture.list_order("") };
        let listed = names(&fixture.list(order).await.unwrap().0);
        assert!(listed.iter().all(|name| !name.contains("secret")), "{listed:?}");
        if let Ok((files, _)) = fixture.list(fixture.list_order("dir")).await {
            assert!(names(&files).iter().all(|name| name == "dir/file"), "{files:?}");
        }
        if let Ok(info) = fixture.stat("dir/file").await {
            assert_eq!(info.size, 14);
        }
        let order = DiffOrder { patch: true, ..fixture.diff_order("") };
        let (changes, _) = fixture.diff(order).await.unwrap();
        for change in &changes {
            assert!(!change.patch.windows(SECRET.len()).any(|part| part == SECRET));
            assert!(!told(&change.kind).contains("secret"));
        }
    }
    outside.assert_untouched();
}

#[tokio::test]
async fn nothing_is_written_through_a_folder_that_becomes_a_link() {
    let fixture = Fixture::new();
    let outside = Outside::new(&fixture);
    let control = fixture.dir.path().join("control");
    fs::create_dir(&control).unwrap();
    let swapping = swap_directory_and_link(&fixture, &Outside { directory: control.clone() });
    // The control writes into a path that it has just seen to be a directory.
    let (dir, file) = (fixture.path("dir"), fixture.path("dir/new"));
    assert!(is_fooled(|| {
        let _ = fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir()) && fs::write(&file, "").is_ok();
        control.join("new").exists()
    }));
    drop(swapping);
    airlock_mounts::remove_tree(fixture.session.workspace()).unwrap();
    fs::create_dir(fixture.session.workspace()).unwrap();
    let _swapping = swap_directory_and_link(&fixture, &outside);
    let source = tempfile::tempdir().unwrap();
    fs::create_dir_all(source.path().join("dir/sub")).unwrap();
    fs::write(source.path().join("dir/file"), "uploaded").unwrap();
    fs::write(source.path().join("dir/sub/file"), "uploaded").unwrap();
    let archive = tar(source.path());
    let mut done = 0;
    for round in 0..300 {
        let id = format!("file {round}");
        let order = fixture.upload_order(&id, "dir/more/file", FileFormat::File);
        done += u64::from(fixture.upload(order, b"uploaded").await.is_ok());
        let order = fixture.upload_order(&format!("tar {round}"), "", FileFormat::Tar);
        done += u64::from(fixture.upload(order, &archive).await.is_ok());
        let order = fixture.upload_order(&format!("in {round}"), "dir", FileFormat::Tar);
        done += u64::from(fixture.upload(order, &archive).await.is_ok());
    }
    assert!(done > 0, "some calls found the directory in its place");
    outside.assert_untouched();
}

#[tokio::test]
async fn nothing_waits_for_a_pipe_or_a_socket_that_was_a_file() {
    let fixture = Fixture::new();
    let source = tempfile::tempdir().unwrap();
    fs::write(source.path().join("file"), vec![b'x'; 3000]).unwrap();
    let order = fixture.upload_order("base", "", FileFormat::Tar);
    fixture.upload(order, &tar(source.path())).await.unwrap();
    let (file, other) = (fixture.path("file"), fixture.path("other"));
    let _socket = UnixListener::bind(fixture.path("socket")).unwrap();
    let socket = fixture.path("socket");
    let mut turn = 0u32;
    let _swapping = Again::new(move || {
        turn += 1;
        let _ = fs::remove_file(&other);
        match turn % 4 {
            0 => mknodat(CWD, &other, RawType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap(),
            1 => fs::write(&other, vec![b'y'; 3000]).unwrap(),
            2 => fs::write(&other, vec![b'z'; (turn % 9000) as usize]).unwrap(),
            _ => fs::hard_link(&socket, &other).unwrap(),
        }
        fs::rename(&other, &file).unwrap();
    });
    // The control: open a file by name while it is a pipe without a writer.
    let (pipe, waits) = (fixture.path("pipe"), Arc::new(AtomicBool::new(true)));
    mknodat(CWD, &pipe, RawType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let (reader, waiting) = (pipe.clone(), Arc::clone(&waits));
    let control = std::thread::spawn(move || {
        let _ = fs::read(reader);
        waiting.store(false, Ordering::Release);
    });
    for round in 0..300 {
        let _ = fixture.download(fixture.download_order(&format!("file {round}"), "file")).await;
        fixture.download(fixture.download_order(&round.to_string(), "")).await.unwrap();
        assert_eq!(reason(fixture.download(fixture.download_order("pipe", "pipe")).await), "NOT_A_FILE");
        let _ = fixture.stat("file").await;
        fixture.list(fixture.list_order("")).await.unwrap();
        fixture.diff(DiffOrder { patch: true, ..fixture.diff_order("") }).await.unwrap();
        let order = fixture.upload_order(&round.to_string(), "file", FileFormat::File);
        fixture.upload(order, &[b'x'; 3000]).await.unwrap();
    }
    assert!(waits.load(Ordering::Acquire), "a process that opens the pipe by its name still waits");
    fs::write(&pipe, "").unwrap();
    control.join().unwrap();
}

#[tokio::test]
async fn links_to_the_host_and_to_other_sessions_are_followed_by_nothing() {
    let fixture = Fixture::new();
    let outside = Outside::new(&fixture);
    let other = open_session(&fixture.sessions, None);
    fs::write(other.workspace().join("secret"), SECRET).unwrap();
    for (name, target) in [
        ("shadow", PathBuf::from("/etc/shadow")),
        ("etc", "/etc".into()),
        ("outside", outside.directory.clone()),
        ("other", other.workspace().to_owned()),
        ("home", "../home".into()),
        ("up", "../../..".into()),
        ("proc", "/proc/self/root".into()),
        ("cwd", "/proc/self/cwd".into()),
    ] {
        symlink(target, fixture.path(name)).unwrap();
    }
    // The control: by name these links lead there.
    assert_eq!(fs::read(fixture.path("other/secret")).unwrap(), SECRET);
    assert!(fs::read(fixture.path("shadow")).is_ok() || fixture.session.owner().is_none());
    for path in ["shadow", "etc/shadow", "outside/secret", "other/secret", "home", "up", "proc/etc", "cwd"] {
        assert_eq!(
            reason(fixture.download(fixture.download_order("d", path)).await),
            "LINK_LEAVES",
            "{path}"
        );
        let listed = reason(fixture.list(fixture.list_order(path)).await);
        assert_eq!(listed, "LINK_LEAVES", "{path}");
        for format in [FileFormat::File, FileFormat::Tar] {
            let order = fixture.upload_order(&format!("{path} {format:?}"), &format!("{path}/new"), format);
            assert_eq!(reason(fixture.upload(order, b"").await), "LINK_LEAVES", "{path}");
        }
        let stat = fixture.stat(path).await;
        assert!(stat.is_err() || stat.unwrap().file_type == FileType::Symlink, "{path}");
    }
    let got = fixture.download(fixture.download_order("all", "")).await.unwrap();
    assert_eq!(got.done.files, 0);
    assert!(!got.bytes.windows(SECRET.len()).any(|part| part == SECRET));
    let recursive = ListOrder { recursive: true, ..fixture.list_order("") };
    assert_eq!(fixture.list(recursive).await.unwrap().0.len(), 8);
    let order = DiffOrder { patch: true, ..fixture.diff_order("") };
    let (changes, _) = fixture.diff(order).await.unwrap();
    assert!(changes.len() == 8 && changes.iter().all(|change| change.patch_omitted == "not_a_file"));
    // An upload to the name of a link replaces the link.
    let order = fixture.upload_order("over", "outside", FileFormat::File);
    fixture.upload(order, b"mine").await.unwrap();
    assert_eq!(fs::read(fixture.path("outside")).unwrap(), b"mine");
    outside.assert_untouched();
    assert_eq!(fs::read_dir(other.workspace()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_file_that_grows_for_ever_ends_and_one_that_shrinks_too() {
    let fixture = Fixture::with(|config| config.bytes = 64 << 20, None);
    fixture.write("grows", "x");
    fixture.write("shrinks", vec![b'x'; 1 << 20]);
    let (grows, shrinks) = (fixture.path("grows"), fixture.path("shrinks"));
    let _growing = Again::new(move || {
        let mut file = fs::File::options().append(true).open(&grows).unwrap();
        file.write_all(&[b'x'; 4096]).unwrap();
        // Bounded, because the disk is.
        if file.metadata().unwrap().len() > 16 << 20 {
            file.set_len(0).unwrap();
        }
        let file = fs::File::options().write(true).open(&shrinks).unwrap();
        let length = file.metadata().unwrap().len();
        file.set_len(if length < 4096 { 1 << 20 } else { length - 4096 }).unwrap();
    });
    for round in 0..30 {
        for path in ["grows", "shrinks", ""] {
            let got =
                fixture.download(fixture.download_order(&format!("{path} {round}"), path)).await.unwrap();
            assert_eq!(got.done.size, got.bytes.len() as u64);
            assert_eq!(got.done.sha256, sha256(&got.bytes));
        }
        fixture.diff(DiffOrder { patch: true, ..fixture.diff_order("") }).await.unwrap();
    }
}
