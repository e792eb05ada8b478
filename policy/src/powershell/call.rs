//! A call of a cmdlet, with everything that the policy needs of it.

use airlock_powershell::{Command, Span as Place, Value as Parsed};

use super::bind::{Bound, Value, bind};
use super::constants::Constants;
use super::proof::{Context, prove, uses};
use super::resolve::names_cmdlet;
use crate::decision::Span;
use crate::parse::Word;
use crate::readonly::{PathWord, Proof};
use crate::rules::matching::{Element, StepBudget, WordPattern, WordView};
use crate::tables::cmdlets::Cmdlet;
use crate::tables::{CmdletEffect, ParameterRole};

/// A call of a cmdlet.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) cmdlet: &'static Cmdlet,
    /// The bound parameters, each with its value in words. A value that the text does not show is an unknown word.
    pub(crate) parameters: Vec<(&'static str, Vec<Word>, Span)>,
    /// Whether further parameters may be given, or arguments are left over.
    pub(crate) is_open: bool,
    pub(crate) proof: Proof,
    /// The paths that it changes, and those that it reads to do so.
    pub(crate) uses: Vec<PathWord>,
    /// Whether it may run commands that its words do not show, or change what a name means.
    pub(crate) hides: bool,
}

impl Call {
    /// Reports whether it changes the directory in which later commands run.
    pub(crate) fn changes_directory(&self) -> bool {
        changes_directory(self.cmdlet)
    }

    /// Reports whether the parameter with this full name is given.
    pub(crate) fn has_parameter(&self, wanted: &str) -> bool {
        self.is_open || self.parameters.iter().any(|(name, ..)| *name == wanted)
    }

    /// Returns the values of parameters that name a file which is written.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Word> {
        let is_target = |name: &str| {
            let role = self.cmdlet.parameter(name).map(|own| own.role);
            name == "OutFile" || matches!(role, Some(ParameterRole::Write | ParameterRole::Create))
        };
        self.parameters.iter().filter(move |(name, ..)| is_target(name)).flat_map(|(_, words, _)| words)
    }

    /// Reports whether the switch with this full name is on.
    pub(crate) fn switches_on(&self, wanted: &str) -> bool {
        let off = |word: &Word| matches!(word.written.to_ascii_lowercase().as_slice(), b"$false" | b"0");
        let mut given = self.parameters.iter().filter(|(name, ..)| *name == wanted);
        given.any(|(_, values, _)| {
            !values.iter().any(|value| off(value) || value.text.as_deref() == Some(b"0"))
        })
    }

    /// Reports whether a rule in lower case may apply to the call. The order of parameters and their spelling do not
    /// matter. The readings start with the names that the command has.
    pub(crate) fn may_match(
        &self,
        pattern: &WordPattern,
        readings: &[Vec<WordView<'_>>],
        budget: &StepBudget,
    ) -> bool {
        let Some((first @ Element::Word(_), rest)) = pattern.elements().split_first() else {
            return false;
        };
        let names = readings.iter().filter_map(|words| words.first());
        let mut names = names.chain(std::iter::once(&WordView::Known(b"")));
        let is_named = names.any(|name| pattern.may_begin(*name, budget))
            || first.literal().is_some_and(|name| names_cmdlet(&name, self.cmdlet));
        is_named && self.may_have(rest, budget)
    }

    /// Reports whether the call may have every word of a rule.
    fn may_have(&self, rest: &[Element], budget: &StepBudget) -> bool {
        let words: Vec<&Element> =
            rest.iter().filter(|element| matches!(element, Element::Word(_))).collect();
        let open = words.len() < rest.len();
        let given = self.parameters.iter().map(|(_, values, _)| 1 + values.len()).sum::<usize>();
        let count_fits = open || self.is_open || words.len() <= given;
        count_fits && words.iter().all(|word| self.is_open || self.has(word, budget, false))
    }

    /// Reports whether a rule applies to the call, whatever its unknown values are.
    pub(crate) fn must_match(&self, pattern: &WordPattern, budget: &StepBudget) -> bool {
        if pattern.elements() == [Element::AnyWords] {
            return true;
        }
        let lowered = pattern.lowered();
        let Some((name, rest)) = lowered.elements().split_first() else {
            return false;
        };
        let is_named = name.literal().is_some_and(|name| names_cmdlet(&name, self.cmdlet));
        let words: Vec<&Element> =
            rest.iter().filter(|element| matches!(element, Element::Word(_))).collect();
        let has_words = words.iter().all(|word| self.has(word, budget, true));
        if words.len() < rest.len() {
            return is_named && has_words;
        }
        // Without a star at its end, a rule names every parameter and value.
        let named: usize = self.parameters.iter().map(|(_, values, _)| values.len().max(1)).sum();
        is_named && has_words && !self.is_open && words.len() >= named && self.is_covered(&words, budget)
    }

    /// Reports whether the words of a rule name every parameter or its values.
    fn is_covered(&self, words: &[&Element], budget: &StepBudget) -> bool {
        self.parameters.iter().all(|(name, values, _)| {
            let switch = || words.iter().any(|word| self.names(word).is_some_and(|known| known == *name));
            let value = |value: &Word| words.iter().any(|word| fits(word, value, budget, true));
            if values.is_empty() { switch() } else { values.iter().all(value) }
        })
    }

    /// Returns the parameter that a word of a rule names.
    fn names(&self, word: &Element) -> Option<&'static str> {
        let text = String::from_utf8(word.literal()?).ok()?;
        let name = text.strip_prefix('-')?.trim_end_matches(':').to_owned();
        self.cmdlet.parameter(&name).map(|parameter| parameter.name())
    }

    fn has(&self, word: &Element, budget: &StepBudget, must: bool) -> bool {
        if let Some(wanted) = self.names(word) {
            return self.parameters.iter().any(|(name, ..)| *name == wanted);
        }
        let mut values = self.parameters.iter().flat_map(|(_, values, _)| values);
        values.any(|value| fits(word, value, budget, must))
    }

    /// Reads the arguments of a command that calls this cmdlet.
    pub(crate) fn new(
        cmdlet: &'static Cmdlet,
        command: &Command,
        text: &str,
        home: &str,
        constants: &Constants<'_>,
        place: &dyn Fn(Place) -> Span,
    ) -> Self {
        let binding = bind(cmdlet, command, constants);
        let name = Place { start: command.span.start, end: command.span.end };
        let context = Context { home, constants, place, name: place(name) };
        let proof = prove(cmdlet, &binding, &context);
        let (uses, elsewhere) = if cmdlet.effect == CmdletEffect::Reads {
            (Vec::new(), false)
        } else {
            uses(cmdlet, &binding, &context)
        };
        let hides = match cmdlet.effect {
            CmdletEffect::Runs => proof.is_err(),
            CmdletEffect::Changes => elsewhere && proof.is_err(),
            CmdletEffect::Reads => calls_method(&binding.bound, binding.splats, proof.is_err()),
        };
        let reported = if binding.conflicts { &[][..] } else { &binding.bound };
        let parameters = reported
            .iter()
            .map(|bound| (bound.parameter.name(), values(bound, text, place), place(bound.span)));
        Self {
            cmdlet,
            parameters: parameters.collect(),
            is_open: binding.splats
                || !binding.unbound.is_empty()
                || binding.conflicts
                || !binding.loose.is_empty(),
            proof,
            uses,
            hides,
        }
    }
}

/// Reports whether the cmdlet changes the directory in which later commands run.
pub(crate) fn changes_directory(cmdlet: &Cmdlet) -> bool {
    const MOVES: [&str; 6] = ["Pop-Location", "Push-Location", "Set-Location", "cd..", "cd\\", "cd~"];
    MOVES.contains(&cmdlet.name)
}

/// Reports whether a word of a rule applies to a value, in lower case.
fn fits(word: &Element, value: &Word, budget: &StepBudget, must: bool) -> bool {
    let lowered = value.text.as_ref().map(|text| text.to_ascii_lowercase());
    let pattern = WordPattern::new(vec![word.clone()]);
    match lowered {
        Some(text) => pattern.may_match(&[WordView::Known(&text)], budget),
        None => !must,
    }
}

/// Reports whether `ForEach-Object` calls a method by name.
fn calls_method(bound: &[Bound], splats: bool, refused: bool) -> bool {
    refused && (splats || bound.iter().any(|bound| bound.parameter.refused))
}

fn values(bound: &Bound, text: &str, place: &dyn Fn(Place) -> Span) -> Vec<Word> {
    let arguments = match &bound.value {
        Value::None => &[][..],
        Value::Argument(argument) => std::slice::from_ref(argument),
        Value::Rest(all) => all,
    };
    let word = |argument: &airlock_powershell::Argument| {
        let span = place(argument.span);
        let written = text.get(argument.span.start..argument.span.end).unwrap_or_default();
        match &argument.value {
            Parsed::String(value, _) => Word::known(value.as_bytes(), span),
            Parsed::Number { .. } => Word::known(written.as_bytes(), span),
            _ => Word { written: written.as_bytes().to_vec(), ..Word::unknown(false, span) },
        }
    };
    arguments.iter().map(word).collect()
}
