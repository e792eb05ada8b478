//! Matches deny and ask rules with other spellings of the same flags: a rule for `rm -rf /` also
//! matches `rm -fr /`, `rm -r -f /` and `rm --recursive --force -- /`. It uses only the flags in
//! the tables, and is never used for allow rules.

use crate::analysis::Found;
use crate::decision::Span;
use crate::getopt::{self, Given, Sorted, Trouble};
use crate::launch::{base_name, behind_options};
use crate::parse::Word;
use crate::rules::matching::{Effort, Piece, Seen, WordPattern, matches_within};
use crate::rules::raw::RawViews;
use crate::tables::{self, Options};

/// The largest number of words in a name with its own flags, such as `docker compose run`.
const MOST_WORDS: usize = 3;
/// The cost of sorting one word into flags and operands, in steps.
const SORT_STEPS: usize = 8;

/// A command with flags that the tables list.
pub(super) struct Spelt<'w> {
    /// The program and its subcommands.
    name: Vec<&'w [u8]>,
    /// The flags as each table lists them.
    options: Vec<&'static Options>,
    /// The words after the name.
    rest: &'w [Word],
}

impl<'w> Spelt<'w> {
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
    pub(super) fn may_meet(&self, pattern: &WordPattern, effort: &Effort) -> bool {
        let Some((Piece::Word(program), rest)) = pattern.pieces().split_first() else {
            return false;
        };
        let named = self.name.first().is_some_and(|name| matches_within(program, name, effort));
        // A rule for the program alone is compared word by word.
        if !named || matches!(rest, [] | [Piece::AnyWords]) {
            return false;
        }
        let (pieces, subcommands) = behind_same_words(rest, self.name.get(1..).unwrap_or_default());
        effort.spend(SORT_STEPS * (pieces.len() + self.rest.len()))
            && self.options.iter().any(|options| {
                let sorted = getopt::spell(self.rest, options);
                Wanted::of(pieces, options)
                    .is_some_and(|wanted| wanted.may_be(&sorted, self.rest, subcommands, effort))
            })
    }
}

/// Returns the rest of the rule and of the command's subcommands after the words that they share.
fn behind_same_words<'p, 'n, 'w>(
    pieces: &'p [Piece],
    words: &'n [&'w [u8]],
) -> (&'p [Piece], &'n [&'w [u8]]) {
    let same = |(piece, word): &(&Piece, &&[u8])| piece.literal().is_some_and(|text| text == **word);
    let count = pieces.iter().zip(words).take_while(same).count();
    (pieces.get(count..).unwrap_or_default(), words.get(count..).unwrap_or_default())
}

/// The flags and operands that a rule names.
struct Wanted {
    flags: Vec<Given>,
    operands: Vec<Piece>,
    /// Whether a command may have more words than the rule names.
    open: bool,
}

impl Wanted {
    /// Returns `None` if the rule names a flag that these options do not have, or a part of one.
    fn of(pieces: &[Piece], options: &'static Options) -> Option<Self> {
        let words: Vec<Word> = pieces.iter().map(as_word).collect::<Option<_>>()?;
        let sorted = getopt::spell(&words, options);
        if sorted.troubles.iter().any(|(trouble, _)| *trouble == Trouble::UnknownFlag) {
            return None;
        }
        // A star that is the value of a flag also stands for further words.
        let kept = pieces
            .iter()
            .enumerate()
            .filter(|(index, piece)| **piece == Piece::AnyWords || sorted.operands.contains(index));
        let operands = kept.map(|(_, piece)| piece.clone()).collect();
        Some(Self { flags: sorted.flags, operands, open: pieces.contains(&Piece::AnyWords) })
    }

    /// Reports whether the words, sorted by the same options, may match the rule.
    fn may_be(&self, sorted: &Sorted, rest: &[Word], subcommands: &[&[u8]], effort: &Effort) -> bool {
        let surplus = |given: &Given| !self.flags.iter().any(|wanted| may_be_same(wanted, given));
        let unknown = sorted.troubles.iter().any(|(trouble, _)| *trouble == Trouble::UnknownFlag);
        if !self.open && (unknown || sorted.flags.iter().any(surplus)) {
            return false;
        }
        let operands: Vec<&Word> = sorted.operands.iter().filter_map(|index| rest.get(*index)).collect();
        if self.among(&sorted.flags) {
            return self.meets_operands(subcommands, &operands, None, effort);
        }
        // An unknown word may be the missing flags.
        operands.iter().enumerate().filter(|(_, word)| may_be_flags(word)).any(|(at, word)| {
            let taken = word.exactly_one.then_some(at);
            self.meets_operands(subcommands, &operands, taken, effort)
        })
    }

    fn among(&self, given: &[Given]) -> bool {
        self.flags.iter().all(|wanted| given.iter().any(|given| may_be_same(wanted, given)))
    }

    fn meets_operands(
        &self,
        subcommands: &[&[u8]],
        operands: &[&Word],
        taken: Option<usize>,
        effort: &Effort,
    ) -> bool {
        let own = operands.iter().enumerate().filter(|(at, _)| Some(*at) != taken);
        let own = own.map(|(_, word)| Seen::of(word));
        let words: Vec<Seen<'_>> = subcommands.iter().map(|word| Seen::Known(word)).chain(own).collect();
        effort.spend(words.len()) && WordPattern::new(self.operands.clone()).may_match(&words, effort)
    }
}

/// Converts a piece of a rule to a word of a command. Returns `None` for a flag with a star in its
/// word.
fn as_word(piece: &Piece) -> Option<Word> {
    let Piece::Word(bytes) = piece else {
        return Some(Word::unknown(false, Span::default()));
    };
    match piece.literal() {
        Some(text) => Some(Word::known(&text, Span::default())),
        None if bytes.first() == Some(&Some(b'-')) => None,
        None => Some(Word::unknown(true, Span::default())),
    }
}

fn may_be_flags(word: &Word) -> bool {
    word.text.is_none() && !getopt::is_operand(word)
}

/// Reports whether both are the same flag with values that may be equal.
fn may_be_same(wanted: &Given, given: &Given) -> bool {
    let text = |given: &Given| given.value.as_ref().and_then(|value| value.text.clone());
    let differ = matches!((text(wanted), text(given)), (Some(wanted), Some(given)) if wanted != given);
    std::ptr::eq(wanted.flag, given.flag) && !differ
}

/// Reports whether a text that is not understood may contain the rule's words, with its flags in
/// other spellings or positions.
pub(super) fn may_hold(raw: &RawViews<'_>, pattern: &WordPattern, effort: &Effort) -> bool {
    let words: Vec<Word> = pattern
        .pieces()
        .iter()
        .map_while(Piece::literal)
        .map(|text| Word::known(&text, Span::default()))
        .collect();
    let Some(named) = Spelt::of_words(&words) else {
        return false;
    };
    let (name, pieces) = pattern.pieces().split_at_checked(named.name.len()).unwrap_or_default();
    named.options.iter().any(|options| {
        let Some(wanted) = Wanted::of(pieces, options).filter(|wanted| !wanted.flags.is_empty()) else {
            return false;
        };
        let operands = WordPattern::new(name.iter().chain(&wanted.operands).cloned().collect());
        raw.may_hold(&operands, effort) && {
            let flags = raw.dashed().flat_map(|text| {
                effort.spend(SORT_STEPS);
                getopt::spell(&[Word::known(text, Span::default())], options).flags
            });
            wanted.among(&flags.collect::<Vec<_>>())
        }
    })
}
