//! Names other than those of programs: variables, protected paths, directories. A name that ends
//! with `*` matches any suffix.

use super::data;

type Names = &'static [(&'static str, &'static str)];

/// Returns the reason why the name is in the list.
fn listed(names: Names, name: &[u8]) -> Option<&'static str> {
    let exact = names.binary_search_by(|(known, _)| known.as_bytes().cmp(name)).ok();
    let entry = exact.and_then(|at| names.get(at)).or_else(|| {
        names.iter().find(|(known, _)| {
            known.strip_suffix('*').is_some_and(|start| name.starts_with(start.as_bytes()))
        })
    });
    entry.map(|(_, reason)| *reason)
}

/// Reports whether bash evaluates a value that is assigned to the variable.
pub(crate) fn is_evaluated(name: &[u8]) -> bool {
    listed(data::EVALUATED_VARIABLES, name).is_some()
}

/// Reports whether setting the variable changes how bash reads the rest of the text.
pub(crate) fn changes_reading(name: &[u8]) -> bool {
    listed(data::READING_VARIABLES, name).is_some()
}

/// Reports whether bash sets the variable itself, regardless of assignments.
pub(crate) fn is_set_by_bash(name: &[u8]) -> bool {
    listed(data::SET_BY_BASH, name).is_some()
}

/// Reports whether the variable changes which programs run or how the shell reads text.
pub(crate) fn is_dangerous_variable(name: &[u8]) -> bool {
    airlock_variables::is_dangerous(name)
}

/// Reports whether reading the variable is refused.
pub(crate) fn is_telling_variable(name: &[u8]) -> bool {
    listed(data::TELLING_VARIABLES, name).is_some()
}

/// Reports whether the variable may be set before an allowed command.
pub(crate) fn is_safe_variable(name: &[u8]) -> bool {
    airlock_variables::is_safe(name)
}

/// Reports whether other programs run the variable's value.
pub(crate) fn is_command_variable(name: &[u8]) -> bool {
    listed(data::COMMAND_VARIABLES, name).is_some()
}

/// Reports whether git runs the value of a setting with this last component.
pub(crate) fn is_git_command_setting(last: &[u8]) -> bool {
    listed(data::GIT_COMMAND_SETTINGS, last).is_some()
}

/// Reports whether the option `NAME=text` with this name runs its text.
pub(crate) fn is_command_option(name: &[u8]) -> bool {
    listed(data::COMMAND_OPTIONS, name).is_some()
}

/// Reports whether the programs in the directory can be trusted to be those that their names
/// indicate.
pub(crate) fn is_trusted_directory(path: &[u8]) -> bool {
    listed(data::TRUSTED_DIRECTORIES, path).is_some()
}

/// Reports whether a file with this name controls other programs.
pub(crate) fn is_protected_file(name: &str) -> bool {
    listed(data::PROTECTED_FILES, name.as_bytes()).is_some()
}

/// Reports whether files in a directory with this name control other programs.
pub(crate) fn is_protected_directory(name: &str) -> bool {
    listed(data::PROTECTED_DIRECTORIES, name.as_bytes()).is_some()
}

/// Returns the protected names: files first, then directories.
pub(crate) fn protected_names() -> impl Iterator<Item = &'static str> {
    data::PROTECTED_FILES.iter().chain(data::PROTECTED_DIRECTORIES).map(|(name, _)| *name)
}

/// Reports whether reading and writing the file has no effect.
pub(crate) fn is_unowned_file(path: &str) -> bool {
    listed(data::UNOWNED_FILES, path.as_bytes()).is_some()
}

/// Reports whether the PowerShell parameter, in lower case, does not affect which programs run.
pub(crate) fn is_powershell_switch(name: &[u8]) -> bool {
    listed(data::POWERSHELL_SWITCHES, name).is_some()
}

/// Reports whether PowerShell with only this parameter, in lower case, just prints information
/// about itself.
pub(crate) fn tells_of_powershell(name: &[u8]) -> bool {
    listed(data::POWERSHELL_TELLS, name).is_some()
}

/// Reports whether the path is, or is below, a path of the root that every sandbox shows.
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

/// Returns the absolute paths of the root that every sandbox shows.
pub(crate) fn base() -> impl Iterator<Item = &'static str> {
    data::READABLE_BASE.iter().map(|(path, _)| *path)
}

/// Reports whether a command may read the names in the directory, but not the files.
pub(crate) fn is_listed_directory(path: &str) -> bool {
    listed(data::LISTED_DIRECTORIES, path.as_bytes()).is_some()
}

/// Reports whether the program reads only names, not contents.
pub(crate) fn is_lister(name: &[u8]) -> bool {
    listed(data::LISTERS, name).is_some()
}

/// Reports whether the program passes an argument to a shell.
pub(crate) fn hands_to_shell(name: &[u8]) -> bool {
    listed(data::HANDS_TO_SHELL, name).is_some()
}

/// Reports whether the shell with only `-n` reads a script without running anything.
pub(crate) fn checks_syntax(name: &[u8]) -> bool {
    listed(data::SYNTAX_CHECKERS, name).is_some()
}

/// Reports whether zsh treats the word in command position differently from bash.
pub(crate) fn is_zsh_danger(name: &[u8]) -> bool {
    listed(data::ZSH_DANGERS, name).is_some()
}

/// Reports whether the type of .NET, in lower case and without `system.`, only computes.
pub(crate) fn is_pure_type(name: &str) -> bool {
    listed(data::POWERSHELL_PURE_TYPES, name.as_bytes()).is_some()
}

/// Reports whether the static member, as `type::member` in lower case and without `system.`, only reads or computes.
pub(crate) fn is_harmless_static_member(name: &str) -> bool {
    listed(data::POWERSHELL_STATIC_MEMBERS, name.as_bytes()).is_some()
}

/// Reports whether the type, in lower case and without `system.`, has a static member that only reads or computes.
pub(crate) fn has_harmless_static_members(name: &str) -> bool {
    has_member_of(data::POWERSHELL_STATIC_MEMBERS, name)
}

/// Reports whether the names contain a member `type::member` of this type.
fn has_member_of(names: Names, name: &str) -> bool {
    let start = format!("{name}::");
    let at = names.partition_point(|(member, _)| *member < start.as_str());
    names.get(at).is_some_and(|(member, _)| member.starts_with(&start))
}

/// Reports whether every method with this name, in lower case, only computes.
pub(crate) fn is_harmless_method(name: &str) -> bool {
    listed(data::POWERSHELL_METHODS, name.as_bytes()).is_some()
}

/// Reports whether PowerShell itself obeys the variable with this name in lower case.
pub(crate) fn is_obeyed_by_powershell(name: &str) -> bool {
    listed(data::POWERSHELL_OBEYED_VARIABLES, name.as_bytes()).is_some()
}

/// Reports whether a module with this name, in lower case, is built in.
pub(crate) fn is_powershell_module(name: &str) -> bool {
    listed(data::POWERSHELL_MODULES, name.as_bytes()).is_some()
}

/// Reports whether a member with this name, in lower case, is a property and never a method.
pub(crate) fn is_powershell_property(name: &str) -> bool {
    listed(data::POWERSHELL_PROPERTIES, name.as_bytes()).is_some()
}

/// Reports whether the command, in lower case, gets something from another host.
pub(crate) fn downloads(command: &str) -> bool {
    listed(data::POWERSHELL_DOWNLOADS, command.as_bytes()).is_some()
}

/// Reports whether objects of the type, in lower case and without `system.`, get something from another host.
pub(crate) fn is_download_type(name: &str) -> bool {
    listed(data::POWERSHELL_DOWNLOAD_TYPES, name.as_bytes()).is_some()
}

/// Reports whether the method, in lower case, gets something from another host.
pub(crate) fn is_download_method(name: &str) -> bool {
    listed(data::POWERSHELL_DOWNLOAD_METHODS, name.as_bytes()).is_some()
}

/// Reports whether the cmdlet, in lower case, runs its arguments, or a file that these name.
pub(crate) fn executes(cmdlet: &str) -> bool {
    listed(data::POWERSHELL_EXECUTES, cmdlet.as_bytes()).is_some()
}

/// Reports whether the method runs its arguments, or turns them into code. It is `type::method` or `.method`, in lower
/// case and without `system.`.
pub(crate) fn is_execute_method(name: &str) -> bool {
    listed(data::POWERSHELL_EXECUTE_METHODS, name.as_bytes()).is_some()
}

/// Returns the variables and expressions of PowerShell that stand for a directory, in lower case, with that directory.
pub(crate) fn powershell_places() -> impl Iterator<Item = (&'static str, &'static str)> {
    data::POWERSHELL_PLACES.iter().copied()
}

/// Reports whether the command, in lower case, runs text or programs in PowerShell or on Windows.
pub(crate) fn runs_anything_in_powershell(name: &str) -> bool {
    listed(data::POWERSHELL_RUNS_ANYTHING, name.as_bytes()).is_some()
}

/// Reports whether the cmdlet edits files, so that the mode that accepts edits covers it.
pub(crate) fn is_edit_by_powershell(cmdlet: &str) -> bool {
    listed(data::POWERSHELL_EDITS, cmdlet.as_bytes()).is_some()
}

/// Reports whether an attribute with this name, in lower case and without `attribute`, only describes or checks values.
pub(crate) fn is_harmless_attribute(name: &str) -> bool {
    listed(data::POWERSHELL_ATTRIBUTES, name.as_bytes()).is_some()
}

/// Reports whether the type, in lower case and without `system.`, has a static member that only reads a file.
pub(crate) fn has_file_readers(name: &str) -> bool {
    has_member_of(data::POWERSHELL_FILE_READERS, name)
}

/// Reports whether the static member, as `type::member` in lower case and without `system.`, only reads the file that
/// its first argument names.
pub(crate) fn reads_file(name: &str) -> bool {
    listed(data::POWERSHELL_FILE_READERS, name.as_bytes()).is_some()
}
