//! The forms in which names, parameters and values can be written.

/// A reproducible source of choices.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % count
    }

    pub(super) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    pub(super) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Returns the text with letters in another case.
pub(super) fn in_any_case(random: &mut Random, text: &str) -> String {
    match random.below(4) {
        0 => text.to_lowercase(),
        1 => text.to_uppercase(),
        2 => text
            .chars()
            .map(|char| if random.chance(50) { char.to_ascii_uppercase() } else { char })
            .collect(),
        _ => text.to_owned(),
    }
}

/// Puts backticks before letters that have no meaning after one.
pub(super) fn with_backticks(random: &mut Random, text: &str) -> String {
    const MEANING: &str = "0abefnrtuv";
    let mut out = String::new();
    for (at, char) in text.chars().enumerate() {
        let plain = char.is_ascii_alphabetic() && !MEANING.contains(char.to_ascii_lowercase());
        if at > 0 && plain && random.chance(15) {
            out.push('`');
        }
        out.push(char);
    }
    out
}

/// Writes a name in the position of a command.
pub(super) fn name(random: &mut Random, name: &str, aliases: &[&str], module: &str) -> String {
    let own = if !aliases.is_empty() && random.chance(40) { *random.pick(aliases) } else { name };
    let cased = in_any_case(random, own);
    match random.below(8) {
        0 if own == name => format!("{module}\\{cased}"),
        1 => format!("& '{cased}'"),
        2 => format!("& \"{cased}\""),
        3 => format!(". {cased}"),
        4 => with_backticks(random, &cased),
        5 => format!("&{cased}"),
        _ => cased,
    }
}

/// Writes the name of a parameter.
pub(super) fn parameter(random: &mut Random, spellings: &[&str]) -> String {
    let dash = *random.pick(&["-", "-", "-", "\u{2013}", "\u{2014}", "\u{2015}"]);
    let name = *random.pick(spellings);
    format!("{dash}{}", in_any_case(random, name))
}

/// Writes a value. It contains letters, digits, blanks, quotes and signs.
pub(super) fn value(random: &mut Random, value: &str) -> String {
    let bare =
        !value.is_empty() && value.chars().all(|char| char.is_ascii_alphanumeric() || ".*/".contains(char));
    match random.below(7) {
        0 | 1 if bare && !value.starts_with(|char: char| char.is_ascii_digit()) => value.to_owned(),
        2 => {
            let escaped = value.replace('`', "``").replace('$', "`$").replace('"', "`\"");
            format!("\"{}\"", with_meaningless_backticks(random, &escaped))
        }
        3 => format!("\u{201c}{}\u{201d}", value.replace('`', "``").replace('$', "`$").replace('"', "\"\"")),
        4 => format!("\u{2018}{}\u{2019}", value.replace('\'', "''")),
        5 => format!("@'\n{value}\n'@"),
        6 => format!("@\"\n{}\n\"@", value.replace('`', "``").replace('$', "`$")),
        _ => format!("'{}'", value.replace('\'', "''")),
    }
}

/// Puts a backtick before some blanks, which changes nothing in quotes.
fn with_meaningless_backticks(random: &mut Random, text: &str) -> String {
    let mut out = String::new();
    for char in text.chars() {
        if char == ' ' && random.chance(30) {
            out.push('`');
        }
        out.push(char);
    }
    out
}

/// Returns the space between two words.
pub(super) fn blank(random: &mut Random) -> &'static str {
    const BLANKS: &[&str] = &[" ", " ", " ", "  ", "\t", "\u{a0}", " `\n", " <# a #> "];
    let blank: &&'static str = random.pick(BLANKS);
    blank
}
