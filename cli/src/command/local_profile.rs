//! Profiles without a server: built-in profiles by name, and files with the profiles next to them that
//! they extend.

use std::{ffi::OsStr, path::Path};

use airlock_policy::{Case, Profile};

use super::{Failure, output};

/// Returns a built-in profile by name, or the profile in a file with the file's own test cases. The
/// cases are not run.
pub(super) fn read(name: &OsStr) -> Result<(Profile, Vec<Case>), Failure> {
    if let Some(profile) = name.to_str().and_then(Profile::builtin) {
        return Ok((profile, Vec::new()));
    }
    let path = Path::new(name);
    if !path.exists() {
        return Err(Failure::usage(format!(
            "`{}` is neither a built-in profile nor a file; built-in profiles: {}",
            path.display(),
            Profile::builtin_names().join(", ")
        )));
    }
    let read = airlock_server::profiles::read_one(path);
    let (profile, cases) = read.map_err(|error| Failure::new(error.to_string()))?;
    for warning in profile.warnings() {
        output::note(warning);
    }
    Ok((profile, cases))
}

/// Like [`read`], but fails if one of the profile's own test cases fails.
pub(super) fn tested(name: &OsStr) -> Result<Profile, Failure> {
    let (profile, cases) = read(name)?;
    let shown = Path::new(name).display().to_string();
    Case::run_all(&cases, &profile, &shown).map_err(|error| Failure::new(error.to_string()))?;
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_found_by_name_and_by_file() {
        assert_eq!(tested("demo".as_ref()).unwrap().name(), "demo");
        assert_eq!(tested("no-such".as_ref()).unwrap_err().code(), 2);
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string()
        };
        write("base.toml", "name = \"base\"\n[policy]\ndeny = [\"Bash(git push:*)\"]\n");
        let team = write("team.toml", "name = \"team\"\nextends = \"base\"\n");
        let profile = tested(&team).unwrap();
        assert_eq!((profile.name(), profile.rules().deny.len()), ("team", 1));
        write("x.toml", "name = \"x\"\nextends = \"y\"\n");
        write("y.toml", "name = \"y\"\nextends = \"base\"\n");
        let far = write("far.toml", "name = \"far\"\nextends = \"x\"\n");
        assert_eq!(tested(&far).unwrap().rules().deny.len(), 1, "through the whole chain");
        let broken = write("broken.toml", "name = \"x\"\n[policy]\nnonsense = 1\n");
        let error = tested(&broken).unwrap_err();
        assert_eq!(error.code(), 1);
        assert!(error.message().contains("broken.toml:3:1: `policy.nonsense`: "), "{}", error.message());
        let wrong =
            write("wrong.toml", "name = \"w\"\n[policy]\nask = [\"Bosh\"]\n[env]\nallowed = [\"1\"]\n");
        assert_eq!(tested(&wrong).unwrap_err().message().lines().count(), 2, "all at once");
        let failing =
            write("failing.toml", "name = \"f\"\n[[policy.test]]\ncommand = \"rm x\"\nexpect = \"allow\"\n");
        assert!(tested(&failing).unwrap_err().message().contains("failing.toml:2:1: `policy.test[0]`: "));
        let loose = write("loose.toml", "name = \"l\"\nextends = \"wrong\"\n");
        assert!(tested(&loose).unwrap_err().message().contains("wrong.toml:3:8: `policy.ask[0]`: "));
    }
}
