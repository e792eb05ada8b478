//! Matches deny and ask rules with other spellings of the same flags: a rule for `rm -rf /` also
//! matches `rm -fr /`, `rm -r -f /` and `rm --recursive --force -- /`. It uses only the flags in
//! the tables, and is never used for allow rules.

use crate::analysis::Found;
use crate::decision::Span;
use crate::getopt::{self, FlagProblem, GivenFlag, Sorted};
use crate::launch::{base_name, behind_options};
use crate::parse::Word;
use crate::rules::matching::{Element, StepBudget, WordPattern, WordView, matches_within};
use crate::rules::raw::RawViews;
use crate::tables::{self, Options};

/// The largest number of words in a name with its own flags, such as `docker compose run`.
const MOST_WORDS: usize = 3;
/// The cost of sorting one word into flags and operands, in steps.
const SORT_STEPS: usize = 8;

/// A command with flags that the tables list.
pub(super) struct FlaggedCommand<'w> {
    /// The program and its subcommands.
    name: Vec<&'w [u8]>,
    /// The flags as each table lists them.
    options: Vec<&'static Options>,
    /// The words after the name.
    rest: &'w [Word],
}

impl<'w> FlaggedCommand<'w> {
    /// Returns the command if a table lists flags of its program or subcommand.
    pub(super) fn of(found: &'w Found) -> Option<Self> {
        Self::of_words(&found.words)
    }

    fn of_words(words: &'w [Word]) -> Option<Self> {
        let (program, mut rest) = words.split_first()?;
        let mut name = vec![base_name(program.text.as_deref()?)];
        let mut longest = None;
        loop {
            let options: Vec<&'static Options> = tables::options(&name).collect();
            if !options.is_empty() {
                longest = Some(Self { name: name.clone(), options, rest });
            }
            let next = behind_options(&name, rest).and_then(|words| words.split_first());
            let Some((text, tail)) = next.and_then(|(word, tail)| Some((word.text.as_deref()?, tail))) else {
                return longest;
            };
            if name.len() == MOST_WORDS {
                return longest;
            }
            name.push(text);
            rest = tail;
        }
    }

    /// Reports whether another spelling of the command's flags may match the rule.
    pub(super) fn may_meet(&self, pattern: &WordPattern, budget: &StepBudget) -> bool {
        let Some((Element::Word(program), rest)) = pattern.elements().split_first() else {
            return false;
        };
        let named = self.name.first().is_some_and(|name| matches_within(program, name, budget));
        // A rule for the program alone is compared word by word.
        if !named || matches!(rest, [] | [Element::AnyWords]) {
            return false;
        }
        let (elements, subcommands) = behind_same_words(rest, self.name.get(1..).unwrap_or_default());
        budget.spend(SORT_STEPS * (elements.len() + self.rest.len()))
            && self.options.iter().any(|options| {
                let sorted = getopt::sort_leniently(self.rest, options);
                RuleFlags::of(elements, options)
                    .is_some_and(|wanted| wanted.may_be(&sorted, self.rest, subcommands, budget))
            })
    }
}

/// Returns the rest of the rule and of the command's subcommands after the words that they share.
fn behind_same_words<'p, 'n, 'w>(
    elements: &'p [Element],
    words: &'n [&'w [u8]],
) -> (&'p [Element], &'n [&'w [u8]]) {
    let same = |(element, word): &(&Element, &&[u8])| element.literal().is_some_and(|text| text == **word);
    let count = elements.iter().zip(words).take_while(same).count();
    (elements.get(count..).unwrap_or_default(), words.get(count..).unwrap_or_default())
}

/// The flags and operands that a rule names.
struct RuleFlags {
    flags: Vec<GivenFlag>,
    operands: Vec<Element>,
    /// Whether a command may have more words than the rule names.
    open: bool,
}

impl RuleFlags {
    /// Returns `None` if the rule names a flag that these options do not have, or a part of one.
    fn of(elements: &[Element], options: &'static Options) -> Option<Self> {
        let words: Vec<Word> = elements.iter().map(as_word).collect::<Option<_>>()?;
        let sorted = getopt::sort_leniently(&words, options);
        if sorted.troubles.iter().any(|(trouble, _)| *trouble == FlagProblem::UnknownFlag) {
            return None;
        }
        // A star that is the value of a flag also matches further words.
        let kept = elements
            .iter()
            .enumerate()
            .filter(|(index, element)| **element == Element::AnyWords || sorted.operands.contains(index));
        let operands = kept.map(|(_, element)| element.clone()).collect();
        Some(Self { flags: sorted.flags, operands, open: elements.contains(&Element::AnyWords) })
    }

    /// Reports whether the words, sorted by the same options, may match the rule.
    fn may_be(&self, sorted: &Sorted, rest: &[Word], subcommands: &[&[u8]], budget: &StepBudget) -> bool {
        let surplus = |given: &GivenFlag| !self.flags.iter().any(|wanted| may_be_same(wanted, given));
        let unknown = sorted.troubles.iter().any(|(trouble, _)| *trouble == FlagProblem::UnknownFlag);
        if !self.open && (unknown || sorted.flags.iter().any(surplus)) {
            return false;
        }
        let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
        if self.among(&sorted.flags) {
            return self.meets_operands(subcommands, &operands, None, budget);
        }
        // An unknown word may be the missing flags.
        operands.iter().enumerate().filter(|(_, word)| may_be_flags(word)).any(|(at, word)| {
            let taken = word.exactly_one.then_some(at);
            self.meets_operands(subcommands, &operands, taken, budget)
        })
    }

    fn among(&self, given: &[GivenFlag]) -> bool {
        self.flags.iter().all(|wanted| given.iter().any(|given| may_be_same(wanted, given)))
    }

    fn meets_operands(
        &self,
        subcommands: &[&[u8]],
        operands: &[&Word],
        taken: Option<usize>,
        budget: &StepBudget,
    ) -> bool {
        let own = operands.iter().enumerate().filter(|(at, _)| Some(*at) != taken);
        let own = own.map(|(_, word)| WordView::of(word));
        let words: Vec<WordView<'_>> =
            subcommands.iter().map(|word| WordView::Known(word)).chain(own).collect();
        budget.spend(words.len()) && WordPattern::new(self.operands.clone()).may_match(&words, budget)
    }
}

/// Converts an element of a rule to a word of a command. Returns `None` for a flag with a star in its
/// word.
fn as_word(element: &Element) -> Option<Word> {
    let Element::Word(bytes) = element else {
        return Some(Word::unknown(false, Span::default()));
    };
    match element.literal() {
        Some(text) => Some(Word::known(&text, Span::default())),
        None if bytes.first() == Some(&Some(b'-')) => None,
        None => Some(Word::unknown(true, Span::default())),
    }
}

fn may_be_flags(word: &Word) -> bool {
    word.text.is_none() && !getopt::is_operand(word)
}

/// Reports whether both are the same flag with values that may be equal.
fn may_be_same(wanted: &GivenFlag, given: &GivenFlag) -> bool {
    let text = |given: &GivenFlag| given.value.as_ref().and_then(|value| value.text.clone());
    let differ = matches!((text(wanted), text(given)), (Some(wanted), Some(given)) if wanted != given);
    std::ptr::eq(wanted.flag, given.flag) && !differ
}

/// Reports whether a text that is not understood may contain the rule's words, with its flags in
/// other spellings or positions.
pub(super) fn may_hold(raw: &RawViews<'_>, pattern: &WordPattern, budget: &StepBudget) -> bool {
    let words: Vec<Word> = pattern
        .elements()
        .iter()
        .map_while(Element::literal)
        .map(|text| Word::known(&text, Span::default()))
        .collect();
    let Some(named) = FlaggedCommand::of_words(&words) else {
        return false;
    };
    let (name, elements) = pattern.elements().split_at_checked(named.name.len()).unwrap_or_default();
    named.options.iter().any(|options| {
        let Some(wanted) = RuleFlags::of(elements, options).filter(|wanted| !wanted.flags.is_empty()) else {
            return false;
        };
        let operands = WordPattern::new(name.iter().chain(&wanted.operands).cloned().collect());
        raw.may_hold(&operands, budget) && {
            let flags = raw.dashed().flat_map(|text| {
                budget.spend(SORT_STEPS);
                getopt::sort_leniently(&[Word::known(text, Span::default())], options).flags
            });
            wanted.among(&flags.collect::<Vec<_>>())
        }
    })
}
