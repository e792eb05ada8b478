//! A view of a sandbox's files before the sandbox exists: resolves paths as they are inside the sandbox, through links.
//!
//! Each component is opened through a handle on the mount that would show it, never through a link. Links are read and
//! followed here. If the session's files belong to another user, use it on a thread with the rights of that user.

use std::{
    cell::Cell,
    collections::VecDeque,
    fs::File,
    io::{self, Read},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use airlock_domain::FileState;
use airlock_sandbox::{HOME, Profile, Root, SessionDirectories, WORKSPACE};
use rustix::{
    fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags, fstat, openat, openat2, readlinkat},
    io::Errno,
};
use sha2::{Digest as _, Sha256};

/// The maximum number of links on one path; the kernel's own limit.
const LINKS: u32 = 40;
/// The maximum number of components of all paths together.
const STEPS: u32 = 200_000;
/// The number of bytes of a file that are read at once.
const READ_BYTES: usize = 128 * 1024;
const HANDLE: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The owner of a place inside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The root's: no command can write there.
    ReadOnly,
    /// The session's: its commands can write there.
    Session,
    /// The kernel's: the contents depend on the reading process.
    Kernel,
}

/// The target of a path.
#[derive(Debug)]
pub(super) struct Resolved {
    /// The absolute path inside the sandbox, without links.
    pub(super) path: Vec<u8>,
    pub(super) owner: Owner,
    pub(super) is_there: bool,
    /// Whether it is a file with an execute permission.
    pub(super) is_program: bool,
    /// Whether the path leads through a link that a command could change at any moment.
    pub(super) by_session: bool,
}

/// A path that cannot be followed: too many links, or an unreadable directory.
#[derive(Debug)]
pub(super) struct Unresolvable;

type Components = Vec<Vec<u8>>;

/// The mounts and links of a sandbox.
#[derive(Debug)]
pub(super) struct View {
    mounts: Vec<Mount>,
    links: Vec<(Components, Vec<u8>)>,
    steps: Cell<u32>,
}

#[derive(Debug)]
struct Mount {
    at: Components,
    /// `None` if it does not exist on the host. No sandbox can then start.
    root: Option<OwnedFd>,
    owner: Owner,
}

/// The contents of a file.
pub(super) enum Text {
    /// The file does not exist.
    Nothing,
    /// The whole contents.
    Bytes(Vec<u8>),
    /// The file is too large or cannot be read.
    Unknown,
}

/// The kind of a directory entry.
enum EntryKind {
    Nothing,
    Link(Vec<u8>),
    Other { is_program: bool },
}

impl View {
    /// Opens the mounts that a sandbox of this profile and session would show.
    pub(super) fn open(profile: &Profile, directories: &SessionDirectories, read_only: bool) -> Self {
        let mut view = Self { mounts: Vec::new(), links: Vec::new(), steps: Cell::new(0) };
        if let Root::Directory(source) = &profile.root {
            view.mount(Path::new("/"), source, OFlags::empty(), Owner::ReadOnly);
        }
        for bind in &profile.binds {
            view.mount(&bind.target, &bind.source, OFlags::empty(), Owner::ReadOnly);
        }
        let own =
            [(WORKSPACE, &directories.workspace), (HOME, &directories.home), ("/tmp", &directories.tmp)];
        for (target, source) in own {
            view.mount(Path::new(target), source, OFlags::NOFOLLOW, Owner::Session);
        }
        for link in &profile.symlinks {
            view.links.push((components(bytes(&link.link)).collect(), bytes(&link.target).to_vec()));
        }
        if !read_only {
            view.links.push((components(b"/var/tmp").collect(), b"/tmp".to_vec()));
        }
        view
    }

    /// Opens only the session's own directories.
    pub(super) fn of_session(directories: &SessionDirectories) -> Self {
        let bare =
            Profile { binds: Vec::new(), symlinks: Vec::new(), root: Root::default(), ..Profile::default() };
        Self::open(&bare, directories, false)
    }

    /// Returns the state of the file at the end of a path, and the number of bytes read. The file must belong to the
    /// session and have at most `most` bytes. `is_over` cancels the read.
    pub(super) fn contents(&self, path: &[u8], most: u64, is_over: &dyn Fn() -> bool) -> (FileState, u64) {
        let Ok(resolved) = self.follow(path, true) else { return (FileState::Other, 0) };
        if resolved.owner != Owner::Session {
            return (FileState::Other, 0);
        }
        if !resolved.is_there {
            let at: Components = components(&resolved.path).collect();
            let is_open = self.mount_of(&at).is_some_and(|mount| mount.root.is_some());
            return (if is_open { FileState::Absent } else { FileState::Unknown }, 0);
        }
        self.read(&resolved.path, most, is_over).unwrap_or((FileState::Other, 0))
    }

    /// Returns the contents of the file that a path leads to, if the file has at most `most` bytes. Follows all links.
    pub(super) fn text(&self, path: &[u8], most: u64) -> Text {
        let resolved = match self.follow(path, true) {
            Ok(resolved) if resolved.owner == Owner::Kernel => return Text::Unknown,
            Ok(resolved) if !resolved.is_there => return Text::Nothing,
            Ok(resolved) => resolved,
            Err(Unresolvable) => return Text::Unknown,
        };
        let Some(file) = self.open_beneath(&resolved.path, OFlags::empty()) else { return Text::Unknown };
        match fstat(&file).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::RegularFile) => {}
            Ok(FileType::Directory) => return Text::Nothing,
            _ => return Text::Unknown,
        }
        let mut text = Vec::new();
        match File::from(file).take(most + 1).read_to_end(&mut text) {
            Ok(read) if read as u64 <= most => Text::Bytes(text),
            _ => Text::Unknown,
        }
    }

    /// Returns the names in a directory. Empty if there is no directory.
    pub(super) fn names(&self, path: &[u8], most: usize) -> Result<Vec<Vec<u8>>, Unresolvable> {
        let resolved = self.follow(path, true)?;
        if resolved.owner == Owner::Kernel {
            return Err(Unresolvable);
        }
        if !resolved.is_there {
            return Ok(Vec::new());
        }
        let directory = self.open_beneath(&resolved.path, OFlags::DIRECTORY).ok_or(Unresolvable);
        let directory = match directory.and_then(|file| Dir::new(file).map_err(|_| Unresolvable)) {
            Ok(directory) => directory,
            // A file with this name has no entries.
            Err(_) if self.open_beneath(&resolved.path, OFlags::empty()).is_some() => return Ok(Vec::new()),
            Err(unresolvable) => return Err(unresolvable),
        };
        let mut names = Vec::new();
        for entry in directory {
            let name = entry.map_err(|_| Unresolvable)?.file_name().to_bytes().to_vec();
            if !matches!(name.as_slice(), b"." | b"..") {
                names.push(name);
            }
            if names.len() > most {
                return Err(Unresolvable);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a path that contains no links.
    fn open_beneath(&self, path: &[u8], more: OFlags) -> Option<OwnedFd> {
        let at: Components = components(path).collect();
        let mount = self.mount_of(&at)?;
        let below = at.get(mount.at.len()..)?.join(&b'/');
        let below = if below.is_empty() { b".".to_vec() } else { below };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        // Without waiting for the writer of a pipe.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
        openat2(mount.root.as_ref()?, below.as_slice(), flags, Mode::empty(), resolve).ok()
    }

    /// Reads a file. `None` if it is not a file that the session can read.
    fn read(&self, path: &[u8], most: u64, is_over: &dyn Fn() -> bool) -> Option<(FileState, u64)> {
        let file = self.open_beneath(path, OFlags::empty())?;
        let stat = fstat(&file).ok()?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        if u64::try_from(stat.st_size).ok()? > most {
            return Some((FileState::TooLarge, 0));
        }
        let (digest, read) = digest(File::from(file).take(most + 1), is_over).ok()?;
        // The file may have grown meanwhile.
        let state = if read > most { FileState::TooLarge } else { FileState::Digest(digest) };
        Some((state, read))
    }

    fn mount(&mut self, target: &Path, source: &Path, flags: OFlags, owner: Owner) {
        let root = openat(CWD, source, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty()).ok();
        self.mounts.push(Mount { at: components(bytes(target)).collect(), root, owner });
    }

    /// Returns the owner of a place, without following links.
    pub(super) fn owner_of(&self, path: &[u8]) -> Owner {
        let at: Components = components(path).collect();
        self.owner(&at)
    }

    /// Reports whether two paths are in the same session directory, such as the workspace.
    pub(super) fn is_one_directory(&self, one: &[u8], other: &[u8]) -> bool {
        let [one, other] = [one, other].map(|path| components(path).collect::<Components>());
        let of_session = |at| self.mount_of(at).filter(|mount| mount.owner == Owner::Session);
        of_session(&one).zip(of_session(&other)).is_some_and(|(one, other)| one.at == other.at)
    }

    /// Resolves an absolute path. `last` states whether a link at its end is followed.
    pub(super) fn follow(&self, path: &[u8], last: bool) -> Result<Resolved, Unresolvable> {
        let mut todo: VecDeque<Vec<u8>> = components(path).collect();
        let mut at: Components = Vec::new();
        let (mut links, mut is_program, mut by_session) = (0, false, false);
        while let Some(part) = todo.pop_front() {
            self.step()?;
            if part == b".." {
                at.pop();
                continue;
            }
            at.push(part);
            match self.look(&at)? {
                EntryKind::Link(target) if last || !todo.is_empty() => {
                    links += 1;
                    by_session |= self.owner(&at) == Owner::Session;
                    if links > LINKS {
                        return Err(Unresolvable);
                    }
                    at.pop();
                    if target.first() == Some(&b'/') {
                        at.clear();
                    }
                    for part in components(&target).collect::<Vec<_>>().into_iter().rev() {
                        todo.push_front(part);
                    }
                }
                EntryKind::Link(_) => {}
                EntryKind::Other { is_program: program } => is_program = program,
                EntryKind::Nothing => {
                    // Below a missing component nothing exists, even through `..`.
                    at.extend(todo);
                    return Ok(Resolved { by_session, ..self.resolved(&at, false, false) });
                }
            }
        }
        Ok(Resolved { by_session, ..self.resolved(&at, true, is_program) })
    }

    fn resolved(&self, at: &[Vec<u8>], is_there: bool, is_program: bool) -> Resolved {
        let path = at.iter().fold(Vec::new(), |path, part| [&path, b"/".as_slice(), part].concat());
        let path = if path.is_empty() { b"/".to_vec() } else { path };
        Resolved { path, owner: self.owner(at), is_there, is_program, by_session: false }
    }

    fn step(&self) -> Result<(), Unresolvable> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > STEPS { Err(Unresolvable) } else { Ok(()) }
    }

    fn owner(&self, at: &[Vec<u8>]) -> Owner {
        let first = at.first().map(Vec::as_slice);
        if let Some(b"proc" | b"dev" | b"sys" | b"run") = first {
            return Owner::Kernel;
        }
        let is_private_tmp = at.get(..2).is_some_and(|two| two == [b"var".to_vec(), b"tmp".to_vec()]);
        match self.mount_of(at) {
            // Private, whatever the root file system contains there.
            _ if is_private_tmp => Owner::Session,
            Some(mount) => mount.owner,
            // The root is a read-only file system in memory.
            None => Owner::ReadOnly,
        }
    }

    /// Returns the mount that shows a place: the deepest, and of two at the same place the later.
    fn mount_of(&self, at: &[Vec<u8>]) -> Option<&Mount> {
        let above = self.mounts.iter().filter(|mount| at.starts_with(&mount.at));
        above.max_by_key(|mount| mount.at.len())
    }

    fn look(&self, at: &[Vec<u8>]) -> Result<EntryKind, Unresolvable> {
        let mount = self.mount_of(at);
        let link = self.links.iter().find(|(link, _)| link == at);
        if let Some((_, target)) = link.filter(|_| mount.is_none_or(|mount| mount.at.is_empty())) {
            return Ok(EntryKind::Link(target.clone()));
        }
        if self.mounts.iter().any(|mount| mount.at.len() > at.len() && mount.at.starts_with(at)) {
            return Ok(EntryKind::Other { is_program: false });
        }
        let Some(mount) = mount else { return Ok(EntryKind::Nothing) };
        let Some(root) = &mount.root else { return Ok(EntryKind::Nothing) };
        let below = at.get(mount.at.len()..).unwrap_or_default().join(&b'/');
        let opened;
        let file = if below.is_empty() {
            root
        } else {
            let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
            opened = match openat2(root, below.as_slice(), HANDLE, Mode::empty(), resolve) {
                Ok(file) => file,
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(EntryKind::Nothing),
                Err(_) => return Err(Unresolvable),
            };
            &opened
        };
        let stat = fstat(file).map_err(|_| Unresolvable)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(file, "", Vec::new()).map_err(|_| Unresolvable)?;
                Ok(EntryKind::Link(target.into_bytes()))
            }
            FileType::RegularFile => Ok(EntryKind::Other { is_program: stat.st_mode & 0o111 != 0 }),
            _ => Ok(EntryKind::Other { is_program: false }),
        }
    }
}

/// Returns the SHA-256 of a file and the number of its bytes. An error if `is_over` cancels the read.
fn digest(mut file: impl Read, is_over: &dyn Fn() -> bool) -> io::Result<([u8; 32], u64)> {
    let (mut hash, mut total, mut buffer) = (Sha256::new(), 0, vec![0; READ_BYTES]);
    loop {
        if is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((hash.finalize().into(), total));
        }
        hash.update(buffer.get(..read).unwrap_or_default());
        total += read as u64;
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn components(path: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let named = |part: &&[u8]| !matches!(*part, b"" | b".");
    path.split(|byte| *byte == b'/').filter(named).map(<[u8]>::to_vec)
}
