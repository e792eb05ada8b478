//! Tests of the files that a command would run.

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
            &["/workspace/pkg/tool.py", "/workspace/pkg/tool/__main__.py", "/workspace/pkg/tool/__init__.py"],
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
