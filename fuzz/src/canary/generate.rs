//! Generates commands. The first ones try every flag of every program alone. The following ones
//! combine programs with random flags and operands, alone and inside bash constructs. The policy
//! decides which of them are read-only.

use std::io;

pub use super::Generated;
use super::tables::{self, Flag, Globals, Program, Takes};
use super::vocabulary::{Random, list};
use super::{Line, Source};
use super::{languages, shell, vocabulary};

/// Generates commands.
#[derive(Debug)]
pub struct Generator {
    random: Random,
    programs: Vec<Program>,
    /// Options before the subcommand.
    globals: Globals,
    /// Indices of programs that this system has.
    usable: Vec<usize>,
    /// The planned combinations, the next one last.
    planned: Vec<(usize, Option<usize>)>,
}

impl Source for Generator {
    fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    fn line(&mut self) -> Line {
        let at = self.random.up_to(self.usable.len());
        let program = self.usable.get(at).copied().unwrap_or_default();
        self.line_of(program, None)
    }
}

impl Generator {
    /// Creates a generator from the tables, for the programs that `is_there` reports as installed.
    ///
    /// # Errors
    ///
    /// Returns an error if the tables cannot be read.
    pub fn new(seed: u64, is_there: impl Fn(&str) -> bool) -> io::Result<Self> {
        let (programs, globals) = tables::load()?;
        let mut random = Random::new(seed);
        let first_word = |program: &Program| program.name.split(' ').next().is_some_and(&is_there);
        let usable: Vec<usize> = programs
            .iter()
            .enumerate()
            .filter(|(_, program)| first_word(program))
            .map(|(index, _)| index)
            .collect();
        let mut planned = Vec::new();
        for index in &usable {
            let flags = programs.get(*index).map_or(0, |program| program.flags.len());
            planned.extend((0..flags).map(|flag| (*index, Some(flag))));
        }
        random.shuffle(&mut planned);
        // Before everything else, each program comes twice without a chosen flag.
        planned.extend(usable.iter().chain(&usable).map(|index| (*index, None)));
        Ok(Self { random, programs, globals, usable, planned })
    }

    /// Returns the programs of the tables.
    #[must_use]
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Returns whether this system has the program.
    #[must_use]
    pub fn is_usable(&self, program: usize) -> bool {
        self.usable.contains(&program)
    }

    /// Returns all spellings of the flag, or a placeholder for no flag.
    #[must_use]
    pub fn flag_name(&self, program: usize, flag: Option<usize>) -> String {
        let flags = self.programs.get(program).map(|program| program.flags.as_slice()).unwrap_or_default();
        let found = flag.and_then(|flag| flags.get(flag)).map(|flag| flag.names.join("/"));
        found.unwrap_or_else(|| "(any)".to_owned())
    }

    /// Plans the program and flag again, as the next command.
    pub fn again(&mut self, program: usize, flag: Option<usize>) {
        self.planned.push((program, flag));
    }

    /// Returns the next command.
    pub fn next_command(&mut self) -> Generated {
        if let Some((program, flag)) = self.planned.pop() {
            let line = self.line_of(program, flag);
            return Generated {
                command: line.text,
                tries: vec![(line.program, line.flags)],
                planned: Some((program, flag)),
                construct: "flag by flag",
            };
        }
        shell::around(self)
    }

    fn line_of(&mut self, index: usize, flag: Option<usize>) -> Line {
        let Some(program) = self.programs.get(index) else {
            return Line { text: ":".to_owned(), program: index, flags: Vec::new() };
        };
        let random = &mut self.random;
        let mut flags: Vec<usize> = flag.into_iter().collect();
        let more = if flag.is_some() {
            random.up_to(2)
        } else {
            [0, 0, 1, 1, 2, 3].get(random.up_to(6)).copied().unwrap_or(0)
        };
        flags.extend((0..more.min(program.flags.len())).map(|_| random.up_to(program.flags.len())));
        let mut parts = Parts::default();
        if !program.needs.is_empty() && !random.once_in(8) {
            parts.before.push(random.pick(&program.needs).to_owned());
        }
        parts.flags(random, program, &flags);
        if let Some(refused) =
            program.refused.get(random.up_to(program.refused.len().max(1))).filter(|_| random.once_in(25))
        {
            parts.flag(random, &program.name, refused);
        }
        parts.operands(random, program);
        let name = program_words(random, &program.name, &self.globals);
        let text = format!("{name}{}", parts.text(random));
        Line { text, program: index, flags }
    }
}

/// Returns the words of the program, sometimes with a path or with an option before the subcommand.
fn program_words(random: &mut Random, name: &str, globals: &Globals) -> String {
    let (first, rest) = name.split_once(' ').map_or((name, None), |(first, rest)| (first, Some(rest)));
    let mut text = match random.up_to(24) {
        0 => format!("/usr/bin/{first}"),
        1 if first.len() > 1 => format!("\\{first}"),
        2 => vocabulary::quoted(random, first),
        _ => first.to_owned(),
    };
    let global = globals.get(first).filter(|flags| !flags.is_empty() && random.once_in(8));
    if let Some(flag) = global.and_then(|flags| flags.get(random.up_to(flags.len()))) {
        let mut parts = Parts::default();
        parts.flag(random, first, flag);
        text.push_str(&parts.text(random));
    }
    if let Some(rest) = rest {
        text.push(' ');
        text.push_str(rest);
    }
    text
}

#[derive(Default)]
struct Parts {
    before: Vec<String>,
    operands: Vec<String>,
}

impl Parts {
    fn flags(&mut self, random: &mut Random, program: &Program, flags: &[usize]) {
        for flag in flags.iter().filter_map(|flag| program.flags.get(*flag)) {
            let letter = flag.names.iter().find(|name| name.len() == 2);
            let cluster = self.before.last_mut().filter(|last| {
                last.len() > 1
                    && last.starts_with('-')
                    && last[1..].bytes().all(|byte| byte.is_ascii_alphabetic())
            });
            match (letter, cluster) {
                // Combines `-l -a` into one word if neither takes a value.
                (Some(letter), Some(last)) if flag.takes == Takes::Nothing && random.once_in(2) => {
                    last.push_str(&letter[1..]);
                }
                _ => self.flag(random, &program.name, flag),
            }
        }
    }

    fn flag(&mut self, random: &mut Random, program: &str, flag: &Flag) {
        let Some(name) = flag.names.get(random.up_to(flag.names.len())) else {
            return;
        };
        let long = name.starts_with("--");
        let mut spelled = name.clone();
        if long && spelled.len() > 5 && random.once_in(6) {
            spelled.truncate(4 + random.up_to(spelled.len() - 4));
        }
        let (called, may_be_absent) = match &flag.takes {
            Takes::Nothing => return self.before.push(spelled),
            Takes::Optional(called) => (called, true),
            Takes::Value(called) => (called, false),
        };
        if may_be_absent && random.once_in(2) {
            return self.before.push(spelled);
        }
        let value = vocabulary::value(random, program, name, called);
        // Single-dash long flags such as `-format png` never take the value in the same word.
        let word = !long && name.len() > 2;
        let apart = !may_be_absent && (word || random.once_in(2));
        match (apart, long) {
            (true, _) => self.before.extend([spelled, value]),
            (false, true) => self.before.push(format!("{spelled}={value}")),
            (false, false) => self.before.push(format!("{spelled}{value}")),
        }
    }

    fn operands(&mut self, random: &mut Random, program: &Program) {
        if program.name == "find" {
            self.operands.push(vocabulary::directory(random));
            self.operands.push(languages::find(random));
            return;
        }
        let language = program.language.as_deref().and_then(|language| languages::text(random, language));
        let count = random.up_to(program.most + 1);
        let texts = program.text_operands;
        if let Some(text) = language {
            self.operands.push(vocabulary::quoted(random, &text));
            self.operands.extend((0..count).map(|_| vocabulary::path(random)));
            return;
        }
        self.operands.extend((0..texts).map(|_| vocabulary::text(random, &program.name)));
        for _ in texts..count.max(texts) {
            let word = if program.paths || random.once_in(4) {
                vocabulary::path(random)
            } else {
                vocabulary::text(random, &program.name)
            };
            self.operands.push(word);
        }
        if matches!(program.name.as_str(), "[") {
            self.operands.push("]".to_owned());
        }
        if random.once_in(60) {
            let bait = random.pick(list("baits"));
            self.operands.push(vocabulary::quoted(random, bait));
        }
    }

    /// Joins flags and operands in some order.
    fn text(&self, random: &mut Random) -> String {
        let marker: &[String] = &["--".to_owned()];
        let marker = if random.once_in(12) && !self.operands.is_empty() { marker } else { &[] };
        let flags_last = random.once_in(8) && marker.is_empty();
        let (first, second) =
            if flags_last { (&self.operands, &self.before) } else { (&self.before, &self.operands) };
        let all = first.iter().chain(marker).chain(second);
        all.fold(String::new(), |text, word| text + " " + word)
    }
}
