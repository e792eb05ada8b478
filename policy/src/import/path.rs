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
        return Err("the path is empty".to_owned());
    }
    if glob.starts_with('!') {
        return Err("Airlock does not support exceptions with `!`".to_owned());
    }
    if glob.split('/').any(|part| part == "..") {
        return Err(
            "the path leaves the workspace by `..`; write an absolute path that starts with `//`".to_owned()
        );
    }
    if glob.contains(":\\") || glob.contains("\\\\") {
        return Err("the path is a Windows path".to_owned());
    }
    if glob.starts_with('~') && !glob.starts_with("~/") {
        return Err("Airlock supports only `~/`, the session's HOME".to_owned());
    }
    Ok(())
}
