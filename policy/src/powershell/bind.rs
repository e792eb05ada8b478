//! The parameters to which the arguments of a cmdlet are bound, as far as the text shows. It follows the static binder
//! of PowerShell: named parameters first, then positions in the sets of parameters that the named ones leave.

use airlock_powershell::{Argument, Command, Element, Span, Value as Parsed};

use crate::tables::ParameterKind;
use crate::tables::cmdlets::{Cmdlet, Parameter};

/// A value that is bound.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// None, as for a switch.
    None,
    /// An argument.
    Argument(Argument),
    /// All remaining arguments.
    Rest(Vec<Argument>),
}

/// A bound parameter.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) parameter: &'static Parameter,
    pub(crate) value: Value,
    pub(crate) span: Span,
}

/// The result.
#[derive(Debug, Clone, Default)]
pub(crate) struct Binding {
    pub(crate) bound: Vec<Bound>,
    /// Arguments and names of parameters that fit no parameter.
    pub(crate) unbound: Vec<Span>,
    /// Whether the text contains a table of arguments (`@name`), whose contents are unknown.
    pub(crate) splats: bool,
}

impl Bound {
    /// Returns the arguments of the value.
    pub(crate) fn arguments(&self) -> &[Argument] {
        match &self.value {
            Value::None => &[],
            Value::Argument(argument) => std::slice::from_ref(argument),
            Value::Rest(all) => all,
        }
    }
}

/// Binds the arguments of a command.
pub(crate) fn bind(cmdlet: &'static Cmdlet, command: &Command) -> Binding {
    let mut binder = Binder { cmdlet, sets: None, out: Binding::default() };
    let mut positional = Vec::new();
    let mut rest = command.elements.iter().skip(1).peekable();
    while let Some(element) = rest.next() {
        match element {
            Element::Parameter { name, value, span } if name != "-" => {
                let Some(parameter) = cmdlet.parameter(name) else {
                    binder.out.unbound.push(*span);
                    continue;
                };
                let given = match (value, parameter.kind) {
                    (Some(value), _) => Value::Argument(value.clone()),
                    (None, ParameterKind::Switch) => Value::None,
                    (None, _) => match rest
                        .next_if(|next| matches!(next, Element::Argument(argument) if !is_splat(argument)))
                    {
                        Some(Element::Argument(argument)) => Value::Argument(argument.clone()),
                        _ => Value::None,
                    },
                };
                binder.bound(parameter, given, *span);
            }
            Element::Parameter { .. } => {}
            Element::Argument(argument) if is_splat(argument) => binder.out.splats = true,
            Element::Argument(argument) => positional.push(argument.clone()),
        }
    }
    binder.positional(positional);
    binder.out
}

fn is_splat(argument: &Argument) -> bool {
    matches!(argument.value, Parsed::Splat(_))
}

struct Binder {
    cmdlet: &'static Cmdlet,
    /// The sets that are still possible. `None`: every set.
    sets: Option<Vec<&'static str>>,
    out: Binding,
}

impl Binder {
    fn bound(&mut self, parameter: &'static Parameter, value: Value, span: Span) {
        let own: Vec<&'static str> = parameter.sets.iter().map(|(set, _)| *set).collect();
        if !own.is_empty() && !own.contains(&"*") {
            self.sets = Some(match self.sets.take() {
                None => own,
                Some(sets) => {
                    let both: Vec<&str> = sets.iter().copied().filter(|set| own.contains(set)).collect();
                    if both.is_empty() { sets } else { both }
                }
            });
        }
        self.out.bound.push(Bound { parameter, value, span });
    }

    fn positional(&mut self, arguments: Vec<Argument>) {
        let mut position = None;
        let mut left = arguments.into_iter();
        while let Some(argument) = left.next() {
            let Some((at, parameter)) = self.next_position(position, &argument) else {
                self.remaining(std::iter::once(argument).chain(left).collect());
                return;
            };
            position = Some(at);
            if parameter.kind == ParameterKind::Rest {
                self.remaining(std::iter::once(argument).chain(left).collect());
                return;
            }
            let span = argument.span;
            self.bound(parameter, Value::Argument(argument), span);
        }
    }

    /// Returns the unbound parameter with the lowest position behind this one.
    fn next_position(&self, behind: Option<u8>, argument: &Argument) -> Option<(u8, &'static Parameter)> {
        let is_free = |parameter: &&'static Parameter| {
            !self.out.bound.iter().any(|bound| std::ptr::eq(bound.parameter, *parameter))
        };
        let free: Vec<&'static Parameter> = self.cmdlet.parameters.iter().filter(is_free).collect();
        let in_sets = |parameter: &'static Parameter, wanted: &dyn Fn(&str) -> bool| {
            let sets = parameter.sets.iter().filter(|(set, _)| *set == "*" || wanted(set));
            sets.filter_map(|(_, position)| *position)
                .filter(|at| behind.is_none_or(|behind| *at > behind))
                .min()
        };
        let possible = |set: &str| self.sets.as_ref().is_none_or(|sets| sets.contains(&set));
        let default = |set: &str| self.cmdlet.set == Some(set) && possible(set);
        let lowest = free.iter().filter_map(|parameter| in_sets(parameter, &possible)).min()?;
        let takes_block = matches!(argument.value, Parsed::ScriptBlock);
        let at_lowest = |wanted: &dyn Fn(&str) -> bool| {
            let mut found =
                free.iter().copied().filter(|parameter| in_sets(parameter, wanted) == Some(lowest));
            let first = found.clone().find(|parameter| fits_block(parameter) == takes_block);
            first.or_else(|| found.next())
        };
        let in_default = at_lowest(&default).filter(|parameter| fits_block(parameter) == takes_block);
        let parameter = in_default.or_else(|| at_lowest(&possible))?;
        Some((lowest, parameter))
    }

    fn remaining(&mut self, arguments: Vec<Argument>) {
        let possible = |parameter: &&'static Parameter| {
            let sets = parameter.sets;
            sets.is_empty()
                || sets
                    .iter()
                    .any(|(set, _)| *set == "*" || self.sets.as_ref().is_none_or(|sets| sets.contains(set)))
        };
        let mut rests =
            self.cmdlet.parameters.iter().filter(|parameter| parameter.kind == ParameterKind::Rest);
        let bound = |parameter: &&'static Parameter| {
            !self.out.bound.iter().any(|bound| std::ptr::eq(bound.parameter, *parameter))
        };
        let parameter = rests.find(|parameter| possible(parameter) && bound(parameter));
        match (parameter, arguments.first()) {
            (Some(parameter), Some(first)) => {
                let end = arguments.last().map_or(first.span.end, |last| last.span.end);
                let span = Span { start: first.span.start, end };
                self.bound(parameter, Value::Rest(arguments), span);
            }
            _ => self.out.unbound.extend(arguments.iter().map(|argument| argument.span)),
        }
    }
}

/// Reports whether the parameter with this name takes a script block.
fn fits_block(parameter: &Parameter) -> bool {
    matches!(
        parameter.name(),
        "Process"
            | "FilterScript"
            | "ScriptBlock"
            | "Expression"
            | "Begin"
            | "End"
            | "RemainingScripts"
            | "Action"
    )
}
