//! Rule patterns against the words of one command. Two questions only: may what
//! the words could become meet the pattern (deny, ask), and must it (allow).

/// One place of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// One word; `None` stands for any bytes.
    Word(Vec<Option<u8>>),
    /// Any number of words.
    AnyWords,
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
    pub(crate) fn may_match(&self, words: &[Seen<'_>]) -> bool {
        self.run(words, Question::May)
    }

    /// Whether everything the words could become meets the pattern.
    pub(crate) fn must_match(&self, words: &[Seen<'_>]) -> bool {
        self.run(words, Question::Must)
    }

    /// Walks the words with the set of places the pattern could be at.
    fn run(&self, words: &[Seen<'_>], question: Question) -> bool {
        let mut places = vec![false; self.pieces.len() + 1];
        if let Some(first) = places.first_mut() {
            *first = true;
        }
        self.skip_stars(&mut places);
        for word in words {
            places = self.step(&places, *word, question);
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

    fn step(&self, places: &[bool], word: Seen<'_>, question: Question) -> Vec<bool> {
        let mut next = vec![false; places.len()];
        for (index, piece) in self.pieces.iter().enumerate() {
            if !places.get(index).copied().unwrap_or(false) {
                continue;
            }
            match piece {
                Piece::AnyWords => set(&mut next, index),
                Piece::Word(pattern) => {
                    if word_matches(pattern, word, question) {
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

fn word_matches(pattern: &[Option<u8>], word: Seen<'_>, question: Question) -> bool {
    match word {
        Seen::Known(bytes) => glob_matches(pattern, bytes),
        Seen::One => question == Question::May || pattern == [None],
        Seen::Many => question == Question::May,
    }
}

/// Whether the bytes match, `None` standing for any bytes.
pub(crate) fn glob_matches(pattern: &[Option<u8>], bytes: &[u8]) -> bool {
    let mut places = vec![false; pattern.len() + 1];
    set(&mut places, 0);
    close(pattern, &mut places);
    for byte in bytes {
        let mut next = vec![false; places.len()];
        for (index, piece) in pattern.iter().enumerate() {
            if places.get(index).copied().unwrap_or(false) {
                match piece {
                    None => set(&mut next, index),
                    Some(wanted) if wanted == byte => set(&mut next, index + 1),
                    Some(_) => {}
                }
            }
        }
        close(pattern, &mut next);
        places = next;
    }
    places.last().copied().unwrap_or(false)
}

fn close(pattern: &[Option<u8>], places: &mut [bool]) {
    for (index, piece) in pattern.iter().enumerate() {
        if piece.is_none() && places.get(index).copied().unwrap_or(false) {
            set(places, index + 1);
        }
    }
}
