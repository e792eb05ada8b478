//! The seeded grammar: templates for every construct that the policy handles. In a template,
//! `«name»` is a placeholder for a random choice. The grammar does not decide which commands are
//! correct or safe.

mod arithmetic;
mod construct;
mod flags;
mod launchers;
mod redirects;
mod structure;
mod traps;
mod variables;
mod words;

mod pieces;

use std::rc::Rc;

use construct::construct;
use fastrand::Rng;

pub use construct::Construct;

/// Returns every construct.
#[must_use]
pub fn constructs() -> Vec<Construct> {
    [
        structure::CONSTRUCTS,
        redirects::CONSTRUCTS,
        words::CONSTRUCTS,
        arithmetic::CONSTRUCTS,
        variables::CONSTRUCTS,
        launchers::CONSTRUCTS,
        traps::CONSTRUCTS,
        REPORTED,
    ]
    .concat()
}

/// The maximum nesting depth of constructs.
const DEEPEST: usize = 2;
/// The text length in bytes above which only the simplest forms are used.
const LONGEST: usize = 2_000;

/// Generates a command of the construct.
pub fn generate(construct: &Construct, rng: &mut Rng) -> Vec<u8> {
    let mut maker = Maker { rng, all: constructs().into(), depth: 0, out: String::new() };
    maker.construct(construct);
    maker.out.into_bytes()
}

struct Maker<'r> {
    rng: &'r mut Rng,
    all: Rc<[Construct]>,
    depth: usize,
    out: String,
}

impl Maker<'_> {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.rng.choice(from).copied().unwrap_or_else(|| unreachable!("a table is empty"))
    }

    /// Returns true in this percentage of calls.
    fn chance(&mut self, percent: u8) -> bool {
        self.rng.u8(..100) < percent
    }

    fn construct(&mut self, construct: &Construct) {
        // The first form of a construct is its plain form.
        let first = construct.templates.first().filter(|_| self.chance(30)).copied();
        let template = first.unwrap_or_else(|| self.pick(construct.templates));
        self.template(template);
    }

    fn template(&mut self, template: &str) {
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once('«') {
            self.out.push_str(before);
            let Some((name, behind)) = behind.split_once('»') else {
                unreachable!("an unclosed placeholder in {template}");
            };
            self.piece(name);
            rest = behind;
        }
        self.out.push_str(rest);
    }

    /// Writes a command: usually a simple one, sometimes another construct.
    fn command(&mut self) {
        if self.depth >= DEEPEST || self.out.len() > LONGEST || !self.chance(20) {
            self.simple();
            return;
        }
        self.depth += 1;
        let all = Rc::clone(&self.all);
        let inner = self.pick(&all);
        self.construct(&inner);
        self.depth -= 1;
    }
}

const REPORTED: &[Construct] = &[
    construct(
        "heredoc_behind_a_dash",
        &[
            "alpha - <<'X'\n«plain»\nX",
            "cat - <<X\na $(«ro»)\nX",
            "«prog» - <<'X' «arg»\n«plain» \\\nX",
            "alpha <<'X'\na \\\nX\n«cmd»",
            "alpha <<-'X' | «prog» -\n\ta\n\tX",
        ],
    ),
    construct(
        "comments_and_signs_in_arguments",
        &[
            "# don't\n«cmd»",
            "«cmd» # it's «plain»",
            "alpha -c \"a\n# b\n«plain»\"",
            "alpha -c 'a\n# b\n«plain»'",
            "alpha \"a # b\" 'c # d' «arg»",
        ],
    ),
    construct(
        "loops_over_names",
        &[
            "for f in f1 f2; do «prog» \"$f\"; done",
            "for f in f1 f2; do sed -n 1,5p \"$f\"; done",
            "for f in *; do alpha \"$f\" «arg»; done",
            "for f in f1; do «prog» ${f%1} \"${f#f}\"; done",
        ],
    ),
    construct(
        "quoted_program_with_blank",
        &["'alpha one' «arg»", "\"gamma one\"", "alpha\\ one", "'git status'", "$'alpha one' «arg»"],
    ),
    construct(
        "code_points",
        &[
            "alpha $'\\U1F600' «arg»",
            "«prog» $'\\u00e9' $'\\uFFFDx'",
            "alpha $'\\u41'",
            "alpha $'\\U10FFFF'b",
        ],
    ),
    construct(
        "poisoned_then_allowed",
        &[
            "export PATH=.; «cmd»",
            "typeset -x LD_PRELOAD=f1; «cmd»",
            "declare -x BASH_ENV=f1; «cmd»",
            "export x=1 GIT_DIR=d; «cmd»",
            "env -S 'alpha x' «arg»",
        ],
    ),
    construct(
        "hidden_by_length_or_lines",
        &[
            ":; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; :; «cmd»",
            "al\\\npha «arg»",
            "«prog» \\\n  «arg» \\\n  «arg»",
            "«prog» | \\\n  «prog»",
            "$(echo alpha q)",
            "alpha --grep=\"$(«cmd»)\"",
            "echo $[ x='a[$(«hidden»)]', x ]",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_mark_is_known() {
        let mut names = HashSet::new();
        for construct in constructs() {
            assert!(names.insert(construct.name), "{} is listed twice", construct.name);
            for template in construct.templates {
                let mut rng = Rng::with_seed(1);
                let mut maker =
                    Maker { rng: &mut rng, all: constructs().into(), depth: DEEPEST, out: String::new() };
                maker.template(template);
                assert!(!maker.out.contains(['«', '»']), "{template}");
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_command() {
        for construct in constructs() {
            let make = || generate(&construct, &mut Rng::with_seed(7));
            assert_eq!(make(), make());
        }
    }
}
