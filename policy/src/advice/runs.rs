//! The files that a command would run and that commands can write: programs by path, and scripts of known
//! interpreters. An approval is bound to their contents. Files that those files read or start in turn are not
//! searched for.

use crate::analysis::Found;
use crate::decision::Access;
use crate::facts::Facts;
use crate::launch::{base_name, files_of_pwsh};
use crate::parse::Word;
use crate::paths::{self, Places};
use crate::readonly::PathWord;
use crate::tables::{Interpreter, Scripts, interpreter};

/// Returns the absolute, normalized paths in the order of the text, without duplicates.
pub(super) fn of(facts: &Facts<'_>) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    // Commands can write neither the base nor readable roots.
    let places = Places { readable: None, ..facts.places.clone() };
    for found in &facts.analysis.commands {
        for word in words(found) {
            let path = PathWord { word, access: Access::Read };
            let located = paths::locate(&path, &found.directory, &places);
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

/// Returns the words of the command that name such files, each as a path word.
fn words(found: &Found) -> Vec<Word> {
    let Some((program, rest)) = found.words.split_first() else {
        return Vec::new();
    };
    let mut files = Vec::new();
    let Some(text) = program.text.as_deref() else {
        return files;
    };
    // PowerShell reads a backslash as a slash.
    let path = match found.in_powershell.is_some() {
        true => String::from_utf8_lossy(text).replace('\\', "/").into_bytes(),
        false => text.to_vec(),
    };
    if path == text && text.contains(&b'/') {
        files.push(program.clone());
    } else if path.contains(&b'/') {
        files.push(renamed(program, &String::from_utf8_lossy(&path)));
    }
    let name = base_name(text);
    if name == b"pwsh" || name == b"powershell" {
        files.extend(files_of_pwsh(rest));
    } else if let Some(interpreter) = interpreter(name) {
        files.extend(scripts(interpreter, rest));
    }
    files
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
                Meaning::Text => return files,
                Meaning::Module(None) => {
                    files.extend(
                        rest.next().map(|name| module(name, name.text.as_deref())).unwrap_or_default(),
                    );
                    return files;
                }
                Meaning::Module(Some(name)) => {
                    files.extend(module(word, Some(name.as_bytes())));
                    return files;
                }
                Meaning::Script(None) => files.extend(rest.next().cloned()),
                Meaning::Script(Some(value)) => files.push(renamed(word, value)),
                Meaning::Value => {
                    let value = rest.next();
                    if interpreter.directory.contains(&text.as_ref()) {
                        directory = value.or(directory);
                    }
                }
            }
        } else if interpreter.texts.contains(&text.as_ref()) {
            return files;
        } else {
            match interpreter.operands {
                Scripts::None => {}
                Scripts::First => {
                    files.push(word.clone());
                    return files;
                }
                Scripts::All => files.push(word.clone()),
            }
        }
    }
    if files.is_empty() {
        files.extend(defaults(interpreter, directory, words.first()));
    }
    files
}

enum Meaning<'t> {
    Flag,
    /// The option takes the next word as its value.
    Value,
    /// The program is the option's value, or standard input.
    Text,
    /// The option's value names a module. The value is the next word or part of this one.
    Module(Option<&'t str>),
    /// The option's value is a script. The value is the next word or part of this one.
    Script(Option<&'t str>),
}

fn meaning<'t>(interpreter: &Interpreter, text: &'t str) -> Meaning<'t> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if let Some(meaning) = of_option(interpreter, name, value) {
        return meaning;
    }
    // In a cluster of letters, the first letter that takes a value takes the rest of the word.
    let mut letters = text.char_indices().skip(1).take_while(|_| !text.starts_with("--"));
    let of_letter = |(at, letter): (usize, char)| {
        let option = format!("{}{letter}", text.get(..1).unwrap_or_default());
        let behind = text.get(at + letter.len_utf8()..).filter(|behind| !behind.is_empty());
        of_option(interpreter, &option, behind)
    };
    letters.find_map(of_letter).unwrap_or(Meaning::Flag)
}

/// Returns the meaning of an option with this value in the same word.
fn of_option<'t>(interpreter: &Interpreter, option: &str, value: Option<&'t str>) -> Option<Meaning<'t>> {
    let has = |list: &[&str]| list.contains(&option);
    if has(interpreter.scripts) {
        Some(Meaning::Script(value))
    } else if has(interpreter.modules) {
        Some(Meaning::Module(value))
    } else if has(interpreter.texts) {
        Some(Meaning::Text)
    } else if has(interpreter.values) {
        Some(if value.is_some() { Meaning::Flag } else { Meaning::Value })
    } else {
        None
    }
}

/// Returns the files that a module's name can refer to.
fn module(word: &Word, name: Option<&[u8]>) -> Vec<Word> {
    let Some(name) = name else { return Vec::new() };
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

/// Returns a known word with this text.
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
            ("pytest -x -k name tests/a.py tests/b.py", &["/workspace/tests/a.py", "/workspace/tests/b.py"]),
            ("go run a.go b.go", &["/workspace/a.go", "/workspace/b.go"]),
            ("cargo test -p x", &["/workspace/Cargo.toml", "/workspace/build.rs"]),
            ("ninja -C out", &["/workspace/out/build.ninja"]),
            ("cmake -P x.cmake", &["/workspace/x.cmake"]),
            ("mvn -fpom2.xml test", &["/workspace/pom2.xml"]),
            (
                "python3 -Bm tool",
                &["/workspace/tool.py", "/workspace/tool/__main__.py", "/workspace/tool/__init__.py"],
            ),
            ("find . -exec ./check.sh {} \\;", &["/workspace/check.sh"]),
            ("bash -c './inner.sh'", &["/workspace/inner.sh"]),
            ("pwsh -NoProfile -NonInteractive -File x.ps1 -Name f", &["/workspace/x.ps1"]),
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
