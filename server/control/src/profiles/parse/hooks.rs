//! The key `hooks` of a profile. A profile inherits the hooks of its parent and can only add to them.

use airlock_config::Problem;
use airlock_domain::limits::HOOKS;

use super::{keys::Hook, problem};
use crate::profiles::resolve::ProfileHook;

/// Adds the hooks of a file to the inherited ones, which stay first. A file can make an inherited hook required. It
/// cannot remove one, or make a required hook optional.
pub(super) fn apply(given: &[Hook], hooks: &mut Vec<ProfileHook>, problems: &mut Vec<Problem>) {
    let inherited = hooks.len();
    for (index, hook) in given.iter().enumerate() {
        let field = format!("hooks[{index}]");
        let known = hooks.iter().position(|known| known.name == hook.name);
        match known.and_then(|at| hooks.get_mut(at).map(|known| (at < inherited, known))) {
            Some((false, _)) => {
                let what = format!("the hook `{}` is listed twice", hook.name.escape_debug());
                problems.push(problem(&format!("{field}.name"), what, "list each hook once"));
            }
            Some((true, known)) if known.required && hook.required == Some(false) => {
                let what = format!("a profile that this one extends requires the hook `{}`", known.name);
                let cure = "remove `required = false`, or extend another profile";
                problems.push(problem(&format!("{field}.required"), what, cure));
            }
            Some((true, known)) => known.required |= hook.required.unwrap_or_default(),
            None => hooks
                .push(ProfileHook { name: hook.name.clone(), required: hook.required.unwrap_or_default() }),
        }
    }
    if hooks.len() > HOOKS {
        let what = format!("there are {} hooks, including inherited ones", hooks.len());
        problems.push(problem("hooks", what, "name at most 8"));
    }
}

/// Reports the hooks of a file that the server's configuration does not have. `known` are the configured names.
pub(in crate::profiles) fn check_known(given: &[Hook], known: &[String], problems: &mut Vec<Problem>) {
    for (index, hook) in given.iter().enumerate().filter(|(_, hook)| !known.contains(&hook.name)) {
        let what = format!("the server's configuration has no hook `{}`", hook.name.escape_debug());
        let cure = match known {
            [] => "add a table [hooks.NAME] to the server's configuration, or remove the hook".to_owned(),
            known => format!("use one of: {}; or add a table [hooks.NAME]", known.join(", ")),
        };
        problems.push(problem(&format!("hooks[{index}].name"), what, &cure));
    }
}
