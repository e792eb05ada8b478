//! The effects of a text's expressions: of the types and members that it uses, the variables that it sets, and its other
//! constructs. An expression is harmless only if the tables list all of its types and members.

use std::collections::HashSet;

use airlock_powershell::{
    Argument, Assignment, Construct, ConstructKind, Member, Script, Span, Target, TypeName, TypeUse, Value,
};

use super::constants::Constants;
use crate::tables::names;

/// Scopes of variables. Other text before a colon is a drive, whose items are set or read.
const SCOPES: &[&str] = &["global", "local", "private", "script", "using", "variable"];

/// A part of the text that is not known to be harmless.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effect {
    pub(crate) code: &'static str,
    pub(crate) span: Span,
    /// Whether it may run commands that the text does not show.
    pub(crate) hides: bool,
}

/// Returns the effects that are not known to be harmless.
pub(crate) fn effects(script: &Script, constants: &Constants<'_>) -> Vec<Effect> {
    let mut out = Vec::new();
    out.extend(script.members.iter().filter_map(|member| of_member(member, constants)));
    let plain = script.variables.iter().all(|name| is_plain(name));
    let targets = static_targets(script);
    out.extend(script.types.iter().filter_map(|used| of_type(used, plain, &targets, constants)));
    out.extend(script.assignments.iter().filter_map(of_assignment));
    out.extend(script.constructs.iter().filter_map(of_construct));
    let whole = Span::default();
    let reads = script.variables.iter().any(|name| reads_drive(name));
    out.extend(reads.then_some(Effect { code: "powershell_variable", span: whole, hides: false }));
    out
}

/// Returns the name of a type in the form of the tables.
pub(crate) fn folded(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let known = lower.strip_prefix("system.").unwrap_or(&lower);
    known.split('`').next().unwrap_or_default().to_owned()
}

fn of_type(
    used: &TypeName,
    plain: bool,
    targets: &HashSet<usize>,
    constants: &Constants<'_>,
) -> Option<Effect> {
    let name = folded(&used.name);
    let harmless = match used.role {
        // A reference to a variable lets a method set it.
        TypeUse::Type if name == "ref" => plain,
        TypeUse::Type => {
            names::is_pure_type(&name)
                || names::has_harmless_static_members(&name)
                || constants.defines_type(&name)
                || (names::has_file_readers(&name) && targets.contains(&used.span.start))
        }
        TypeUse::Attribute => names::is_harmless_attribute(name.strip_suffix("attribute").unwrap_or(&name)),
    };
    (!harmless).then_some(Effect { code: "powershell_type", span: used.span, hides: false })
}

fn of_member(member: &Member, constants: &Constants<'_>) -> Option<Effect> {
    let effect = Effect { code: "powershell_member", span: member.span, hides: true };
    let Some(name) = member.name.as_deref().map(str::to_ascii_lowercase) else {
        return Some(effect);
    };
    let harmless = match (&member.target, member.is_static) {
        (Target::Type(of), _) => {
            let of = folded(of);
            names::is_pure_type(&of)
                || constants.defines_type(&of)
                || names::is_harmless_static_member(&format!("{of}::{name}"))
                || (reads_file(&of, &name) && member.arguments.is_some())
        }
        (_, true) => false,
        (target, false) => match &member.arguments {
            None => name != "scriptblock",
            Some(arguments) => is_harmless_call(target, &name, arguments),
        },
    };
    (!harmless).then_some(effect)
}

fn is_harmless_call(target: &Target, name: &str, arguments: &[Argument]) -> bool {
    match name {
        // A string names a method, or is read as a script.
        "foreach" | "where" => match arguments {
            [Argument { value: Value::ScriptBlock, .. }, ..] => true,
            [Argument { value: Value::String(member, _), .. }, ..] => {
                name == "foreach" && is_harmless_member(&member.to_ascii_lowercase())
            }
            _ => false,
        },
        // Files have this method, too.
        "replace" | "remove" | "insert" => *target == Target::String,
        _ => names::is_harmless_method(name),
    }
}

fn of_assignment(assignment: &Assignment) -> Option<Effect> {
    let effect = |code, hides| Some(Effect { code, span: assignment.span, hides });
    let Some(name) = &assignment.variable else {
        return effect("powershell_assignment", false);
    };
    let (scope, own) = scoped(name);
    if scope.is_some_and(|scope| !SCOPES.contains(&scope.as_str())) {
        let environment = scoped(name).0.as_deref() == Some("env");
        return effect("powershell_assignment", !environment);
    }
    if names::is_obeyed_by_powershell(&own) { effect("powershell_assignment", true) } else { None }
}

/// Returns the places of the types that are targets of static members, which are checked by themselves. A conversion to
/// such a type may open a file.
fn static_targets(script: &Script) -> HashSet<usize> {
    let has_type = |member: &&Member| matches!(member.target, Target::Type(_));
    script.members.iter().filter(has_type).map(|member| member.span.start + 1).collect()
}

/// Reports whether a variable is one that PowerShell does not obey, and no item on a drive.
fn is_plain(name: &str) -> bool {
    let (scope, own) = scoped(name);
    scope.is_none_or(|scope| SCOPES.contains(&scope.as_str())) && !names::is_obeyed_by_powershell(&own)
}

/// Returns the scope or drive of a variable, and the rest of its name, in lower case.
fn scoped(name: &str) -> (Option<String>, String) {
    let lower = name.to_ascii_lowercase();
    match lower.split_once(':') {
        Some((scope, own)) => (Some(scope.to_owned()), own.to_owned()),
        None => (None, lower),
    }
}

/// Reports whether a variable is the content of an item on a drive other than that of the environment.
fn reads_drive(name: &str) -> bool {
    let (scope, _) = scoped(name);
    scope.is_some_and(|scope| scope != "env" && !SCOPES.contains(&scope.as_str()))
}

fn of_construct(construct: &Construct) -> Option<Effect> {
    let hides = match construct.kind {
        ConstructKind::Using | ConstructKind::Requires => true,
        ConstructKind::Background | ConstructKind::SwitchFile => false,
        // A parameter or `data` sets a variable. Their other parts are commands, types and members of the text.
        ConstructKind::Parameter | ConstructKind::Data => {
            let name = construct.name.as_ref().map(|name| scoped(name));
            if !name.is_some_and(|(scope, own)| scope.is_some() || names::is_obeyed_by_powershell(&own)) {
                return None;
            }
            true
        }
        ConstructKind::Class
        | ConstructKind::Enum
        | ConstructKind::Exit
        | ConstructKind::Function
        | ConstructKind::Trap => return None,
    };
    Some(Effect { code: "powershell_construct", span: construct.span, hides })
}

/// Reports whether a value is the name of a variable that a cmdlet may set.
pub(super) fn is_plain_variable(argument: &Argument) -> bool {
    if matches!(argument.value, Value::Number { .. }) {
        return true;
    }
    let name = argument.value.as_string().map(|name| name.trim_start_matches('+').to_ascii_lowercase());
    name.is_some_and(|name| !name.contains([':', '*', '?', '[']) && !names::is_obeyed_by_powershell(&name))
}

/// Reports whether a member with this name, in lower case, is a property or a method that only computes.
pub(super) fn is_harmless_member(name: &str) -> bool {
    names::is_powershell_property(name) || names::is_harmless_method(name)
}

fn reads_file(of: &str, name: &str) -> bool {
    names::reads_file(&format!("{of}::{name}"))
}

/// Returns the files that static members read, with the place of each. `None`: the text does not show which file.
pub(crate) fn files_read(script: &Script) -> Vec<(Option<&Argument>, Span)> {
    let reads = |member: &&Member| match (&member.target, &member.name) {
        (Target::Type(of), Some(name)) => reads_file(&folded(of), &name.to_ascii_lowercase()),
        _ => false,
    };
    let found = script.members.iter().filter(reads);
    found.map(|member| (member.arguments.as_ref().and_then(|given| given.first()), member.span)).collect()
}
