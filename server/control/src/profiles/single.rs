//! Reads one profile file and the files in its directory that it extends, for checks without a server.
//! Blocks.

use std::{cell::RefCell, path::Path};

use airlock_config::ConfigError;
use airlock_policy::{Case, Profile, ProfileText};

use super::parse;

/// Returns the policy part of the profile in `path` and its test cases, which are not run. Applies the same
/// checks as a server.
///
/// # Errors
/// Returns all problems of the file, or of a file that it extends.
pub fn read_one(path: &Path) -> Result<(Profile, Vec<Case>), ConfigError> {
    let shown = path.display().to_string();
    let own = ProfileText { text: airlock_config::read(path)?, file: shown };
    let file = parse::file(&own.text, &own.file)?;
    let mut found = Vec::new();
    parse::environment(&file.env, &mut found);
    parse::network::check(file.network.as_ref(), &mut found);
    let broken = RefCell::new(None);
    let beside = |name: &str| match beside(path, name)? {
        Ok(parent) => Some(parent),
        Err(error) => {
            broken.borrow_mut().get_or_insert(error);
            None
        }
    };
    let resolved = Profile::resolve(&own, &beside);
    if let Some(error) = broken.take() {
        return Err(error);
    }
    let profile = match resolved {
        Ok(profile) => Some(profile),
        Err(error) if error.file == own.file => {
            found.extend(parse::policy_problems(error));
            None
        }
        Err(error) => {
            let file = error.file.clone();
            return Err(ConfigError { file, problems: parse::policy_problems(error).collect() });
        }
    };
    ConfigError::unless_right(&own.file, Some(&own.text), found)?;
    profile.ok_or_else(|| ConfigError::whole(&own.file, "it is invalid", "correct it"))
}

/// Returns the text of a parent profile in the same directory, or `None` if the parent is built in or does
/// not exist.
fn beside(path: &Path, name: &str) -> Option<Result<ProfileText, ConfigError>> {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let path = path.with_file_name(format!("{name}.toml"));
    if !plain || Profile::builtin(name).is_some() || !path.exists() {
        return None;
    }
    let file = path.display().to_string();
    let read = || {
        let text = airlock_config::read(&path)?;
        parse::file(&text, &file)?;
        Ok(ProfileText { file: file.clone(), text })
    };
    Some(read())
}
