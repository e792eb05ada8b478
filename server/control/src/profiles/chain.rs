//! The resolution of profile files against each other. If a file cannot be loaded, its last valid version
//! stays active, and the others are loaded. This module opens no file.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use airlock_config::ConfigError;
use airlock_policy::limits::MAX_EXTENDS;

use super::{
    folder::{FileOrError, ProfileFile},
    parse::{self, keys::File},
    resolve::{ByName, ResolvedProfile},
};

/// The result of the resolution.
pub(super) struct Resolved {
    /// The profiles by name. For a file that could not be loaded, the last valid version.
    pub(super) profiles: ByName,
    /// The profiles that could not be loaded, with the reasons.
    pub(super) refused: BTreeMap<String, ConfigError>,
}

/// Resolves every file against the others and the built-in profiles. `hooks` has the names of the hooks that profiles can
/// select. `before` contains the profiles that were active.
pub(super) fn resolve_all(
    files: &[FileOrError],
    (built_in, hooks): (&ByName, &[String]),
    before: &ByName,
) -> Resolved {
    let mut refused = BTreeMap::new();
    let mut texts = BTreeMap::new();
    for file in files {
        let (name, parsed) = match file {
            Ok(from) => (&from.stem, parse::file(&from.text, &from.path).map(|file| (from, file))),
            Err((name, error)) => (name, Err(error.clone())),
        };
        match parsed {
            Ok(parsed) => drop(texts.insert(name.clone(), parsed)),
            Err(error) => drop(refused.insert(name.clone(), error)),
        }
    }
    for name in texts.keys().filter(|name| built_in.contains_key(*name)).cloned().collect::<Vec<_>>() {
        let what = format!("`{name}` is a built-in profile");
        let problem = parse::problem("name", what, "use another name, and `extends` to build on it");
        refuse(&mut texts, &mut refused, name, problem);
    }
    for name in circles(&texts) {
        let what = format!("the chain of `extends` is circular or longer than {MAX_EXTENDS}");
        refuse(&mut texts, &mut refused, name, parse::problem("extends", what, "shorten or break the chain"));
    }
    let names: Vec<String> = texts.keys().cloned().collect();
    let mut chain = Chain { texts, built_in, hooks, before, done: ByName::new(), refused };
    for name in &names {
        chain.resolve(name);
    }
    let Chain { mut done, refused, .. } = chain;
    let kept = refused.keys().filter_map(|name| Some((name.clone(), before.get(name)?.clone())));
    done.extend(kept);
    Resolved { profiles: done, refused }
}

type Texts<'a> = BTreeMap<String, (&'a ProfileFile, File)>;

/// Removes a file and records the reason.
fn refuse(
    texts: &mut Texts<'_>,
    refused: &mut BTreeMap<String, ConfigError>,
    name: String,
    problem: airlock_config::Problem,
) {
    if let Some((from, _)) = texts.remove(&name)
        && let Err(error) = ConfigError::unless_right(&from.path, Some(&from.text), vec![problem])
    {
        refused.insert(name, error);
    }
}

/// Returns the files with a chain of parents that is too long or cyclic.
fn circles(texts: &Texts<'_>) -> BTreeSet<String> {
    let parent = |name: &String| texts.get(name).and_then(|(_, file)| file.extends.clone());
    let endless = |name: &&String| {
        std::iter::successors(Some((*name).clone()), parent).take(MAX_EXTENDS + 2).count() > MAX_EXTENDS + 1
    };
    texts.keys().filter(endless).cloned().collect()
}

struct Chain<'a> {
    texts: Texts<'a>,
    built_in: &'a ByName,
    /// The names of the hooks in the server's configuration.
    hooks: &'a [String],
    before: &'a ByName,
    done: ByName,
    refused: BTreeMap<String, ConfigError>,
}

impl Chain<'_> {
    /// Resolves the profile with this name after its parents. [`circles`] bounds the length of the chain.
    fn resolve(&mut self, name: &str) -> Option<Arc<ResolvedProfile>> {
        let ready = self.done.get(name).or_else(|| self.built_in.get(name));
        if let Some(ready) = ready {
            return Some(ready.clone());
        }
        if self.refused.contains_key(name) {
            return self.before.get(name).cloned();
        }
        let extends = self.texts.get(name)?.1.extends.clone();
        let parent = extends.and_then(|parent| self.resolve(&parent));
        let (from, file) = self.texts.get(name)?;
        match self.one(from, file, parent.as_deref()) {
            Ok(profile) => {
                let profile = Arc::new(profile);
                self.done.insert(name.to_owned(), profile.clone());
                Some(profile)
            }
            Err(error) => {
                self.refused.insert(name.to_owned(), error);
                self.before.get(name).cloned()
            }
        }
    }

    fn one(
        &self,
        from: &ProfileFile,
        file: &File,
        parent: Option<&ResolvedProfile>,
    ) -> Result<ResolvedProfile, ConfigError> {
        let mut found = Vec::new();
        let name = &file.name;
        if *name != from.stem {
            let what = format!("the file `{}.toml` defines the profile `{name}`", from.stem);
            found.push(parse::problem("name", what, "use the same name for the file and the profile"));
        }
        parse::hooks::check_known(&file.hooks, self.hooks, &mut found);
        parse::resolve(&from.text, &from.path, file, parent, found)
    }
}
