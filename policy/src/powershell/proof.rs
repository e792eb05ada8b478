//! The read-only proof of a cmdlet, and the paths that it reads and changes.

use airlock_powershell::{Argument, Span as Place, Value};

use super::bind::{Binding, Bound};
use super::constants::Constants;
use super::expression::{folded, is_harmless_member, is_plain_variable};
use super::native::target;
use crate::decision::{Access, Span};
use crate::parse::Word;
use crate::readonly::{PathWord, Proof, Refusal};
use crate::tables::cmdlets::Cmdlet;
use crate::tables::{CmdletEffect, ParameterRole, names};

/// The context of a cmdlet.
pub(super) struct Context<'c> {
    pub(super) home: &'c str,
    pub(super) constants: &'c Constants<'c>,
    pub(super) place: &'c dyn Fn(Place) -> Span,
    /// The place of the command's name.
    pub(super) name: Span,
}

/// Proves a cmdlet read-only and returns the paths that it reads.
pub(super) fn prove(cmdlet: &'static Cmdlet, binding: &Binding, context: &Context<'_>) -> Proof {
    let refuse = |code, message: String, span| Err(Refusal::new(code, message, span));
    if cmdlet.effect != CmdletEffect::Reads && !reads_with(cmdlet, binding) {
        return refuse("powershell_cmdlet", format!("`{}` {}", cmdlet.name, cmdlet.does), context.name);
    }
    if binding.splats_unknown {
        let message = "the arguments in a table are not known".to_owned();
        return refuse("powershell_splat", message, context.name);
    }
    let fails = |name: &Option<String>| name.as_ref().is_some_and(|name| cmdlet.fails_with(name));
    let unknown = binding.unbound.iter().find(|(name, _)| !fails(name));
    let ignored = cmdlet.is_simple || binding.unbound.iter().any(|(name, _)| fails(name));
    if let Some((_, span)) = unknown.filter(|_| !ignored) {
        let message = format!("`{}` has no such parameter or argument", cmdlet.name);
        return refuse("unknown_flag", message, (context.place)(*span));
    }
    let mut paths = Vec::new();
    for bound in binding.bound.iter().chain(&binding.splatted) {
        let span = (context.place)(bound.span);
        let named = bound.parameter.name();
        if (bound.parameter.refused && !reads_property(bound)) || names_block(bound) {
            let message = format!("`-{}` of `{}` may do more than read", bound.parameter.name(), cmdlet.name);
            return refuse("dangerous_flag", message, span);
        }
        match bound.parameter.role {
            ParameterRole::Plain => {}
            ParameterRole::Variable => {
                if !bound.arguments().iter().flat_map(flattened).all(is_plain_variable) {
                    let message = format!("`-{named}` sets a variable that PowerShell obeys");
                    return refuse("dangerous_flag", message, span);
                }
            }
            ParameterRole::Block => {
                if !bound.arguments().iter().all(|argument| context.constants.is_block(argument)) {
                    let message = format!("`-{named}` runs a script block that the text does not show");
                    return refuse("dangerous_flag", message, span);
                }
            }
            ParameterRole::Type => {
                if !bound.arguments().iter().all(is_harmless_type) {
                    let message = "this type is not in the list of harmless types".to_owned();
                    return refuse("powershell_type", message, span);
                }
            }
            ParameterRole::Read => paths.extend(reads(bound, context)?),
            ParameterRole::Write | ParameterRole::Create | ParameterRole::Delete => {
                let message = format!("`-{named}` names a file that is changed");
                return refuse("dangerous_flag", message, span);
            }
        }
    }
    Ok(paths)
}

/// Reports whether the parameters that are given leave a cmdlet read-only that otherwise is not.
fn reads_with(cmdlet: &Cmdlet, binding: &Binding) -> bool {
    let common = |bound: &Bound| !cmdlet.parameters.iter().any(|own| std::ptr::eq(own, bound.parameter));
    let allowed = |bound: &Bound| cmdlet.reads_with.contains(&bound.parameter.name()) || common(bound);
    let is_first = |bound: &&Bound| cmdlet.reads_with.first() == Some(&bound.parameter.name());
    binding.bound.iter().any(|bound| is_first(&bound))
        && binding.bound.iter().chain(&binding.splatted).all(allowed)
        && binding.unbound.is_empty()
        && !binding.splats_unknown
        && !binding.conflicts
}

/// Reports whether `ForEach-Object` only reads a property, or calls a method that only computes.
fn reads_property(bound: &Bound) -> bool {
    let is_harmless = |argument: &Argument| {
        argument.value.as_string().is_some_and(|name| is_harmless_member(&name.to_ascii_lowercase()))
    };
    bound.parameter.name() == "MemberName" && bound.arguments().iter().all(is_harmless)
}

/// Reports whether the value is, or may be, the script block of a command.
fn names_block(bound: &Bound) -> bool {
    let is_other = |argument: &Argument| {
        argument.value.as_string().is_some_and(|name| !name.eq_ignore_ascii_case("scriptblock"))
    };
    bound.parameter.name() == "ExpandProperty" && !bound.arguments().iter().flat_map(flattened).all(is_other)
}

/// Reports whether a value is the name of a type that only computes.
fn is_harmless_type(argument: &Argument) -> bool {
    argument.value.as_string().is_some_and(|name| {
        let own = name.split(['[', '`']).next().unwrap_or_default();
        names::is_pure_type(&folded(own)) && !name.contains("[[")
    })
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
pub(super) fn uses(cmdlet: &Cmdlet, binding: &Binding, context: &Context<'_>) -> (Vec<PathWord>, bool) {
    let mut paths = Vec::new();
    let mut elsewhere = binding.splats || !binding.loose.is_empty();
    for bound in binding.bound.iter().chain(&binding.splatted) {
        let access = match bound.parameter.role {
            ParameterRole::Plain | ParameterRole::Variable | ParameterRole::Block | ParameterRole::Type => {
                continue;
            }
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
    paths.extend(loose(cmdlet, binding, context));
    (paths, elsewhere)
}

fn flattened(argument: &Argument) -> Vec<&Argument> {
    match &argument.value {
        Value::Array(values) => values.iter().flat_map(flattened).collect(),
        _ => vec![argument],
    }
}

/// Returns the arguments that fit no parameter, as if the cmdlet changed each of them.
fn loose(cmdlet: &Cmdlet, binding: &Binding, context: &Context<'_>) -> Vec<PathWord> {
    let has = |role: ParameterRole| cmdlet.parameters.iter().any(|parameter| parameter.role == role);
    let access = match () {
        () if has(ParameterRole::Delete) => Access::Delete,
        () if has(ParameterRole::Write) || has(ParameterRole::Create) => Access::Write,
        () => return Vec::new(),
    };
    let words = binding.loose.iter().flat_map(flattened).map(|argument| {
        let span = (context.place)(argument.span);
        target(argument, context.home, true, span).unwrap_or_else(|| Word::unknown(false, span))
    });
    words.map(|word| PathWord::new(&word, access)).collect()
}
