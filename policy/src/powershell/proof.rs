//! The read-only proof of a cmdlet, and the paths that it reads and changes.

use airlock_powershell::{Argument, Span as Place, Value};

use super::bind::{Binding, Bound};
use super::expression::is_plain_variable;
use super::native::target;
use crate::decision::{Access, Span};
use crate::parse::Word;
use crate::readonly::{PathWord, Proof, Refusal};
use crate::tables::cmdlets::Cmdlet;
use crate::tables::{CmdletEffect, ParameterRole, names};

/// The context of a cmdlet.
pub(super) struct Context<'c> {
    pub(super) home: &'c str,
    pub(super) place: &'c dyn Fn(Place) -> Span,
    /// The place of the command's name.
    pub(super) name: Span,
}

/// Proves a cmdlet read-only and returns the paths that it reads.
pub(super) fn prove(cmdlet: &'static Cmdlet, binding: &Binding, context: &Context<'_>) -> Proof {
    let refuse = |code, message: String, span| Err(Refusal::new(code, message, span));
    if cmdlet.effect != CmdletEffect::Reads {
        return refuse("powershell_cmdlet", format!("`{}` {}", cmdlet.name, cmdlet.does), context.name);
    }
    if binding.splats {
        let message = "the arguments in a table are not known".to_owned();
        return refuse("powershell_splat", message, context.name);
    }
    if let Some(span) = binding.unbound.first() {
        let message = format!("`{}` has no such parameter or argument", cmdlet.name);
        return refuse("unknown_flag", message, (context.place)(*span));
    }
    let mut paths = Vec::new();
    for bound in &binding.bound {
        let span = (context.place)(bound.span);
        if bound.parameter.refused && !reads_property(bound) {
            let message = format!("`-{}` of `{}` may do more than read", bound.parameter.name(), cmdlet.name);
            return refuse("dangerous_flag", message, span);
        }
        match bound.parameter.role {
            ParameterRole::Plain => {}
            ParameterRole::Variable => {
                if !bound.arguments().iter().all(is_plain_variable) {
                    let message =
                        format!("`-{}` sets a variable that PowerShell obeys", bound.parameter.name());
                    return refuse("dangerous_flag", message, span);
                }
            }
            ParameterRole::Read => paths.extend(reads(bound, context)?),
            ParameterRole::Write | ParameterRole::Create | ParameterRole::Delete => {
                let message = format!("`-{}` names a file that is changed", bound.parameter.name());
                return refuse("dangerous_flag", message, span);
            }
        }
    }
    Ok(paths)
}

/// Reports whether `ForEach-Object` only reads a property.
fn reads_property(bound: &Bound) -> bool {
    let is_property = |argument: &Argument| {
        argument
            .value
            .as_string()
            .is_some_and(|name| names::is_powershell_property(&name.to_ascii_lowercase()))
    };
    bound.parameter.name() == "MemberName" && bound.arguments().iter().all(is_property)
}

/// Returns the paths that a parameter reads.
fn reads(bound: &Bound, context: &Context<'_>) -> Proof {
    let mut paths = Vec::new();
    for argument in bound.arguments() {
        collect(argument, bound, context, &mut paths)?;
    }
    Ok(paths)
}

fn collect(
    argument: &Argument,
    bound: &Bound,
    context: &Context<'_>,
    paths: &mut Vec<PathWord>,
) -> Result<(), Refusal> {
    let span = (context.place)(argument.span);
    match &argument.value {
        Value::Array(values) => {
            return values.iter().try_for_each(|value| collect(value, bound, context, paths));
        }
        Value::String(value, _) => {
            if is_environment(value) {
                return Ok(());
            }
            let globs = !bound.parameter.name().starts_with("Literal");
            match target(argument, context.home, globs, span) {
                Some(word) => paths.push(PathWord::read(&word)),
                None => {
                    let message = format!("`{value}` is not in the file system");
                    return Err(Refusal::new("powershell_provider", message, span));
                }
            }
        }
        // The value is known only when it runs. A read-only run shows nothing else than it may read.
        _ => paths.push(PathWord::read(&Word::unknown(false, span))),
    }
    Ok(())
}

/// Reports whether a path is on the drive of the environment.
fn is_environment(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    lower.starts_with("env:") || lower.starts_with("environment::")
}

/// Returns the paths that a cmdlet changes, and those that it reads to do so. The second value is true if an item that
/// is not a file may be changed.
pub(super) fn uses(binding: &Binding, context: &Context<'_>) -> (Vec<PathWord>, bool) {
    let mut paths = Vec::new();
    let mut elsewhere = binding.splats;
    for bound in &binding.bound {
        let access = match bound.parameter.role {
            ParameterRole::Plain | ParameterRole::Variable => continue,
            ParameterRole::Read => Access::Read,
            ParameterRole::Write => Access::Write,
            ParameterRole::Create => Access::Create,
            ParameterRole::Delete => Access::Delete,
        };
        // A cmdlet also expands the path that it writes.
        let globs = !bound.parameter.name().starts_with("Literal");
        for argument in bound.arguments().iter().flat_map(flattened) {
            let span = (context.place)(argument.span);
            match target(argument, context.home, globs, span) {
                Some(word) => paths.push(PathWord::new(&word, access)),
                None => {
                    elsewhere = true;
                    paths.push(PathWord::new(&Word::unknown(false, span), access));
                }
            }
        }
    }
    (paths, elsewhere)
}

fn flattened(argument: &Argument) -> Vec<&Argument> {
    match &argument.value {
        Value::Array(values) => values.iter().flat_map(flattened).collect(),
        _ => vec![argument],
    }
}
