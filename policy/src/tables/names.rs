//! Names the policy knows apart from programs: variables, protected paths,
//! directories. A name of the data that ends with `*` stands for any rest.

use super::data;

type Names = &'static [(&'static str, &'static str)];

/// The reason why the name is on the list.
fn listed(names: Names, name: &[u8]) -> Option<&'static str> {
    let exact = names.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok();
    let entry = exact.and_then(|at| names.get(at)).or_else(|| {
        names.iter().find(|(known, _)| {
            known.strip_suffix('*').is_some_and(|start| name.starts_with(start.as_bytes()))
        })
    });
    entry.map(|(_, reason)| *reason)
}

/// Whether a value given to the variable is evaluated by bash, and not only stored.
pub(crate) fn is_evaluated(name: &[u8]) -> bool {
    listed(data::EVALUATED_VARIABLES, name).is_some()
}

/// Whether bash gives the variable values of its own, whatever the text assigns.
pub(crate) fn is_set_by_bash(name: &[u8]) -> bool {
    listed(data::SET_BY_BASH, name).is_some()
}

/// Whether setting the variable changes what runs or how text is read.
pub(crate) fn is_dangerous_variable(name: &[u8]) -> bool {
    airlock_variables::is_dangerous(name)
}

/// Whether reading the variable is refused.
pub(crate) fn is_telling_variable(name: &[u8]) -> bool {
    listed(data::TELLING_VARIABLES, name).is_some()
}

/// Whether the variable may be set before a command that is allowed.
pub(crate) fn is_safe_variable(name: &[u8]) -> bool {
    airlock_variables::is_safe(name)
}

/// Whether other programs run what the variable is set to.
pub(crate) fn is_command_variable(name: &[u8]) -> bool {
    listed(data::COMMAND_VARIABLES, name).is_some()
}

/// Whether git runs the value of a setting whose name ends so.
pub(crate) fn is_git_command_setting(last: &[u8]) -> bool {
    listed(data::GIT_COMMAND_SETTINGS, last).is_some()
}

/// Whether an option `NAME=text` of that name runs its text.
pub(crate) fn is_command_option(name: &[u8]) -> bool {
    listed(data::COMMAND_OPTIONS, name).is_some()
}

/// Whether programs in the directory are what their names say.
pub(crate) fn is_trusted_directory(path: &[u8]) -> bool {
    listed(data::TRUSTED_DIRECTORIES, path).is_some()
}

/// Whether writing a file of that name steers other programs.
pub(crate) fn is_protected_file(name: &str) -> bool {
    listed(data::PROTECTED_FILES, name.as_bytes()).is_some()
}

/// Whether writing anything in a directory of that name does.
pub(crate) fn is_protected_directory(name: &str) -> bool {
    listed(data::PROTECTED_DIRECTORIES, name.as_bytes()).is_some()
}

/// The protected names: files first, then directories.
pub(crate) fn protected_names() -> impl Iterator<Item = &'static str> {
    data::PROTECTED_FILES.iter().chain(data::PROTECTED_DIRECTORIES).map(|(name, _)| *name)
}

/// Whether reading and writing the file touches nothing.
pub(crate) fn is_nobodys(path: &str) -> bool {
    listed(data::NOBODYS_FILES, path.as_bytes()).is_some()
}

/// Whether the parameter of PowerShell, in small letters, changes nothing of what runs.
pub(crate) fn is_powershell_switch(name: &[u8]) -> bool {
    listed(data::POWERSHELL_SWITCHES, name).is_some()
}

/// Whether PowerShell with this parameter alone, in small letters, only tells of itself.
pub(crate) fn tells_of_powershell(name: &[u8]) -> bool {
    listed(data::POWERSHELL_TELLS, name).is_some()
}

/// Whether the path is, or lies below, something that every sandbox shows of its root.
pub(crate) fn is_base(path: &str) -> bool {
    let mut above = Some(path);
    while let Some(here) = above.filter(|here| !here.is_empty()) {
        if listed(data::READABLE_BASE, here.as_bytes()).is_some() {
            return true;
        }
        above = here.rfind('/').and_then(|at| here.get(..at));
    }
    false
}

/// What every sandbox shows of its root, as absolute paths.
pub(crate) fn base() -> impl Iterator<Item = &'static str> {
    data::READABLE_BASE.iter().map(|(path, _)| *path)
}

/// Whether the names in the directory may be read, and no more of it.
pub(crate) fn is_listed_directory(path: &str) -> bool {
    listed(data::LISTED_DIRECTORIES, path.as_bytes()).is_some()
}

/// Whether the program reads names and no contents.
pub(crate) fn is_lister(name: &[u8]) -> bool {
    listed(data::LISTERS, name).is_some()
}

/// Whether the program hands text among its arguments to a shell.
pub(crate) fn hands_to_shell(name: &[u8]) -> bool {
    listed(data::HANDS_TO_SHELL, name).is_some()
}

/// Whether the shell, told `-n` and no more, reads a script and runs nothing.
pub(crate) fn checks_syntax(name: &[u8]) -> bool {
    listed(data::SYNTAX_CHECKERS, name).is_some()
}

/// Whether zsh does more for the word, where a program stands, than bash would.
pub(crate) fn is_zsh_danger(name: &[u8]) -> bool {
    listed(data::ZSH_DANGERS, name).is_some()
}
