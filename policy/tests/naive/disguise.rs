//! Disguises of a command: other spellings, wrappers, positions. For each, bash runs the same program or refuses the
//! text.

pub(super) fn of(words: &[String], random: &mut Random) -> String {
    let spelt: Vec<String> = words.iter().map(|word| spelt(word, random)).collect();
    let blank = *random.pick(BLANKS);
    let mut text = spelt.join(blank);
    for _ in 0..random.below(4) {
        text = placed(&text, random);
    }
    text
}

const BLANKS: &[&str] = &[" ", "  ", "\t", " \\\n "];

/// Returns another spelling of the word.
fn spelt(word: &str, random: &mut Random) -> String {
    let at = 1 + random.below(word.len().max(2) - 1);
    let (head, tail) = word.split_at(at.min(word.len()));
    match random.below(12) {
        0 => format!("{head}''{tail}"),
        1 => format!("{head}\"{tail}\""),
        2 => word.chars().map(|c| format!("\\{c}")).collect(),
        3 => format!("$'{}'", word.bytes().map(|b| format!("\\x{b:02x}")).collect::<String>()),
        4 => format!("$'{}'", word.bytes().map(|b| format!("\\{b:03o}")).collect::<String>()),
        5 => format!("{head}\\\n{tail}"),
        6 => format!("'{word}'"),
        7 => format!("{head}$''{tail}"),
        8 => format!("$\"{word}\""),
        _ => word.to_owned(),
    }
}

/// Returns a text with the command in another position.
fn placed(text: &str, random: &mut Random) -> String {
    let single = format!("'{}'", text.replace('\'', "'\\''"));
    match random.below(26) {
        0 => format!("ls; {text}"),
        1 => format!("ls && {text} | cat"),
        2 => format!("({text})"),
        3 => format!("{{ {text}; }}"),
        4 => format!("echo $({text})"),
        5 => format!("echo \"$({text})\""),
        6 => format!("cat <({text})"),
        7 => format!("if true; then {text}; fi"),
        8 => format!("for i in 1; do {text}; done"),
        9 => format!("! {text}"),
        10 => format!("f() {{ {text}; }}; f"),
        11 => format!("cat <<E\n$({text})\nE"),
        12 => format!("bash -c {single}"),
        13 => format!("sh -c {single}"),
        14 => format!("eval {single}"),
        15 => format!("ls\n{text}"),
        16 => format!("ls & {text}"),
        17 => format!("false || {text}"),
        18 => format!("x=$({text})"),
        19 => format!("{text} # a comment"),
        20 => format!("while true; do {text}; done"),
        21 => format!("case a in a) {text};; esac"),
        22 => format!("trap {single} EXIT"),
        23 => format!("bash <<'E'\n{text}\nE"),
        24 => format!("coproc {text}"),
        _ => format!("[[ -n $({text}) ]]"),
    }
}

/// A generator of numbers that depend only on the seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    pub(crate) fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
