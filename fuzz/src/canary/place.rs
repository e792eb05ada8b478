//! The canary's sandbox: Airlock's own for a read-only command, with its arguments and environment, but with a writable
//! workspace, HOME and /tmp. A command can write there in the same way as on a faulty mount, so every write is
//! detected. One process runs in each sandbox, in place of `airlock-init`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use airlock_sandbox::env::{EnvRequest, Variable, build_env};
use airlock_sandbox::{HOME, Limits, Network, Profile, Shape, Sources, USER, WORKSPACE, bwrap_args};
use tempfile::TempDir;

/// The program inside the sandbox, at the path of `airlock-init`.
const INIT: &str = "/run/airlock/init";
/// The first directory in PATH, empty on Debian. Programs get the names that the policy expects
/// here.
const NAMES: &str = "/usr/local/sbin";

/// The directories that must not change.
pub const WATCHED: [&str; 3] = [WORKSPACE, HOME, "/tmp"];

/// A program of this system under another name.
#[derive(Debug, Clone, Copy)]
pub struct Alias {
    /// The name in PATH.
    pub name: &'static str,
    /// The program's file.
    pub program: &'static str,
}

/// The configuration that is added to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// No configuration.
    Nothing,
    /// Settings that name a program, and that a read-only run overrides.
    Overridden,
    /// Settings that name a program and that withdraw the verdict.
    Naming,
}

impl Planted {
    /// All variants. A short run uses the first two.
    pub const ALL: [Self; 3] = [Self::Naming, Self::Overridden, Self::Nothing];

    /// Returns the name for the program inside the sandbox.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Overridden => "overridden",
            Self::Naming => "naming",
        }
    }

    /// Returns the variant of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|planted| planted.name() == name)
    }
}

/// The directories of one sandbox, removed on drop.
#[derive(Debug)]
pub struct CanarySandbox {
    directory: TempDir,
    aliases: Vec<Alias>,
    planted: Planted,
}

impl CanarySandbox {
    /// Creates the directories. `driver` is the program that runs inside the sandbox.
    ///
    /// # Errors
    ///
    /// Returns an error if a directory or file cannot be created.
    pub fn new(driver: &Path, aliases: Vec<Alias>, planted: Planted) -> io::Result<Self> {
        let place = Self { directory: tempfile::tempdir()?, aliases, planted };
        for name in ["workspace", "home", "tmp", "runtime", "runtime/etc"] {
            fs::create_dir(place.at(name))?;
        }
        symlink(driver, place.at("runtime/init"))?;
        let write = |name: &str, text: &str| fs::write(place.at("runtime").join(name), text);
        write("bash_env", "unset BASH_ENV\nshopt -u extglob\n")?;
        write(
            "etc/passwd",
            &format!(
                "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n{USER}:x:1000:1000::{HOME}:/bin/bash\n"
            ),
        )?;
        write("etc/group", &format!("root:x:0:\n{USER}:x:1000:\n"))?;
        write("etc/hosts", "127.0.0.1 localhost airlock\n")?;
        write("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")?;
        // The settings for a read-only command's git are also passed as variables, which take
        // precedence.
        write("etc/gitconfig-read-only", "")?;
        write("etc/ssh_config", "")?;
        Ok(place)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Returns the command that starts the driver inside the sandbox.
    #[must_use]
    pub fn command(&self) -> Command {
        let sources = Sources {
            workspace: self.at("workspace"),
            home: self.at("home"),
            tmp: self.at("tmp"),
            runtime: self.at("runtime"),
        };
        let shape = Shape { read_only: true, network: Network::Empty };
        let limits = Limits { var_tmp: 64 << 20, ..Limits::default() };
        let mut args = bwrap_args(&Profile::minimal(), &sources, &limits, shape);
        make_writable(&mut args, &sources);
        let mut more = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        more(&["--chdir", WORKSPACE, "--perms", "0755", "--tmpfs", NAMES]);
        for alias in &self.aliases {
            more(&["--symlink", alias.program, &format!("{NAMES}/{}", alias.name)]);
        }
        more(&["--remount-ro", NAMES, "--", INIT, "inside", self.planted.name()]);
        let mut command = Command::new("bwrap");
        command.args(args).env_clear().envs(environment()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }
}

/// Makes the three directories writable. Airlock binds them read-only for such a command.
fn make_writable(args: &mut [OsString], sources: &Sources) {
    let directories = [&sources.workspace, &sources.home, &sources.tmp];
    for index in 1..args.len() {
        let (before, from) = args.split_at_mut(index);
        let is_directory = from
            .first()
            .is_some_and(|word| directories.iter().any(|directory| directory.as_os_str() == word));
        if let Some(option) = before.last_mut().filter(|_| is_directory) {
            *option = OsString::from("--bind");
        }
    }
}

/// Returns the environment of a read-only command. The driver passes it on.
fn environment() -> Vec<(OsString, OsString)> {
    let none: &[Variable] = &[];
    let profile = Profile::minimal();
    let request = EnvRequest {
        profile: &profile,
        session_id: "canary",
        passed: none,
        session: none,
        request: none,
        traceparent: None,
        read_only: true,
        unsandboxed: false,
    };
    // The request contains only Airlock's own variables, so that it cannot be refused.
    build_env(&request).unwrap_or_default()
}

/// Returns the program of that name in Airlock's PATH on this host.
#[must_use]
pub fn installed(name: &str) -> Option<PathBuf> {
    let profile = Profile::minimal();
    let mut directories = profile.path.split(':').map(Path::new);
    directories.find_map(|directory| Some(directory.join(name)).filter(|file| is_program(file)))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let bits = fs::metadata(file).map(|found| if found.is_file() { found.permissions().mode() } else { 0 });
    bits.is_ok_and(|mode| mode & 0o111 != 0)
}

/// Returns the installed awks. Debian has one sed and one grep, but three awks.
#[must_use]
pub fn awks() -> Vec<Alias> {
    let all = ["/usr/bin/gawk", "/usr/bin/mawk", "/usr/bin/original-awk"];
    let there = all.into_iter().filter(|file| is_program(Path::new(file)));
    there.map(|program| Alias { name: "awk", program }).collect()
}

/// Returns the programs that Debian installs under another name.
#[must_use]
pub fn renamed() -> Vec<Alias> {
    let all = [
        Alias { name: "fd", program: "/usr/bin/fdfind" },
        Alias { name: "nawk", program: "/usr/bin/original-awk" },
    ];
    let absent = |alias: &Alias| !is_program(&Path::new("/usr/bin").join(OsStr::new(alias.name)));
    all.into_iter().filter(|alias| is_program(Path::new(alias.program)) && absent(alias)).collect()
}

/// Builtins of bash that the tables list as programs.
const BUILTINS: &str = ": [ alias bind break builtin caller cd command compgen continue declare dirs echo exit export \
                        false getopts hash help history jobs let local popd printf pushd pwd read return shift \
                        shopt test times true type typeset ulimit umask unset wait";

/// Returns whether bash finds the program inside the sandbox.
#[must_use]
pub fn is_there(name: &str) -> bool {
    let mut aliases = renamed().into_iter().chain(awks());
    BUILTINS.split_whitespace().any(|builtin| builtin == name)
        || installed(name).is_some()
        || aliases.any(|alias| alias.name == name)
}
