//! Attempts to read and write forbidden files. Searches for a text in everything that can be read. Each route is one
//! attempt.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::attempt::Attempt;

/// The maximum bytes that are read of one file, and of one memory mapping.
const MOST: u64 = 8 << 20;
/// Directories of the system, which the profile shows and which predate any secret, and directories that the other
/// routes read.
const NOT_WALKED: [&str; 5] = ["/dev", "/proc", "/sys", "/usr", "/nix"];
/// Files of a process that other routes read, or that are not text.
const NOT_READ: [&str; 5] = ["environ", "cmdline", "mem", "pagemap", "clear_refs"];

/// Searches for a text that is given in two halves, so that the arguments of this search do not match.
pub(crate) fn everywhere(first: &OsStr, second: &OsStr) -> Vec<Attempt> {
    let text = [first.as_bytes(), second.as_bytes()].concat();
    if text.is_empty() {
        return vec![Attempt::new("text", true, "the text is empty; nothing was searched")];
    }
    let finder = memchr::memmem::Finder::new(&text);
    let found = |bytes: &[u8]| finder.find(bytes).is_some();
    crash();
    let processes = processes();
    let of_each =
        |name: &str| -> Vec<PathBuf> { processes.iter().map(|process| process.join(name)).collect() };
    let own = std::env::vars_os().any(|(name, value)| found(name.as_bytes()) || found(value.as_bytes()));
    let mut tasks = of_each("environ");
    for process in &processes {
        let threads = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
        tasks.extend(threads.map(|thread| thread.path().join("environ")));
    }
    vec![
        Attempt::new("own environment", own, "as passed to the program"),
        look("environments", &tasks, &found),
        look("arguments", &of_each("cmdline"), &found),
        look("other files in /proc", &texts_of_proc(&processes), &found),
        links(&processes, &found),
        look("open files", &open_files(&processes), &found),
        memory(&processes, &found),
        look("files", &walk(), &found),
    ]
}

/// Ends a process with a signal that leaves a core file, if core files are enabled.
fn crash() {
    let script = "ulimit -c unlimited; ulimit -c hard; kill -SEGV $$";
    let _ = Command::new("bash").args(["-c", script]).stderr(Stdio::null()).status();
}

fn processes() -> Vec<PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    numbered.map(|entry| entry.path()).collect()
}

fn look(way: &str, paths: &[PathBuf], found: &dyn Fn(&[u8]) -> bool) -> Attempt {
    let mut read = 0;
    let mut holders = Vec::new();
    for path in paths {
        let mut bytes = Vec::new();
        let opened = File::open(path).and_then(|file| file.take(MOST).read_to_end(&mut bytes));
        read += u32::from(opened.is_ok());
        if found(&bytes) {
            holders.push(path.display().to_string());
        }
    }
    Attempt::new(way, !holders.is_empty(), format!("{read} of {} read: {}", paths.len(), holders.join(" ")))
}

/// Returns the regular files of `/proc` and of each process, except the arguments of this process.
fn texts_of_proc(processes: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let directories =
        processes.iter().map(PathBuf::as_path).chain([Path::new("/proc"), Path::new("/proc/net")]);
    for directory in directories {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let plain = entry.file_type().is_ok_and(|kind| kind.is_file());
            // One blocks until there is input, the other is the whole memory of the machine.
            let endless = ["kmsg", "kcore"].iter().any(|other| name == *other);
            if plain && !endless && !NOT_READ.iter().any(|other| name == *other) {
                paths.push(entry.path());
            }
        }
    }
    paths
}

fn links(processes: &[PathBuf], found: &dyn Fn(&[u8]) -> bool) -> Attempt {
    let mut seen = Vec::new();
    for process in processes {
        let fds = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        let others = ["cwd", "root", "exe"].map(|name| process.join(name));
        seen.extend(fds.chain(others).filter_map(|path| fs::read_link(path).ok()));
    }
    let held = seen.iter().any(|target| found(target.as_os_str().as_bytes()));
    Attempt::new("descriptors", held, format!("{} seen", seen.len()))
}

/// Returns the targets of descriptors of regular files.
fn open_files(processes: &[PathBuf]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for process in processes {
        let fds = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        paths.extend(fds.filter(|path| fs::metadata(path).is_ok_and(|found| found.is_file())));
    }
    paths
}

/// Searches the memory of every process except this one, which contains the text.
fn memory(processes: &[PathBuf], found: &dyn Fn(&[u8]) -> bool) -> Attempt {
    let own = PathBuf::from(format!("/proc/{}", std::process::id()));
    let (mut read, mut holders) = (0, Vec::new());
    for process in processes.iter().filter(|process| **process != own) {
        let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
        let Ok(memory) = File::open(process.join("mem")) else {
            continue;
        };
        for range in maps.lines().filter_map(range) {
            let mut bytes = vec![0; range.1.min(MOST).try_into().unwrap_or(0)];
            if memory.read_at(&mut bytes, range.0).is_ok() {
                read += 1;
                if found(&bytes) {
                    holders.push(process.display().to_string());
                }
            }
        }
    }
    Attempt::new("memory", !holders.is_empty(), format!("{read} mappings read: {}", holders.join(" ")))
}

/// Parses start and length from a line of `maps`.
fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?.checked_sub(number(start)?)?))
}

/// Returns all regular files, except those of the system.
fn walk() -> Vec<PathBuf> {
    let (mut files, mut open) = (Vec::new(), vec![PathBuf::from("/")]);
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind)
                    if kind.is_dir() && !NOT_WALKED.iter().any(|other| entry.path() == *Path::new(other)) =>
                {
                    open.push(entry.path());
                }
                Ok(kind) if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
        }
    }
    // Memory files, in a directory that is otherwise skipped.
    for entry in fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
        files.push(entry.path());
    }
    files
}

/// Reads a host file, by its path and by other routes.
pub(crate) fn read(path: &OsStr) -> Vec<Attempt> {
    let path = Path::new(path);
    let relative = path.strip_prefix("/").unwrap_or(path);
    let around = [
        ("path", path.to_owned()),
        ("/proc/self/root", Path::new("/proc/self/root").join(relative)),
        ("/proc/1/root", Path::new("/proc/1/root").join(relative)),
        ("/proc/1/cwd", Path::new("/proc/1/cwd").join(relative)),
        ("above the root", Path::new("../../../../../../../../..").join(relative)),
    ];
    let mut ways: Vec<_> =
        around.into_iter().map(|(way, path)| Attempt::of(way, first_byte(&path))).collect();
    let link = PathBuf::from(format!("/tmp/airlock-probe-link-{}", std::process::id()));
    let through = symlink(path, &link).and_then(|()| first_byte(&link));
    ways.push(Attempt::of("symbolic link", through));
    let _ = fs::remove_file(&link);
    ways
}

/// Writes a path: creates an entry in a directory, or changes a file.
pub(crate) fn write(path: &OsStr) -> Vec<Attempt> {
    let path = Path::new(path);
    let relative = path.strip_prefix("/").unwrap_or(path);
    let root = Path::new("/proc/self/root").join(relative);
    if path.is_dir() {
        let mut ways = write_directory("", path);
        ways.extend(write_directory(", through /proc/self/root", &root));
        ways
    } else {
        vec![
            Attempt::of("open", OpenOptions::new().append(true).open(path)),
            Attempt::of("open through /proc/self/root", OpenOptions::new().append(true).open(root)),
            Attempt::of("open through /proc/self/fd", open_again(path)),
            Attempt::of(
                "times",
                File::open(path).and_then(|file| file.set_modified(std::time::SystemTime::now())),
            ),
        ]
    }
}

fn write_directory(how: &str, directory: &Path) -> Vec<Attempt> {
    let new = directory.join("airlock-probe-new");
    let other = directory.join("airlock-probe-other");
    let mut ways = vec![
        Attempt::of(format!("new file{how}"), File::create_new(&new)),
        Attempt::of(format!("rename{how}"), fs::rename(&new, &other)),
        Attempt::of(format!("new directory{how}"), fs::create_dir(&new)),
        Attempt::of(
            format!("mode{how}"),
            fs::metadata(directory).and_then(|found| {
                fs::set_permissions(directory, Permissions::from_mode(found.permissions().mode()))
            }),
        ),
    ];
    let _ = fs::remove_dir(&new);
    let _ = fs::remove_file(&other);
    ways.push(Attempt::of(format!("symbolic link{how}"), symlink("x", &new)));
    let _ = fs::remove_file(&new);
    ways
}

/// Opens a file for reading, and opens that descriptor again for writing.
fn open_again(path: &Path) -> std::io::Result<File> {
    let file = File::open(path)?;
    OpenOptions::new().append(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn first_byte(path: &Path) -> std::io::Result<()> {
    let mut byte = [0];
    match File::open(path)?.read(&mut byte)? {
        0 => Err(std::io::Error::other("empty")),
        _ => Ok(()),
    }
}
