//! Names the policy knows apart from programs: variables, protected paths,
//! directories, global options of programs with subcommands.

/// Variables that an assignment may set before a command without a second look:
/// they change how a build or a display behaves, and load or run nothing.
pub(crate) const SAFE_VARIABLES: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "LINES",
    "CI",
    "DEBUG",
    "VERBOSE",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "CARGO_TERM_COLOR",
    "NODE_ENV",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "SOURCE_DATE_EPOCH",
    "GREP_COLOR",
    "GREP_COLORS",
    "LS_COLORS",
    "TIMEFORMAT",
];

/// Variables whose reading or setting changes what runs or how text is read.
const DANGEROUS: &[&str] = &[
    "IFS",
    "PATH",
    "BASH_ENV",
    "ENV",
    "CDPATH",
    "PS4",
    "PS1",
    "PS0",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "GLOBIGNORE",
    "BASH_LOADABLES_PATH",
    "HOME",
    "SHELL",
    "TMPDIR",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "RIPGREP_CONFIG_PATH",
    "TAR_OPTIONS",
    "GREP_OPTIONS",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "GOFLAGS",
    "RUSTFLAGS",
    "RUSTC_WRAPPER",
    "RUSTC",
    "CC",
    "CXX",
    "LD",
    "MAKEFLAGS",
    "POSIXLY_CORRECT",
    "EXECIGNORE",
    "FPATH",
    "HISTFILE",
    "FCEDIT",
];

/// Variables whose value bash itself evaluates as arithmetic (a subscript in it may
/// hold a substitution), expands, or runs as a file.
const EVALUATED: &[&str] = &[
    "RANDOM",
    "SRANDOM",
    "SECONDS",
    "LINENO",
    "OPTIND",
    "HISTCMD",
    "BASHPID",
    "EPOCHSECONDS",
    "BASH_SUBSHELL",
    "PPID",
    "UID",
    "EUID",
    "PS4",
    "BASH_ENV",
];

/// Whether a value given to the variable is evaluated, and not only stored.
pub(crate) fn is_evaluated(name: &[u8]) -> bool {
    EVALUATED.iter().any(|known| known.as_bytes() == name) || name.starts_with(b"BASH_FUNC_")
}

/// Whether bash gives the variable values of its own, whatever the text assigns.
pub(crate) fn is_set_by_bash(name: &[u8]) -> bool {
    const SET: &[&[u8]] = &[
        b"_",
        b"REPLY",
        b"MAPFILE",
        b"COPROC",
        b"OPTARG",
        b"PWD",
        b"OLDPWD",
        b"FUNCNAME",
        b"DIRSTACK",
        b"PIPESTATUS",
        b"GROUPS",
    ];
    SET.contains(&name)
        || [&b"BASH_"[..], b"COMP_", b"READLINE_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether setting the variable changes what runs.
pub(crate) fn is_dangerous_variable(name: &[u8]) -> bool {
    DANGEROUS.iter().any(|known| known.as_bytes() == name)
        || [&b"LD_"[..], b"DYLD_", b"GIT_", b"BASH_FUNC_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Whether the variable may be set before a command that is allowed.
pub(crate) fn is_safe_variable(name: &[u8]) -> bool {
    SAFE_VARIABLES.iter().any(|known| known.as_bytes() == name)
}

/// Directories whose programs are what their names say.
pub(crate) const TRUSTED_DIRECTORIES: &[&[u8]] = &[b"/usr/bin/", b"/bin/", b"/usr/sbin/", b"/sbin/"];

/// Files that steer other programs: writing them is asked about even inside.
pub(crate) const PROTECTED_FILES: &[&str] = &[
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
    ".ripgreprc",
    ".mcp.json",
    ".claude.json",
];

/// Directories likewise, with all that is in them.
pub(crate) const PROTECTED_DIRECTORIES: &[&str] = &[".git", ".vscode", ".idea", ".claude", ".airlock"];

/// A global option before the subcommand.
pub(crate) struct GlobalOption {
    pub(crate) program: &'static str,
    pub(crate) flag: &'static str,
    pub(crate) takes_value: bool,
    /// Whether it changes nothing but where or how the output is shown.
    pub(crate) harmless: bool,
}

const fn global(
    program: &'static str,
    flag: &'static str,
    takes_value: bool,
    harmless: bool,
) -> GlobalOption {
    GlobalOption { program, flag, takes_value, harmless }
}

pub(crate) const GLOBAL_OPTIONS: &[GlobalOption] = &[
    global("git", "--no-pager", false, true),
    global("git", "-P", false, true),
    global("git", "--no-optional-locks", false, true),
    global("git", "--no-replace-objects", false, true),
    global("git", "--literal-pathspecs", false, true),
    global("git", "--glob-pathspecs", false, true),
    global("git", "--noglob-pathspecs", false, true),
    global("git", "--icase-pathspecs", false, true),
    // As `cd DIR && git`: the directory is checked as a path.
    global("git", "-C", true, true),
    global("git", "-c", true, false),
    global("git", "--config-env", true, false),
    global("git", "--exec-path", false, false),
    global("git", "--git-dir", true, false),
    global("git", "--work-tree", true, false),
    global("git", "--namespace", true, false),
    global("git", "--super-prefix", true, false),
    global("git", "--bare", false, false),
    global("git", "-p", false, false),
    global("git", "--paginate", false, false),
    global("git", "--attr-source", true, false),
    global("docker", "-H", true, false),
    global("docker", "--host", true, false),
    global("docker", "--context", true, false),
    global("docker", "-c", true, false),
    global("docker", "--config", true, false),
    global("docker", "-D", false, false),
    global("docker", "--debug", false, false),
    global("docker", "-l", true, false),
    global("docker", "--log-level", true, false),
    global("kubectl", "-n", true, true),
    global("kubectl", "--namespace", true, true),
    global("kubectl", "--context", true, false),
    global("kubectl", "--kubeconfig", true, false),
    global("kubectl", "-s", true, false),
    global("kubectl", "--server", true, false),
    global("npm", "--prefix", true, false),
    global("npm", "-C", true, false),
    global("npm", "--silent", false, true),
    global("npm", "-s", false, true),
    global("cargo", "-q", false, true),
    global("cargo", "--quiet", false, true),
    global("cargo", "-v", false, true),
    global("cargo", "--offline", false, true),
    global("cargo", "--locked", false, true),
    global("cargo", "--config", true, false),
    global("cargo", "-Z", true, false),
    global("systemctl", "--user", false, false),
    global("gh", "-R", true, true),
    global("gh", "--repo", true, true),
];

/// Programs that do nothing but print their version when this is all they are told.
pub(crate) const VERSION_FLAGS: &[(&str, &str)] = &[
    ("node", "--version -v"),
    ("npm", "--version -v"),
    ("yarn", "--version -v"),
    ("pnpm", "--version -v"),
    ("deno", "--version -V"),
    ("bun", "--version -v"),
    ("python", "--version -V"),
    ("python3", "--version -V"),
    ("pip", "--version -V"),
    ("pip3", "--version -V"),
    ("ruby", "--version -v"),
    ("perl", "--version -v"),
    ("php", "--version -v"),
    ("rustc", "--version -V -vV"),
    ("cargo", "--version -V"),
    ("rustup", "--version -V"),
    ("go", "version"),
    ("java", "--version -version"),
    ("javac", "--version -version"),
    ("git", "--version -v"),
    ("gcc", "--version"),
    ("g++", "--version"),
    ("clang", "--version"),
    ("make", "--version -v"),
    ("cmake", "--version"),
    ("docker", "--version -v"),
    ("gh", "--version"),
    ("curl", "--version -V"),
    ("bash", "--version"),
    ("tar", "--version"),
    ("jest", "--version"),
    ("tsc", "--version -v"),
];

/// Programs whose first operand is a subcommand.
pub(crate) fn has_subcommands(program: &str) -> bool {
    matches!(program, "docker" | "gh" | "npm" | "pip" | "pip3" | "go")
        || GLOBAL_OPTIONS.iter().any(|option| option.program == program)
}
