//! Which files that commands can write a command would run: programs by path, and the scripts that known interpreters
//! are given. An approval is bound to what they hold. What those files read or start in turn is not looked for.

use crate::analysis::Found;
use crate::decide::Facts;
use crate::decision::Access;
use crate::launch::base_name;
use crate::parse::Word;
use crate::paths;
use crate::readonly::PathWord;

/// What is known of an interpreter's words.
struct Interpreter {
    names: &'static [&'static str],
    /// Subcommands before its own words; empty: it has none.
    subcommands: &'static [&'static str],
    /// Options that take the next word.
    values: &'static [&'static str],
    /// Options whose value is a script.
    scripts: &'static [&'static str],
    /// Options behind which there is no script: their value is the program, or there is none.
    texts: &'static [&'static str],
    /// Whether the first operand is a script.
    operand: bool,
    /// Files that it takes from its directory by itself, where no option names others.
    defaults: &'static [&'static str],
}

const PLAIN: Interpreter = Interpreter {
    names: &[],
    subcommands: &[],
    values: &[],
    scripts: &[],
    texts: &[],
    operand: true,
    defaults: &[],
};

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        names: &["sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "yash", "csh", "tcsh", "fish"],
        values: &["-o", "-O", "+o", "+O"],
        scripts: &["--rcfile", "--init-file"],
        texts: &["-c", "-s", "--command"],
        ..PLAIN
    },
    Interpreter { names: &["source", "."], ..PLAIN },
    Interpreter { names: &["python"], values: &["-W", "-X"], texts: &["-c", "-m"], ..PLAIN },
    Interpreter {
        names: &["node", "nodejs", "tsx", "ts-node"],
        values: &["-C", "--conditions"],
        scripts: &["-r", "--require", "--import", "--loader", "--env-file"],
        texts: &["-e", "--eval", "-p", "--print"],
        ..PLAIN
    },
    Interpreter { names: &["deno", "bun"], subcommands: &["run", "test"], texts: &["eval"], ..PLAIN },
    Interpreter { names: &["ruby"], values: &["-I", "-C", "-E"], scripts: &["-r"], texts: &["-e"], ..PLAIN },
    Interpreter { names: &["perl"], values: &["-I"], texts: &["-e", "-E"], ..PLAIN },
    Interpreter {
        names: &["php"],
        values: &["-c", "-d"],
        scripts: &["-f", "--file"],
        texts: &["-r"],
        ..PLAIN
    },
    Interpreter { names: &["lua", "luajit"], values: &["-e", "-l"], ..PLAIN },
    Interpreter { names: &["Rscript", "tclsh", "expect", "osascript", "groovy", "scala"], ..PLAIN },
    Interpreter {
        names: &["awk", "gawk", "mawk", "nawk", "sed"],
        values: &["-F", "-v", "-e"],
        scripts: &["-f", "--file"],
        operand: false,
        ..PLAIN
    },
    Interpreter {
        names: &["make", "gmake"],
        values: &["-C", "--directory", "-I", "-o", "-W"],
        scripts: &["-f", "--file", "--makefile"],
        operand: false,
        defaults: &["GNUmakefile", "makefile", "Makefile"],
        ..PLAIN
    },
    Interpreter {
        names: &["npm", "pnpm", "yarn"],
        values: &["-C", "--prefix", "--cwd", "--dir"],
        operand: false,
        defaults: &["package.json"],
        ..PLAIN
    },
    Interpreter {
        names: &["just"],
        values: &["-d", "--working-directory"],
        scripts: &["-f", "--justfile"],
        operand: false,
        defaults: &["justfile", "Justfile", ".justfile"],
        ..PLAIN
    },
];

/// Options that name the directory that defaults are taken from.
const DIRECTORIES: &[&str] =
    &["-C", "--directory", "--prefix", "--cwd", "--dir", "-d", "--working-directory"];

/// Absolute and normalised, in the order of the text, without doubles.
pub(super) fn of(facts: &Facts<'_>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for found in &facts.analysis.commands {
        for word in words(found) {
            let path = PathWord { word, access: Access::Read };
            let located = paths::locate(&path, &found.directory, &facts.places);
            for one in
                located.into_iter().filter(|one| one.exact && one.path.starts_with('/') && !one.outside)
            {
                if !files.contains(&one.path) {
                    files.push(one.path);
                }
            }
        }
    }
    files
}

/// The words of the command that name such files, as if they were written.
fn words(found: &Found) -> Vec<Word> {
    let Some((program, rest)) = found.words.split_first() else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let Some(text) = program.text.as_deref() else {
        return files;
    };
    if text.contains(&b'/') {
        files.push(program.clone());
    }
    let name = String::from_utf8_lossy(base_name(text)).into_owned();
    if let Some(interpreter) = interpreter(&name) {
        files.extend(scripts(interpreter, rest));
    }
    files
}

fn interpreter(name: &str) -> Option<&'static Interpreter> {
    // `python3.11`, `lua5.4`.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let stem = if stem.is_empty() { name } else { stem };
    INTERPRETERS.iter().find(|one| one.names.contains(&name) || one.names.contains(&stem))
}

fn scripts(interpreter: &Interpreter, words: &[Word]) -> Vec<Word> {
    let mut files = Vec::new();
    let mut directory: Option<&Word> = None;
    let mut rest = words.iter();
    let mut options = true;
    while let Some(word) = rest.next() {
        let text = word.text.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        if interpreter.subcommands.contains(&text.as_ref()) {
            continue;
        }
        if options && text == "--" {
            options = false;
        } else if options && text.len() > 1 && text.starts_with(['-', '+']) {
            match meaning(interpreter, &text) {
                Meaning::Flag => {}
                Meaning::Text => {
                    files.extend(module(&text, rest.next()));
                    return files;
                }
                Meaning::Script(None) => files.extend(rest.next().cloned()),
                Meaning::Script(Some(value)) => files.push(renamed(word, value)),
                Meaning::Value => {
                    let value = rest.next();
                    if DIRECTORIES.contains(&text.as_ref()) {
                        directory = value.or(directory);
                    }
                }
            }
        } else if interpreter.texts.contains(&text.as_ref()) {
            return files;
        } else if interpreter.operand {
            files.push(word.clone());
            return files;
        }
    }
    if files.is_empty() {
        files.extend(defaults(interpreter, directory, words.first()));
    }
    files
}

enum Meaning<'t> {
    Flag,
    /// It takes the next word.
    Value,
    /// The program is in its value, or in the input.
    Text,
    /// Its value, which is the next word or stands in this one, is a script.
    Script(Option<&'t str>),
}

fn meaning<'t>(interpreter: &Interpreter, text: &'t str) -> Meaning<'t> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    let has = |list: &[&str], option: &str| list.contains(&option);
    if has(interpreter.scripts, name) {
        return Meaning::Script(value);
    }
    if has(interpreter.texts, name) {
        return Meaning::Text;
    }
    if has(interpreter.values, name) {
        return if value.is_some() { Meaning::Flag } else { Meaning::Value };
    }
    // Of letters in one word, the first that takes a value takes the rest.
    let letters = text.char_indices().skip(1).take_while(|_| !text.starts_with("--"));
    for (at, letter) in letters {
        let option = format!("{}{letter}", &text[..1]);
        let behind = text.get(at + letter.len_utf8()..).filter(|behind| !behind.is_empty());
        if has(interpreter.scripts, &option) {
            return Meaning::Script(behind);
        }
        if has(interpreter.texts, &option) {
            return Meaning::Text;
        }
        if has(interpreter.values, &option) {
            return if behind.is_some() { Meaning::Flag } else { Meaning::Value };
        }
    }
    Meaning::Flag
}

/// The files that `-m NAME` stands for, where that is the option.
fn module(option: &str, value: Option<&Word>) -> Vec<Word> {
    let name = value.and_then(|word| Some((word, word.text.as_deref()?)));
    let Some((word, name)) = name.filter(|_| option.ends_with('m')) else {
        return Vec::new();
    };
    let path = String::from_utf8_lossy(name).replace('.', "/");
    ["", "/__main__", "/__init__"].iter().map(|end| renamed(word, &format!("{path}{end}.py"))).collect()
}

fn defaults(interpreter: &Interpreter, directory: Option<&Word>, any: Option<&Word>) -> Vec<Word> {
    let base = match directory {
        None => Some(String::new()),
        Some(word) => word.text.as_deref().map(|text| format!("{}/", String::from_utf8_lossy(text))),
    };
    let Some(base) = base else { return Vec::new() };
    let like = directory.or(any).cloned().unwrap_or_default();
    interpreter.defaults.iter().map(|name| renamed(&like, &format!("{base}{name}"))).collect()
}

/// A word of this text, and of nothing that is not known.
fn renamed(word: &Word, text: &str) -> Word {
    Word {
        text: Some(text.as_bytes().to_vec()),
        lead: text.as_bytes().to_vec(),
        span: word.span,
        exactly_one: true,
        ..Word::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Profile, Request, decide};

    fn runs(command: &str) -> Vec<String> {
        decide(&Request::bash(command.as_bytes()), &Profile::blank("p")).runs
    }

    #[test]
    fn programs_by_path_and_scripts_of_interpreters_are_found() {
        for (command, expected) in [
            ("./build.sh && ls", &["/workspace/build.sh"][..]),
            ("cd sub && ../x", &["/workspace/x"]),
            ("bash x.sh arg", &["/workspace/x.sh"]),
            ("bash -ex ./x.sh", &["/workspace/x.sh"]),
            ("bash -o pipefail x.sh", &["/workspace/x.sh"]),
            ("bash --rcfile rc x.sh", &["/workspace/rc", "/workspace/x.sh"]),
            ("bash -- x.sh", &["/workspace/x.sh"]),
            (". ./env", &["/workspace/env"]),
            ("source env a b", &["/workspace/env"]),
            ("timeout 5 python3 -u x.py a.txt", &["/workspace/x.py"]),
            ("python3.11 -W ignore x.py", &["/workspace/x.py"]),
            ("python3 -Wignore x.py", &["/workspace/x.py"]),
            (
                "python -m pkg.tool x",
                &[
                    "/workspace/pkg/tool.py",
                    "/workspace/pkg/tool/__main__.py",
                    "/workspace/pkg/tool/__init__.py",
                ],
            ),
            ("node --require=./hook.js app.js", &["/workspace/hook.js", "/workspace/app.js"]),
            ("deno run --allow-net x.ts", &["/workspace/x.ts"]),
            ("sudo ruby -I lib x.rb", &["/workspace/x.rb"]),
            ("awk -f prog.awk in.txt", &["/workspace/prog.awk"]),
            ("sed -n -fprog in.txt", &["/workspace/prog"]),
            ("make -j4 all", &["/workspace/GNUmakefile", "/workspace/makefile", "/workspace/Makefile"]),
            ("make -f build.mk all", &["/workspace/build.mk"]),
            (
                "make -C sub",
                &["/workspace/sub/GNUmakefile", "/workspace/sub/makefile", "/workspace/sub/Makefile"],
            ),
            ("npm test", &["/workspace/package.json"]),
            ("find . -exec ./check.sh {} \\;", &["/workspace/check.sh"]),
            ("bash -c './inner.sh'", &["/workspace/inner.sh"]),
            ("env A=1 /tmp/x", &["/tmp/x"]),
        ] {
            assert_eq!(runs(command), expected, "{command}");
        }
    }

    #[test]
    fn what_nobody_can_write_or_what_is_no_file_is_not() {
        for command in [
            "ls",
            "/usr/bin/env ls",
            "bash -c 'ls x.sh'",
            "python3 -c 'import x' x.py",
            "node -e 1 x.js",
            "bash -s < x.sh",
            "bash \"$script\"",
            "sed s/a/b/ x",
            "git status",
        ] {
            assert_eq!(runs(command), [] as [&str; 0], "{command}");
        }
    }
}
