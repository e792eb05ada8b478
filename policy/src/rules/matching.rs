//! Matches rule patterns with the words of one command. Words can be unknown, so there are two
//! questions: may the words match the pattern (deny, ask), and must they match it (allow)?

use std::cell::Cell;
use std::sync::OnceLock;

use crate::limits::MAX_MATCH_STEPS;
use crate::parse::Word;

/// The remaining steps for the comparisons of one decision. When they are used up, the comparison stops, and the
/// decision must be to ask.
#[derive(Debug)]
pub(crate) struct StepBudget {
    left: Cell<usize>,
}

impl StepBudget {
    pub(crate) fn new() -> Self {
        Self { left: Cell::new(MAX_MATCH_STEPS) }
    }

    /// Uses a number of steps. Returns false if fewer remain.
    pub(crate) fn spend(&self, steps: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(steps));
        left > steps
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.left.get() == 0
    }
}

/// One element of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Element {
    /// One word; `None` matches any bytes.
    Word(Vec<Option<u8>>),
    /// Any number of words.
    AnyWords,
}

impl Element {
    /// Returns the word if it contains no star.
    pub(crate) fn literal(&self) -> Option<Vec<u8>> {
        match self {
            Self::Word(word) => word.iter().copied().collect(),
            Self::AnyWords => None,
        }
    }
}

/// One word of a command as a pattern sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordView<'a> {
    /// Known bytes.
    Known(&'a [u8]),
    /// One word of unknown bytes.
    One,
    /// Any number of unknown words.
    Many,
}

impl<'a> WordView<'a> {
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
    elements: Vec<Element>,
    /// The pattern in lower case, once a PowerShell command was compared with it.
    lowered: OnceLock<Box<Self>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    May,
    Must,
}

impl WordPattern {
    pub(crate) fn new(elements: Vec<Element>) -> Self {
        Self { elements, lowered: OnceLock::new() }
    }

    /// Returns a pattern that matches every command.
    pub(crate) fn any() -> Self {
        Self::new(vec![Element::AnyWords])
    }

    /// Returns the pattern in lower case, as PowerShell compares names.
    pub(crate) fn lowered(&self) -> &Self {
        let lower = |element: &Element| match element {
            Element::Word(word) => {
                Element::Word(word.iter().map(|byte| byte.map(|byte| byte.to_ascii_lowercase())).collect())
            }
            Element::AnyWords => Element::AnyWords,
        };
        self.lowered.get_or_init(|| Box::new(Self::new(self.elements.iter().map(lower).collect())))
    }

    /// Reports whether the pattern contains no star. An exact pattern also covers launched commands
    /// and redirects, because the operator wrote them out.
    pub(crate) fn is_exact(&self) -> bool {
        self.elements.iter().all(|element| match element {
            Element::Word(word) => word.iter().all(Option::is_some),
            Element::AnyWords => false,
        })
    }

    pub(crate) fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Reports whether some value of the words matches the pattern.
    pub(crate) fn may_match(&self, words: &[WordView<'_>], budget: &StepBudget) -> bool {
        self.run(words, Certainty::May, budget)
    }

    /// Reports whether every value of the words matches the pattern.
    pub(crate) fn must_match(&self, words: &[WordView<'_>], budget: &StepBudget) -> bool {
        self.run(words, Certainty::Must, budget)
    }

    /// Reports whether the pattern may start with this word.
    pub(crate) fn may_begin(&self, word: WordView<'_>, budget: &StepBudget) -> bool {
        self.begins(word, Certainty::May, budget)
    }

    fn begins(&self, word: WordView<'_>, certainty: Certainty, budget: &StepBudget) -> bool {
        match self.elements.first() {
            Some(Element::Word(pattern)) => word_matches(pattern, word, certainty, budget),
            Some(Element::AnyWords) => true,
            None => false,
        }
    }

    /// Advances the set of possible positions in the pattern over the words.
    fn run(&self, words: &[WordView<'_>], certainty: Certainty, budget: &StepBudget) -> bool {
        let first = words.first().copied();
        let spreads = first == Some(WordView::Many) && certainty == Certainty::May;
        if !spreads && first.is_some_and(|first| !self.begins(first, certainty, budget)) {
            return false;
        }
        let mut places = vec![false; self.elements.len() + 1];
        if let Some(first) = places.first_mut() {
            *first = true;
        }
        self.skip_stars(&mut places);
        for word in words {
            if !budget.spend(places.len()) {
                return false;
            }
            places = self.step(&places, *word, certainty, budget);
            if !places.contains(&true) {
                return false;
            }
        }
        places.last().copied().unwrap_or(false)
    }

    /// A star can match no words, so its position implies the next one.
    fn skip_stars(&self, places: &mut [bool]) {
        for (index, element) in self.elements.iter().enumerate() {
            let here = places.get(index).copied().unwrap_or(false);
            if here && *element == Element::AnyWords {
                set(places, index + 1);
            }
        }
    }

    fn step(
        &self,
        places: &[bool],
        word: WordView<'_>,
        certainty: Certainty,
        budget: &StepBudget,
    ) -> Vec<bool> {
        let mut next = vec![false; places.len()];
        for (index, element) in self.elements.iter().enumerate() {
            if !places.get(index).copied().unwrap_or(false) {
                continue;
            }
            match element {
                Element::AnyWords => set(&mut next, index),
                Element::Word(pattern) => {
                    if word_matches(pattern, word, certainty, budget) {
                        set(&mut next, index + 1);
                    }
                }
            }
        }
        if word == WordView::Many && certainty == Certainty::May {
            self.spread(places, &mut next);
        }
        self.skip_stars(&mut next);
        next
    }

    /// An unknown number of words can match any number of elements.
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

fn word_matches(
    pattern: &[Option<u8>],
    word: WordView<'_>,
    certainty: Certainty,
    budget: &StepBudget,
) -> bool {
    match word {
        WordView::Known(bytes) => matches_within(pattern, bytes, budget),
        WordView::One => certainty == Certainty::May || pattern == [None],
        WordView::Many => certainty == Certainty::May,
    }
}

/// Like [`glob_matches`], while steps remain.
pub(crate) fn matches_within(pattern: &[Option<u8>], bytes: &[u8], budget: &StepBudget) -> bool {
    let same_start = match (pattern.first(), bytes.first()) {
        (Some(Some(wanted)), Some(byte)) => wanted == byte,
        (Some(None), _) | (None, None) => true,
        _ => false,
    };
    let cost = if same_start { pattern.len() + bytes.len() } else { 1 };
    budget.spend(cost) && same_start && glob_matches(pattern, bytes)
}

/// Reports whether the bytes match; `None` matches any bytes.
pub(crate) fn glob_matches(pattern: &[Option<u8>], bytes: &[u8]) -> bool {
    let (mut place, mut at) = (0, 0);
    // The position after the last star, and the position at which the rest was tried.
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
