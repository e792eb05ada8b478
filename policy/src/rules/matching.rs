//! Rule patterns against the words of one command. Two questions only: may what
//! the words could become meet the pattern (deny, ask), and must it (allow).

use std::cell::Cell;

use crate::limits::MAX_MATCH_STEPS;
use crate::parse::Word;

/// How much comparing one decision may still cost. What does not fit is not compared;
/// whoever decides must then ask.
#[derive(Debug)]
pub(crate) struct Effort {
    left: Cell<usize>,
}

impl Effort {
    pub(crate) fn new() -> Self {
        Self { left: Cell::new(MAX_MATCH_STEPS) }
    }

    /// Takes so many steps; false where they are not left.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(steps));
        left > steps
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

/// One place of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// One word; `None` stands for any bytes.
    Word(Vec<Option<u8>>),
    /// Any number of words.
    AnyWords,
}

impl Piece {
    /// The word, where it is without a star.
    pub(crate) fn literal(&self) -> Option<Vec<u8>> {
        match self {
            Self::Word(word) => word.iter().copied().collect(),
            Self::AnyWords => None,
        }
    }
}

/// One word of a command as a pattern sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen<'a> {
    /// Known bytes.
    Known(&'a [u8]),
    /// One word whose bytes are not known.
    One,
    /// Any number of words that are not known.
    Many,
}

impl<'a> Seen<'a> {
    pub(crate) fn of(word: &'a Word) -> Self {
        match &word.text {
            Some(text) => Self::Known(text),
            None if word.exactly_one => Self::One,
            None => Self::Many,
        }
    }
}

/// The words of a rule.
#[derive(Debug, Clone)]
pub(crate) struct WordPattern {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    May,
    Must,
}

impl WordPattern {
    pub(crate) fn new(pieces: Vec<Piece>) -> Self {
        Self { pieces }
    }

    /// Matches every command.
    pub(crate) fn any() -> Self {
        Self::new(vec![Piece::AnyWords])
    }

    /// The same in small letters, as PowerShell compares names.
    pub(crate) fn lowered(&self) -> Self {
        let lower = |piece: &Piece| match piece {
            Piece::Word(word) => {
                Piece::Word(word.iter().map(|byte| byte.map(|byte| byte.to_ascii_lowercase())).collect())
            }
            Piece::AnyWords => Piece::AnyWords,
        };
        Self::new(self.pieces.iter().map(lower).collect())
    }

    /// Whether no star is in it: then it also covers what the command launches,
    /// and its redirects, because the operator wrote them out.
    pub(crate) fn is_exact(&self) -> bool {
        self.pieces.iter().all(|piece| match piece {
            Piece::Word(word) => word.iter().all(Option::is_some),
            Piece::AnyWords => false,
        })
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Whether something the words could become meets the pattern.
    pub(crate) fn may_match(&self, words: &[Seen<'_>], effort: &Effort) -> bool {
        self.run(words, Question::May, effort)
    }

    /// Whether everything the words could become meets the pattern.
    pub(crate) fn must_match(&self, words: &[Seen<'_>], effort: &Effort) -> bool {
        self.run(words, Question::Must, effort)
    }

    /// Whether the pattern may begin with this word.
    pub(crate) fn may_begin(&self, word: Seen<'_>, effort: &Effort) -> bool {
        self.begins(word, Question::May, effort)
    }

    fn begins(&self, word: Seen<'_>, question: Question, effort: &Effort) -> bool {
        match self.pieces.first() {
            Some(Piece::Word(pattern)) => word_matches(pattern, word, question, effort),
            Some(Piece::AnyWords) => true,
            None => false,
        }
    }

    /// Walks the words with the set of places the pattern could be at.
    fn run(&self, words: &[Seen<'_>], question: Question, effort: &Effort) -> bool {
        let first = words.first().copied();
        let spreads = first == Some(Seen::Many) && question == Question::May;
        if !spreads && first.is_some_and(|first| !self.begins(first, question, effort)) {
            return false;
        }
        let mut places = vec![false; self.pieces.len() + 1];
        if let Some(first) = places.first_mut() {
            *first = true;
        }
        self.skip_stars(&mut places);
        for word in words {
            if !effort.spend(places.len()) {
                return false;
            }
            places = self.step(&places, *word, question, effort);
            if !places.contains(&true) {
                return false;
            }
        }
        places.last().copied().unwrap_or(false)
    }

    /// A star may span nothing: whoever is at it is also behind it.
    fn skip_stars(&self, places: &mut [bool]) {
        for (index, piece) in self.pieces.iter().enumerate() {
            let here = places.get(index).copied().unwrap_or(false);
            if here && *piece == Piece::AnyWords {
                set(places, index + 1);
            }
        }
    }

    fn step(&self, places: &[bool], word: Seen<'_>, question: Question, effort: &Effort) -> Vec<bool> {
        let mut next = vec![false; places.len()];
        for (index, piece) in self.pieces.iter().enumerate() {
            if !places.get(index).copied().unwrap_or(false) {
                continue;
            }
            match piece {
                Piece::AnyWords => set(&mut next, index),
                Piece::Word(pattern) => {
                    if word_matches(pattern, word, question, effort) {
                        set(&mut next, index + 1);
                    }
                }
            }
        }
        if word == Seen::Many && question == Question::May {
            self.spread(places, &mut next);
        }
        self.skip_stars(&mut next);
        next
    }

    /// An unknown number of words may stand for any number of places.
    fn spread(&self, places: &[bool], next: &mut [bool]) {
        let mut reached = false;
        for (index, slot) in next.iter_mut().enumerate() {
            reached |= places.get(index).copied().unwrap_or(false);
            *slot |= reached;
        }
    }
}

fn set(places: &mut [bool], index: usize) {
    if let Some(place) = places.get_mut(index) {
        *place = true;
    }
}

fn word_matches(pattern: &[Option<u8>], word: Seen<'_>, question: Question, effort: &Effort) -> bool {
    match word {
        Seen::Known(bytes) => matches_within(pattern, bytes, effort),
        Seen::One => question == Question::May || pattern == [None],
        Seen::Many => question == Question::May,
    }
}

/// As [`glob_matches`], while there is effort left.
pub(crate) fn matches_within(pattern: &[Option<u8>], bytes: &[u8], effort: &Effort) -> bool {
    let same_start = match (pattern.first(), bytes.first()) {
        (Some(Some(wanted)), Some(byte)) => wanted == byte,
        (Some(None), _) | (None, None) => true,
        _ => false,
    };
    let cost = if same_start { pattern.len() + bytes.len() } else { 1 };
    effort.spend(cost) && same_start && glob_matches(pattern, bytes)
}

/// Whether the bytes match, `None` standing for any bytes.
pub(crate) fn glob_matches(pattern: &[Option<u8>], bytes: &[u8]) -> bool {
    let (mut place, mut at) = (0, 0);
    // Behind the last star that was passed, and where what follows it was tried.
    let mut star: Option<(usize, usize)> = None;
    loop {
        match (pattern.get(place), bytes.get(at)) {
            (None, None) => return true,
            (Some(None), _) => {
                place += 1;
                star = Some((place, at));
            }
            (Some(Some(wanted)), Some(byte)) if wanted == byte => {
                place += 1;
                at += 1;
            }
            _ => match star {
                Some((behind, tried)) if tried < bytes.len() => {
                    star = Some((behind, tried + 1));
                    place = behind;
                    at = tried + 1;
                }
                _ => return false,
            },
        }
    }
}
