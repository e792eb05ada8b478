//! Alias expansion, as the shell does it before it parses: the text of the alias in
//! place of an unquoted word where a command's name stands, its own first word again,
//! never an alias within itself, and the next word too where the text ends in a blank.

use super::Snapshot;
use crate::decision::Span;
use crate::limits;
use crate::parse::{self, Nested, Redir, Simple, SpanMap, Statement, Surroundings, Word};

/// A command behind its aliases.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) text: Vec<u8>,
    /// Whether everything was expanded within the bounds.
    pub(crate) complete: bool,
    /// Whether it is not known which word is expanded because of another's end.
    unclear: bool,
    regions: Vec<Region>,
}

/// Text that an alias became.
#[derive(Debug)]
struct Region {
    start: usize,
    end: usize,
    name: Vec<u8>,
    /// The word of the command that it goes back to.
    original: Span,
    /// Whether it stands in no other.
    outermost: bool,
    /// Whether the alias ends in a blank, so that the word behind it is expanded too.
    continues: bool,
}

impl Snapshot {
    /// The command behind its aliases; `None` where there is none in it.
    pub(crate) fn expand(&self, command: &[u8], home: &str) -> Option<Expanded> {
        let mut out =
            Expanded { text: command.to_vec(), complete: true, unclear: false, regions: Vec::new() };
        for _ in 0..limits::MAX_ALIASES {
            if self.aliases.is_empty() || out.text.len() > limits::MAX_PARSED_BYTES {
                break;
            }
            match self.next(&mut out, home) {
                Some((at, name)) => self.replace(&mut out, at, &name),
                None => {
                    out.complete = !out.unclear;
                    return (!out.regions.is_empty()).then_some(out);
                }
            }
        }
        out.complete = out.regions.is_empty();
        (!out.complete).then_some(out)
    }

    /// The first word that is an alias, and not one within itself.
    fn next(&self, so_far: &mut Expanded, home: &str) -> Option<(Span, Vec<u8>)> {
        let script = parse::parse(&so_far.text, SpanMap::Whole, Surroundings::of_home(home));
        let mut places = Vec::new();
        script.statements.iter().for_each(|statement| names_in(statement, &mut places));
        let mut words = Vec::new();
        script.statements.iter().for_each(|statement| words_in(statement, &mut words));
        let behind = so_far.regions.iter().filter_map(|region| so_far.behind(region, &words));
        let (clear, unclear): (Vec<_>, Vec<_>) = behind.partition(|(_, clear)| *clear);
        so_far.unclear |= !unclear.is_empty();
        places.extend(clear.into_iter().map(|(place, _)| place));
        places.sort();
        places.into_iter().find_map(|place| {
            let name = joined(so_far.text.get(place.start..place.end)?);
            let within = |region: &Region| region.start <= place.start && place.end <= region.end;
            let again = so_far.regions.iter().any(|region| within(region) && region.name == name);
            (self.aliases.contains_key(&name) && !again).then_some((place, name))
        })
    }

    fn replace(&self, out: &mut Expanded, at: Span, name: &[u8]) {
        let mut text = self.aliases.get(name).cloned().unwrap_or_default();
        let continues = text.ends_with(b" ") || text.ends_with(b"\t");
        // As bash does, so that the text never joins with what is behind it.
        let joins = text.last().is_some_and(|last| !b" \n\t;|&()<>".contains(last));
        if joins {
            text.push(b' ');
        }
        let original = out.original(at);
        let outermost = !out.regions.iter().any(|region| region.start <= at.start && at.end <= region.end);
        let (length, grown) = (at.end - at.start, text.len());
        let moved = |offset: usize| if offset >= at.end { offset - length + grown } else { offset };
        for region in &mut out.regions {
            region.end = moved(region.end);
            region.start = if region.start > at.start { moved(region.start) } else { region.start };
        }
        out.text.splice(at.start..at.end, text);
        let end = at.start + grown;
        let name = name.to_vec();
        out.regions.push(Region { start: at.start, end, name, original, outermost, continues });
    }
}

impl Expanded {
    /// Where in the command as given this part of the text comes from.
    pub(crate) fn original(&self, span: Span) -> Span {
        let start = self.offset(span.start, false);
        Span::new(start, self.offset(span.end, true).max(start))
    }

    /// Where the offset was before anything was expanded; within an alias, where its
    /// word begins or ends.
    fn offset(&self, offset: usize, end: bool) -> usize {
        let (mut grown, mut written) = (0_usize, 0_usize);
        for region in self.regions.iter().filter(|region| region.outermost) {
            let inside = (region.start < offset && offset < region.end)
                || (end && offset == region.end)
                || (!end && offset == region.start);
            if inside {
                return if end { region.original.end } else { region.original.start };
            }
            if region.end <= offset {
                grown += region.end - region.start;
                written += region.original.end - region.original.start;
            }
        }
        (offset + written).saturating_sub(grown)
    }

    /// The word behind the region, if the shell expands it because of the region's end: the first that is not quoted.
    /// False beside it: whether it is that one is not known.
    fn behind(&self, region: &Region, words: &[&Word]) -> Option<(Span, bool)> {
        let blank = |byte| matches!(byte, b' ' | b'\t');
        let after = |at: usize| Some(at + length_of(self.text.get(at..)?, blank));
        let mut from = after(region.end).filter(|_| region.continues)?;
        let mut clear = true;
        while let Some(word) = words.iter().find(|word| word.span.start == from && self.has_quotes(word)) {
            clear &= word.substitutions.is_empty();
            from = after(word.span.end)?;
        }
        let length = length_of(self.text.get(from..)?, |byte| !b" \t\n;|&()<>".contains(&byte));
        let around = |other: &Region| {
            other.start <= region.start && region.end <= other.end && other.end <= from && !other.continues
        };
        (!self.regions.iter().any(around)).then(|| (Span::new(from, from + length), clear))
    }

    /// Whether a quote or an escape is in the word, or in what is substituted there.
    fn has_quotes(&self, word: &Word) -> bool {
        let text = joined(self.text.get(word.span.start..word.span.end).unwrap_or_default());
        text.iter().any(|byte| b"'\"\\".contains(byte))
    }
}

/// A line that is continued: bash reads the two bytes nowhere but in quotes.
const CONTINUED: &[u8] = b"\\\n";

/// How many bytes of the beginning are such, continued lines among them.
fn length_of(text: &[u8], fits: impl Fn(u8) -> bool) -> usize {
    let mut length = 0;
    while let Some(rest) = text.get(length..).filter(|rest| !rest.is_empty()) {
        length += match rest.first() {
            _ if rest.starts_with(CONTINUED) => CONTINUED.len(),
            Some(byte) if fits(*byte) => 1,
            _ => break,
        };
    }
    length
}

/// The word without its continued lines.
fn joined(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((first, behind)) = rest.split_first() {
        rest = match rest.strip_prefix(CONTINUED) {
            Some(behind) => behind,
            None => {
                out.push(*first);
                behind
            }
        };
    }
    out
}

/// Where the names of commands stand, that the shell reads as such.
fn names_in(statement: &Statement, out: &mut Vec<Span>) {
    match statement {
        Statement::Simple(simple) => simple_names(simple, out),
        Statement::Pipeline(parts) => parts.iter().for_each(|part| names_in(part, out)),
        Statement::List(items) => items.iter().for_each(|(_, item)| names_in(item, out)),
        Statement::Negated(inner) => names_in(inner, out),
        Statement::Nested(nested) => nested_names(nested, out),
        Statement::Function { body, .. } => body.iter().for_each(|inner| names_in(inner, out)),
    }
}

/// Whether there is a redirect between the two.
fn redirected(simple: &Simple, first: Span, last: Span) -> bool {
    let between = |redirect: &Redir| first.start < redirect.span.start && redirect.span.start < last.start;
    simple.redirects.iter().any(between)
}

fn simple_names(simple: &Simple, out: &mut Vec<Span>) {
    let assigns = |word: &&Word| parse::assignment_name(&word.lead).is_some();
    let before = |word: &&Word| word.lead.starts_with(b"-") || assigns(word);
    let mut words = simple.words.as_slice();
    let set = simple.assignments.first().map(|assign| assign.span);
    while let Some((name, behind)) = words.split_first().filter(|(name, _)| name.bare) {
        // Behind an assignment and a redirect bash looks for no alias.
        if set.is_none_or(|set| !redirected(simple, set, name.span)) {
            out.push(name.span);
        }
        let Some(keyword @ (b"time" | b"coproc")) = name.text.as_deref() else {
            break;
        };
        // The name of a command stands behind these keywords, too.
        words = behind.get(behind.iter().take_while(before).count()..).unwrap_or_default();
        // And behind what may be a coprocess's own.
        let own = behind.split_first().filter(|(own, _)| keyword == b"coproc" && own.bare);
        let program = own.and_then(|(own, behind)| Some((own, behind.iter().find(|word| !assigns(word))?)));
        if let Some((own, program)) = program.filter(|(_, program)| program.bare)
            && !redirected(simple, own.span, program.span)
        {
            out.push(program.span);
        }
    }
    let values = simple.assignments.iter().flat_map(|assign| &assign.values);
    let targets = simple.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
    simple.words.iter().chain(values).chain(targets).for_each(|word| word_names(word, out));
}

fn nested_names(nested: &Nested, out: &mut Vec<Span>) {
    let targets = nested.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
    nested.words.iter().chain(targets).for_each(|word| word_names(word, out));
    nested.body.iter().for_each(|inner| names_in(inner, out));
}

/// All words of simple commands.
fn words_in<'w>(statement: &'w Statement, out: &mut Vec<&'w Word>) {
    let within = |word: &'w Word, out: &mut Vec<&'w Word>| {
        for substitution in &word.substitutions {
            substitution.body.iter().for_each(|inner| words_in(inner, out));
        }
    };
    match statement {
        Statement::Simple(simple) => {
            out.extend(&simple.words);
            let values = simple.assignments.iter().flat_map(|assign| &assign.values);
            let targets = simple.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
            simple.words.iter().chain(values).chain(targets).for_each(|word| within(word, out));
        }
        Statement::Pipeline(parts) => parts.iter().for_each(|part| words_in(part, out)),
        Statement::List(items) => items.iter().for_each(|(_, item)| words_in(item, out)),
        Statement::Negated(inner) => words_in(inner, out),
        Statement::Nested(nested) => {
            let targets = nested.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
            nested.words.iter().chain(targets).for_each(|word| within(word, out));
            nested.body.iter().for_each(|inner| words_in(inner, out));
        }
        Statement::Function { body, .. } => body.iter().for_each(|inner| words_in(inner, out)),
    }
}

fn word_names(word: &Word, out: &mut Vec<Span>) {
    for substitution in &word.substitutions {
        substitution.body.iter().for_each(|inner| names_in(inner, out));
    }
}
