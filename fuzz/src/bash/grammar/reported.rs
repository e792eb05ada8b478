//! Forms that bypassed other checkers, or about which this policy asked unnecessarily.

use super::construct::{Construct, construct};

pub(super) const CONSTRUCTS: &[Construct] = &[
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
