//! One attempt as a row of a table. It names the attempt, the layer that stops it, the layer's answer, and the control
//! in which the attempt succeeds.

use crate::control::Control;
use crate::layer::Layer;
use crate::stage::Stage;
use crate::suite::Attempt;
use crate::support::{Findings, PROBE};

/// A row. Its arguments may contain the names in braces that [`Stage::fill`] replaces.
pub(crate) struct Row {
    words: &'static str,
    way: &'static str,
    read_only: bool,
    before: fn(&mut Stage),
    stopped: (Layer, &'static str),
    control_words: Option<&'static str>,
    control: Option<Control>,
}

/// Creates a row that runs the probe with `words` and checks its attempt `way`.
pub(crate) fn probe(words: &'static str, way: &'static str) -> Row {
    Row {
        words,
        way,
        read_only: false,
        before: |_| {},
        stopped: (Layer::Root, ""),
        control_words: None,
        control: None,
    }
}

/// Creates a row that runs a shell command. The attempt succeeds if the command exits with success.
pub(crate) fn program(command: &'static str) -> Row {
    probe(command, "program")
}

impl Row {
    /// Runs the row as a read-only command.
    pub(crate) fn read_only(self) -> Self {
        Self { read_only: true, ..self }
    }

    /// Sets the preparation.
    pub(crate) fn after(self, before: fn(&mut Stage)) -> Self {
        Self { before, ..self }
    }

    /// Sets the layer that stops the attempt, and its possible answers, separated by `|`. Each answer is the name of
    /// an error or a part of a message.
    pub(crate) fn stopped_by(self, layer: Layer, answer: &'static str) -> Self {
        Self { stopped: (layer, answer), ..self }
    }

    /// Sets other arguments for the control, which checks the same attempt.
    pub(crate) fn control_words(self, words: &'static str) -> Self {
        Self { control_words: Some(words), ..self }
    }

    /// Sets the control.
    pub(crate) fn but(self, control: Control) -> Self {
        Self { control: Some(control), ..self }
    }

    fn command(&self, stage: &mut Stage, words: &str) -> String {
        let words = stage.fill(words);
        if self.way == "program" { format!("{PROBE} program '{words}'") } else { format!("{PROBE} {words}") }
    }
}

impl Attempt for Row {
    fn make(self, stage: &mut Stage) {
        (self.before)(stage);
        let command = self.command(stage, self.words);
        let mut spec =
            if self.read_only { stage.host.read_only_spec(&command) } else { stage.host.spec(&command) };
        spec.masks.clone_from(&stage.masks);
        let findings = stage.host.probe_in(&stage.own, &spec);
        let (layer, answers) = self.stopped;
        let answer = stopped(&findings, self.way, answers);
        println!("stopped by {layer}: {answer}");

        let Some(control) = &self.control else { panic!("it has no control") };
        let command = self.command(stage, self.control_words.unwrap_or(self.words));
        control.assert_reached(stage, &command, self.way);
    }
}

/// Returns whether an attempt succeeded, and its answer.
#[track_caller]
pub(crate) fn find<'a>(findings: &'a Findings, way: &str) -> (bool, &'a str) {
    let found = findings.ways.iter().find(|(name, ..)| name == way);
    let (_, reached, detail) = found.unwrap_or_else(|| panic!("`{way}` was not tried: {findings:#?}"));
    (*reached, detail)
}

/// Returns the layer's answer, if the attempt was made and stopped with an expected answer.
#[track_caller]
pub(crate) fn stopped<'a>(findings: &'a Findings, way: &str, answers: &str) -> &'a str {
    let (reached, answer) = find(findings, way);
    assert!(!reached, "`{way}` got through: {answer}");
    let known = !answers.is_empty() && answers.split('|').any(|wanted| answer.contains(wanted));
    assert!(known, "`{way}` was not stopped by `{answers}`: {answer}");
    answer
}
