//! The parameters to which the arguments of a cmdlet are bound, as far as the text shows. It follows the static binder
//! of PowerShell: named parameters first, then positions in the sets of parameters that the named ones leave.

use airlock_powershell::{Argument, Command, Element, Entries, Quote, Span, Value as Parsed};

use super::constants::{Constants, is_false};
use super::position::{best, possible_positions};
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
    /// Parameters of tables (`@name`) whose entries the text shows.
    pub(crate) splatted: Vec<Bound>,
    /// Arguments and names of parameters that fit no parameter, with the name.
    pub(crate) unbound: Vec<(Option<String>, Span)>,
    /// Arguments after a name that fits no parameter. They may be values of it, or of another parameter.
    pub(crate) loose: Vec<Argument>,
    /// Whether the text contains a table of arguments.
    pub(crate) splats: bool,
    /// Whether it contains one whose entries are unknown.
    pub(crate) splats_unknown: bool,
    /// Whether parameters are given that exclude each other, so that the cmdlet does not run.
    pub(crate) conflicts: bool,
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
pub(crate) fn bind(cmdlet: &'static Cmdlet, command: &Command, constants: &Constants<'_>) -> Binding {
    let mut binder = Binder { cmdlet, named: Vec::new(), sets: None, out: Binding::default() };
    let mut positional = Vec::new();
    let mut splats = Vec::new();
    let mut rest = command.elements.iter().skip(1).peekable();
    while let Some(element) = rest.next() {
        match element {
            Element::Parameter { name, value, span } => {
                let takes_next = value.is_none() && binder.takes_value(name);
                let known = cmdlet.parameter(name).is_some();
                let next = if takes_next { rest.next_if(|next| binder.is_value(next, known)) } else { None };
                let following = next.map(as_value);
                binder.parameter(name, value.as_ref().or(following.as_ref()), *span);
            }
            Element::Argument(argument) => match &argument.value {
                Parsed::Splat(name) => {
                    let entries = constants.table(name, argument.span.start);
                    binder.splat(entries);
                    splats.push(argument.clone());
                }
                _ if is_dash(argument) => binder.out.loose.push(argument.clone()),
                _ => positional.push(argument.clone()),
            },
        }
    }
    binder.positional(positional);
    binder.splats_as_rest(splats);
    binder.out
}

/// Returns an element as a value. The name of a parameter that does not exist is one of which the text is not known.
fn as_value(element: &Element) -> Argument {
    match element {
        Element::Argument(argument) => argument.clone(),
        Element::Parameter { span, .. } => Argument { value: Parsed::Operation, span: *span },
    }
}

fn is_dash(argument: &Argument) -> bool {
    matches!(&argument.value, Parsed::String(dash, Quote::None) if dash == "-")
}

struct Binder {
    cmdlet: &'static Cmdlet,
    /// The parameters that are named, also without a value.
    named: Vec<&'static Parameter>,
    /// The sets that are still possible. `None`: every set.
    sets: Option<Vec<&'static str>>,
    out: Binding,
}

impl Binder {
    /// Reports whether the next argument is the value of the parameter with this name. PowerShell takes it for one that
    /// does not exist, too.
    fn takes_value(&self, name: &str) -> bool {
        self.cmdlet.parameter(name).is_none_or(|parameter| parameter.kind != ParameterKind::Switch)
    }

    /// Reports whether an element can be the value of a named parameter, which may exist.
    fn is_value(&self, element: &Element, of_known: bool) -> bool {
        match element {
            Element::Argument(argument) => {
                !is_dash(argument) && (of_known || !matches!(argument.value, Parsed::Splat(_)))
            }
            Element::Parameter { name, .. } => {
                of_known
                    && name != "-"
                    && self.cmdlet.parameter(name).is_none()
                    && !self.cmdlet.fails_with(name)
            }
        }
    }

    /// Binds a named parameter.
    fn parameter(&mut self, name: &str, value: Option<&Argument>, span: Span) {
        let Some(parameter) = self.cmdlet.parameter(name) else {
            self.out.unbound.push((Some(name.to_owned()), span));
            self.out.loose.extend(value.cloned());
            return;
        };
        let again = self.named.iter().any(|known| std::ptr::eq(*known, parameter));
        self.named.push(parameter);
        if again {
            self.out.unbound.push((Some(name.to_owned()), span));
            self.out.loose.extend(value.cloned());
            return;
        }
        match (value, parameter.kind) {
            (Some(value), ParameterKind::Switch) if is_false(&value.value) => {}
            (Some(value), _) => {
                self.out.splats_unknown |= matches!(value.value, Parsed::Splat(_));
                self.out.splats |= self.out.splats_unknown;
                self.bound(parameter, Value::Argument(value.clone()), span);
            }
            (None, ParameterKind::Switch) => self.bound(parameter, Value::None, span),
            (None, _) => {
                self.narrow(&[parameter]);
                self.out.unbound.push((None, span));
            }
        }
    }

    fn bound(&mut self, parameter: &'static Parameter, value: Value, span: Span) {
        self.narrow(&[parameter]);
        self.out.bound.push(Bound { parameter, value, span });
    }

    /// Leaves only the sets of at least one of these parameters.
    fn narrow(&mut self, to: &[&'static Parameter]) {
        let in_all = |parameter: &&&Parameter| {
            parameter.sets.is_empty() || parameter.sets.iter().any(|(set, _)| *set == "*")
        };
        if to.iter().any(|parameter| in_all(&parameter)) {
            return;
        }
        let own: Vec<&'static str> =
            to.iter().flat_map(|found| found.sets.iter().map(|(set, _)| *set)).collect();
        self.sets = Some(match self.sets.take() {
            None => own,
            Some(sets) => {
                let both: Vec<&str> = sets.iter().copied().filter(|set| own.contains(set)).collect();
                self.out.conflicts |= both.is_empty();
                if both.is_empty() { sets } else { both }
            }
        });
    }

    /// Adds the entries of a table.
    fn splat(&mut self, entries: Option<&Entries>) {
        self.out.splats = true;
        let Some(entries) = entries else {
            self.out.splats_unknown = true;
            return;
        };
        for (name, value) in entries {
            match self.cmdlet.parameter(name) {
                Some(parameter) => {
                    let given = Value::Argument(value.clone());
                    self.out.splatted.push(Bound { parameter, value: given, span: value.span });
                }
                None => self.out.unbound.push((Some(name.clone()), value.span)),
            }
        }
    }

    fn positional(&mut self, arguments: Vec<Argument>) {
        let mut left = arguments.into_iter().peekable();
        let mut behind = None;
        while left.peek().is_some() {
            let free = self.free();
            let allowed = |set: &str| self.sets.as_ref().is_none_or(|sets| sets.contains(&set));
            let Some(at) =
                possible_positions(&free, &allowed).filter(|at| behind.is_none_or(|last| *at > last)).min()
            else {
                break;
            };
            behind = Some(at);
            let Some(argument) = left.next() else { break };
            let found = best(self.cmdlet.set, &free, at, &argument, &allowed);
            if found.iter().any(|parameter| parameter.kind == ParameterKind::Rest) {
                self.remaining(std::iter::once(argument).chain(left).collect());
                return;
            }
            self.narrow(&found);
            for parameter in found {
                let value = Value::Argument(argument.clone());
                self.out.bound.push(Bound { parameter, value, span: argument.span });
            }
        }
        self.remaining(left.collect());
    }

    /// Returns the parameters that are not given.
    fn free(&self) -> Vec<&'static Parameter> {
        let given = |parameter: &&'static Parameter| {
            let is = |other: &&'static Parameter| std::ptr::eq(*other, *parameter);
            self.named.iter().any(is) || self.out.bound.iter().any(|bound| is(&bound.parameter))
        };
        self.cmdlet.parameters.iter().filter(|parameter| !given(parameter)).collect()
    }

    /// Returns the parameter that takes all remaining arguments.
    fn rest(&self) -> Option<&'static Parameter> {
        let possible = |parameter: &&'static Parameter| {
            let fits = |set: &str| set == "*" || self.sets.as_ref().is_none_or(|sets| sets.contains(&set));
            parameter.sets.is_empty() || parameter.sets.iter().any(|(set, _)| fits(set))
        };
        let mut rests = self.free().into_iter().filter(|parameter| parameter.kind == ParameterKind::Rest);
        rests.find(possible)
    }

    fn remaining(&mut self, arguments: Vec<Argument>) {
        let (Some(first), Some(last)) = (arguments.first(), arguments.last()) else {
            return;
        };
        match self.rest() {
            Some(parameter) => {
                let span = Span { start: first.span.start, end: last.span.end };
                self.bound(parameter, Value::Rest(arguments), span);
            }
            None => {
                self.out.unbound.extend(arguments.iter().map(|argument| (None, argument.span)));
                self.out.loose.extend(arguments);
            }
        }
    }

    /// Gives tables of arguments to the parameter that takes all remaining ones.
    fn splats_as_rest(&mut self, splats: Vec<Argument>) {
        let is_first = |parameter: &&'static Parameter| parameter.sets.iter().any(|(_, at)| *at == Some(0));
        if let (Some(parameter), Some(first)) = (self.rest().filter(is_first), splats.first()) {
            let span = first.span;
            self.bound(parameter, Value::Rest(splats), span);
        }
    }
}
