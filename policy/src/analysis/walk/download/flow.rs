//! The places of a text at which values from another host are used.

use std::cell::Cell;
use std::collections::HashSet;

use airlock_powershell::{Argument, Command, Script, Span, Value};

use crate::analysis::walk::pipeline::around;
use crate::parse::Word;

/// The largest number of steps for one text. If more are needed, every value counts as one from another host.
const MOST_STEPS: usize = 400_000;
/// The variables that stand for the current item of a pipeline.
const ITEMS: &[&str] = &["_", "psitem", "input"];

/// A text with its sources of values from another host.
pub(super) struct Flow<'s> {
    script: &'s Script,
    text: &'s str,
    /// The starts of the sources, in their order.
    sources: Vec<usize>,
    /// The variables that the text names, in lower case, in the order of their places.
    mentions: Vec<(usize, String)>,
    tainted: HashSet<String>,
    steps: Cell<usize>,
}

impl<'s> Flow<'s> {
    pub(super) fn new(script: &'s Script, text: &'s str, sources: Vec<Span>) -> Self {
        let tainted = HashSet::new();
        let mut flow = Self {
            script,
            text,
            sources: Vec::new(),
            mentions: variables(text),
            tainted,
            steps: Cell::new(0),
        };
        flow.add_sources(sources.into_iter());
        flow
    }

    pub(super) fn add_sources(&mut self, sources: impl Iterator<Item = Span>) {
        self.sources.extend(sources.map(|source| source.start));
        self.sources.sort_unstable();
    }

    /// Records that the variable has a value from another host. Reports whether this was not known.
    pub(super) fn taint(&mut self, name: &str) -> bool {
        let lower = name.trim_start_matches('+').to_ascii_lowercase();
        let own = lower
            .rsplit_once(':')
            .map_or(lower.as_str(), |(scope, own)| if scope == "env" { lower.as_str() } else { own });
        self.tainted.insert(own.to_owned())
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.steps.get() >= MOST_STEPS
    }

    fn spend(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// Reports whether a value from another host is used in this part.
    pub(super) fn is_tainted(&self, part: Span) -> bool {
        self.spend(1);
        let next = self.sources.partition_point(|source| *source < part.start);
        let gets = self.sources.get(next).is_some_and(|source| *source < part.end);
        gets || self.is_used_up() || self.mentioned(part).any(|name| self.tainted.contains(name))
    }

    /// Reports whether an earlier part of the pipeline passes a value from another host to the command, or to its
    /// arguments as the current item.
    pub(super) fn is_fed(&self, command: &Command) -> bool {
        let by_item = self.mentioned(command.span).any(|name| ITEMS.contains(&name));
        let count = if by_item { usize::MAX } else { usize::from(command.piped) };
        let pipelines = around(self.script, command.span).take(count);
        pipelines.into_iter().any(|pipeline| {
            self.spend(1);
            self.is_tainted(Span { start: pipeline.start, end: command.span.start })
        })
    }

    fn mentioned(&self, part: Span) -> impl Iterator<Item = &str> {
        let from = self.mentions.partition_point(|(at, _)| *at < part.start);
        let rest = self.mentions.get(from..).unwrap_or_default().iter();
        rest.take_while(move |(at, _)| *at < part.end).map(|(_, name)| {
            self.spend(1);
            name.as_str()
        })
    }

    /// Returns the place of the block that follows. Brackets in strings count, too.
    pub(super) fn block_behind(&self, at: usize) -> Span {
        let whole = Span { start: at, end: self.text.len() };
        if self.is_used_up() {
            return whole;
        }
        let rest = self.text.get(at..).unwrap_or_default();
        let mut depth = 0_usize;
        for (offset, byte) in rest.bytes().enumerate() {
            match byte {
                b'{' | b'(' => depth += 1,
                b'}' | b')' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 && byte == b'}' {
                        self.spend(offset);
                        return Span { start: at, end: at + offset };
                    }
                }
                _ => {}
            }
        }
        self.spend(rest.len());
        whole
    }

    /// Returns the start of the line or statement that contains this place.
    pub(super) fn statement(&self, at: usize) -> usize {
        if self.is_used_up() {
            return 0;
        }
        let before = self.text.get(..at).unwrap_or_default();
        let start = before.rfind(['\n', ';']).map_or(0, |at| at + 1);
        self.spend(at - start);
        start
    }

    /// Returns the place from here to the end of the line or statement.
    pub(super) fn rest_of_statement(&self, at: usize) -> Span {
        let rest = if self.is_used_up() { "" } else { self.text.get(at..).unwrap_or_default() };
        let end = rest.find([';', '\n']).unwrap_or(rest.len());
        self.spend(end);
        Span { start: at, end: at + end }
    }

    /// Returns the text of a part.
    pub(super) fn written(&self, part: Span) -> &'s str {
        self.text.get(part.start..part.end).unwrap_or_default()
    }

    /// Returns an argument as a word.
    pub(super) fn word(&self, argument: &Argument) -> Word {
        let span = crate::decision::Span::default();
        match &argument.value {
            Value::String(value, _) => Word::known(value.as_bytes(), span),
            _ => {
                Word { written: self.written(argument.span).as_bytes().to_vec(), ..Word::unknown(true, span) }
            }
        }
    }
}

/// Returns the variables that a text names, in lower case and without their scope, with their places.
pub(super) fn variables(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    for (at, _) in text.match_indices(['$', '@']) {
        let rest = text.get(at + 1..).unwrap_or_default();
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let is_part = |char: char| char.is_alphanumeric() || matches!(char, '_' | ':');
        let end = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default().trim_end_matches(':').to_ascii_lowercase();
        let own = match name.rsplit_once(':') {
            Some(("env", _)) | None => name.as_str(),
            Some((_, own)) => own,
        };
        if !own.is_empty() {
            all.push((at, own.to_owned()));
        }
    }
    all
}
