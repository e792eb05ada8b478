//! Alias expansion as the shell performs it before parsing. The alias's text replaces an unquoted word in the position
//! of a command name. Its first word is expanded again, but no alias is expanded within itself. If the text ends in a
//! space, the next word is expanded, too.

use super::read::Snapshot;
use crate::decision::Span;
use crate::limits;
use crate::parse::{self, Nested, Redir, Simple, SpanMap, Statement, Surroundings, Word};

/// A command after alias expansion.
#[derive(Debug)]
pub(crate) struct Expanded {
    pub(crate) text: Vec<u8>,
    /// Whether everything was expanded within the limits.
    pub(crate) complete: bool,
    /// Whether it is unknown which further word the shell expands, or whether the aliases still exist when it does.
    unclear: bool,
    /// Whether a word is an alias, and it is unknown whether the shell expands it.
    doubtful: bool,
    regions: Vec<Region>,
}

/// The text of an expanded alias.
#[derive(Debug)]
struct Region {
    start: usize,
    end: usize,
    name: Vec<u8>,
    /// The word of the original command that it comes from.
    original: Span,
    /// Whether it is not inside another region.
    outermost: bool,
    /// Whether the alias ends in a space, so that the next word is expanded.
    continues: bool,
}

impl Snapshot {
    /// Returns the command after alias expansion.
    #[must_use]
    pub fn expanded(&self, command: &[u8]) -> Vec<u8> {
        self.expand(command, "/").map_or_else(|| command.to_vec(), |expanded| expanded.text)
    }

    /// Returns the command after alias expansion, or `None` if it contains no alias.
    pub(crate) fn expand(&self, command: &[u8], home: &str) -> Option<Expanded> {
        let mut out = Expanded {
            text: command.to_vec(),
            complete: true,
            unclear: false,
            doubtful: false,
            regions: Vec::new(),
        };
        for _ in 0..limits::MAX_ALIASES {
            if self.aliases.is_empty() || out.text.len() > limits::MAX_PARSED_BYTES {
                break;
            }
            match self.next(&mut out, home) {
                Some((at, name)) => self.replace(&mut out, at, &name),
                None => {
                    out.complete = !(out.unclear || out.doubtful);
                    return (out.doubtful || !out.regions.is_empty()).then_some(out);
                }
            }
        }
        out.complete = out.regions.is_empty();
        (!out.complete).then_some(out)
    }

    /// Returns the first word that is an alias and not inside its own expansion.
    fn next(&self, so_far: &mut Expanded, home: &str) -> Option<(Span, Vec<u8>)> {
        let script = parse::parse(&so_far.text, SpanMap::Whole, Surroundings::of_home(home));
        let mut names = Names::default();
        script.statements.iter().for_each(|statement| names_in(statement, &mut names));
        let Names { mut places, doubtful, .. } = names;
        let mut words = Vec::new();
        script.statements.iter().for_each(|statement| words_in(statement, &mut words));
        let behind = so_far.regions.iter().filter_map(|region| so_far.behind(region, &words));
        let (clear, unclear): (Vec<_>, Vec<_>) = behind.partition(|(_, clear)| *clear);
        so_far.unclear |= !unclear.is_empty() || words.iter().any(|word| removes_aliases(word));
        let text_at = |place: &Span| so_far.text.get(place.start..place.end).unwrap_or_default();
        let doubtful = doubtful.iter().any(|place| self.aliases.contains_key(&joined(text_at(place))));
        so_far.doubtful |= doubtful;
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
        // bash adds a space, so that the text never joins with the text after it.
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
    /// Returns the span of the original command that this part of the text comes from.
    pub(crate) fn original(&self, span: Span) -> Span {
        let start = self.offset(span.start, false);
        Span::new(start, self.offset(span.end, true).max(start))
    }

    /// Returns the original offset. Within an alias it is the start or end of the alias's word.
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

    /// Returns the word after the region that the shell expands because of the region's end: the first unquoted one.
    /// The flag is false if it is uncertain whether this is the word.
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

    /// Reports whether the word, including its substitutions, contains a quote or an escape.
    fn has_quotes(&self, word: &Word) -> bool {
        let text = joined(self.text.get(word.span.start..word.span.end).unwrap_or_default());
        text.iter().any(|byte| b"'\"\\".contains(byte))
    }
}

/// A line continuation. bash removes these two bytes everywhere except in quotes.
const CONTINUED: &[u8] = b"\\\n";

/// Returns the length of the prefix that satisfies `fits`, including line continuations.
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

/// Returns the word without line continuations.
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

/// The positions of command names.
#[derive(Default)]
struct Names {
    /// The words that the shell reads as command names before it looks for aliases.
    places: Vec<Span>,
    /// Those in a substitution, where it is unknown whether the shell looks for an alias.
    doubtful: Vec<Span>,
    in_substitution: bool,
}

/// Reports whether the word can be the builtin that removes aliases, or a text that calls it. A substitution is parsed
/// again when it runs, so the aliases can be gone by then.
fn removes_aliases(word: &Word) -> bool {
    const NAME: &[u8] = b"unalias";
    word.text.as_deref().is_some_and(|text| text.windows(NAME.len()).any(|part| part == NAME))
}

/// Adds the positions of command names that the shell reads as such.
fn names_in(statement: &Statement, out: &mut Names) {
    match statement {
        Statement::Simple(simple) => simple_names(simple, out),
        Statement::Pipeline(parts) => parts.iter().for_each(|part| names_in(part, out)),
        Statement::List(items) => items.iter().for_each(|(_, item)| names_in(item, out)),
        Statement::Negated(inner) => names_in(inner, out),
        Statement::Nested(nested) => nested_names(nested, out),
        Statement::Function { body, .. } => body.iter().for_each(|inner| names_in(inner, out)),
    }
}

/// Reports whether there is a redirect between the two spans.
fn redirected(simple: &Simple, first: Span, last: Span) -> bool {
    let between = |redirect: &Redir| first.start < redirect.span.start && redirect.span.start < last.start;
    simple.redirects.iter().any(between)
}

fn simple_names(simple: &Simple, out: &mut Names) {
    let assigns = |word: &&Word| parse::assignment_name(&word.lead).is_some();
    let before = |word: &&Word| word.lead.starts_with(b"-") || assigns(word);
    let mut words = simple.words.as_slice();
    let mut set = simple.assignments.first().map(|assign| assign.span);
    while let Some((name, behind)) = words.split_first().filter(|(name, _)| name.bare) {
        // After an assignment and a redirect, bash does not look for an alias, except in some substitutions.
        if set.is_none_or(|set| !redirected(simple, set, name.span)) {
            out.places.push(name.span);
        } else if out.in_substitution {
            out.doubtful.push(name.span);
        }
        let Some(keyword @ (b"time" | b"coproc")) = name.text.as_deref() else {
            break;
        };
        // A command name can follow these keywords.
        let (skipped, rest) = behind.split_at(behind.iter().take_while(before).count());
        set = set.or_else(|| skipped.iter().find(assigns).map(|word| word.span));
        words = rest;
        // A command name can also follow the name of a coprocess.
        let own = behind.split_first().filter(|(own, _)| keyword == b"coproc" && own.bare);
        let program = own.and_then(|(own, behind)| Some((own, behind.iter().find(|word| !assigns(word))?)));
        if let Some((own, program)) = program.filter(|(_, program)| program.bare)
            && !redirected(simple, own.span, program.span)
        {
            out.places.push(program.span);
        }
    }
    let values = simple.assignments.iter().flat_map(|assign| &assign.values);
    let targets = simple.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
    simple.words.iter().chain(values).chain(targets).for_each(|word| word_names(word, out));
}

fn nested_names(nested: &Nested, out: &mut Names) {
    let targets = nested.redirects.iter().filter_map(|redirect| redirect.target.as_ref());
    nested.words.iter().chain(targets).for_each(|word| word_names(word, out));
    nested.body.iter().for_each(|inner| names_in(inner, out));
}

/// Adds all words of simple commands.
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

fn word_names(word: &Word, out: &mut Names) {
    let around = std::mem::replace(&mut out.in_substitution, true);
    for substitution in &word.substitutions {
        substitution.body.iter().for_each(|inner| names_in(inner, out));
    }
    out.in_substitution = around;
}
