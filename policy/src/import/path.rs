//! Rules about paths. Both formats use gitignore globs; they differ in where a path starts.

use crate::decision::Verdict;

/// Returns the rules for `tool`, which is `Read` or `Edit`.
pub(super) fn rules(tool: &str, body: Option<&str>, verdict: Verdict) -> Result<Vec<String>, String> {
    let Some(glob) = body else {
        // All paths; but an allow rule for edits covers the workspace only.
        let inside = tool == "Edit" && verdict == Verdict::Allow;
        return Ok(vec![if inside { format!("{tool}(/**)") } else { format!("{tool}(//**)") }]);
    };
    check(glob)?;
    Ok(vec![format!("{tool}({glob})")])
}

/// Converts a path of `sandbox.filesystem`, in which a single `/` starts an absolute path.
pub(super) fn of_sandbox(tool: &str, glob: &str) -> Result<Vec<String>, String> {
    check(glob)?;
    let absolute = glob.starts_with('/') && !glob.starts_with("//");
    Ok(vec![if absolute { format!("{tool}(/{glob})") } else { format!("{tool}({glob})") }])
}

fn check(glob: &str) -> Result<(), String> {
    if glob.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if glob.starts_with('!') {
        return Err("a rule takes nothing back from another one".to_owned());
    }
    if glob.split('/').any(|part| part == "..") {
        return Err("it leads out of the workspace by `..`; write it absolute, with `//` in front".to_owned());
    }
    if glob.contains(":\\") || glob.contains("\\\\") {
        return Err("it is a path of Windows".to_owned());
    }
    if glob.starts_with('~') && !glob.starts_with("~/") {
        return Err("only `~/` is known, the session's HOME".to_owned());
    }
    Ok(())
}
