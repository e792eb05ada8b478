//! Joins the table files.

use std::collections::BTreeMap;

use crate::data::Tables;

impl Tables {
    /// Adds the entries of another file. A name may appear in one file only.
    pub(crate) fn join(
        &mut self,
        other: Self,
        file: &str,
        homes: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        let mut claim = |kind: &str, name: &str| match homes.insert(format!("{kind}.{name}"), file.into()) {
            Some(first) => Err(format!("{file}: `{kind}.{name}` is already in {first}")),
            None => Ok(()),
        };
        add(&mut self.set, other.set, |name| claim("set", name))?;
        add(&mut self.program, other.program, |name| claim("program", name))?;
        add(&mut self.launcher, other.launcher, |name| claim("launcher", name))?;
        add(&mut self.writer, other.writer, |name| claim("writer", name))?;
        add(&mut self.global, other.global, |name| claim("global", name))?;
        add(&mut self.spelling, other.spelling, |name| claim("spelling", name))?;
        add(&mut self.version, other.version, |name| claim("version", name))?;
        add(&mut self.names, other.names, |name| claim("names", name))?;
        add(&mut self.category, other.category, |name| claim("category", name))?;
        add(&mut self.exit, other.exit, |name| claim("exit", name))?;
        add(&mut self.interpreter, other.interpreter, |name| claim("interpreter", name))?;
        add(&mut self.warning, other.warning, |name| claim("warning", name))?;
        add(&mut self.warning_text, other.warning_text, |name| claim("warning_text", name))?;
        add(&mut self.warning_pair, other.warning_pair, |name| claim("warning_pair", name))?;
        add(&mut self.obeys, other.obeys, |name| claim("obeys", name))?;
        add(&mut self.obeys_nothing, other.obeys_nothing, |name| claim("obeys_nothing", name))?;
        add(&mut self.destroys, other.destroys, |name| claim("destroys", name))?;
        add(&mut self.network, other.network, |name| claim("network", name))?;
        add(&mut self.cmdlet, other.cmdlet, |name| claim("cmdlet", name))?;
        add(&mut self.cmdlet_alias, other.cmdlet_alias, |name| claim("cmdlet_alias", name))?;
        add(&mut self.windows_alias, other.windows_alias, |name| claim("windows_alias", name))?;
        add(&mut self.denied, other.denied, |name| claim("denied", name))?;
        add(&mut self.cmdlet_warning, other.cmdlet_warning, |name| claim("cmdlet_warning", name))?;
        self.cmdlet_common.parameters.extend(other.cmdlet_common.parameters);
        Ok(())
    }
}

/// Adds the entries, each after its name was claimed.
fn add<V>(
    all: &mut BTreeMap<String, V>,
    new: BTreeMap<String, V>,
    mut claim: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    new.keys().try_for_each(|name| claim(name))?;
    all.extend(new);
    Ok(())
}
