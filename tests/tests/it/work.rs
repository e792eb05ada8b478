//! Real projects in the sandbox: common build tools, tests and servers work; packages from registries are tested in
//! `make test-long`. Confinement is tested elsewhere.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use airlock_tests::{
    desk::{Airlock, Desk, Fixture},
    process::until,
    site::{Extras, PATIENCE},
};
use tempfile::TempDir;

/// Runs scripts, each in its own session with its files.
fn works(files: &[(PathBuf, &str)], steps: &[(&str, &str)]) {
    let fixture = Fixture::new(Extras::default());
    let desk = Desk::new(Airlock::at(&fixture.site), "sandboxed");
    for (file, name) in files {
        desk.airlock.copy(file, &desk.there(name));
    }
    for (command, shows) in steps {
        let said = desk.check(command);
        assert!(said.contains(shows), "`{command}` does not show `{shows}`:\n{said}");
    }
    desk.close();
}

/// The files of a wheel for `pip`: a module and its metadata.
const WHEEL: [(&str, &str); 4] = [
    ("mine/__init__.py", "def double(number):\n    return number * 2\n"),
    ("mine-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n"),
    ("mine-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    (
        "mine-1.0.dist-info/RECORD",
        "mine/__init__.py,,\nmine-1.0.dist-info/METADATA,,\nmine-1.0.dist-info/WHEEL,,\nmine-1.0.dist-info/RECORD,,\n",
    ),
];

/// Creates a directory with these files.
fn directory_of(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

/// Packs the content of a directory.
fn packed(directory: &TempDir, program: &str, arguments: &[&str], name: &str) -> PathBuf {
    let status = Command::new(program).args(arguments).current_dir(directory.path()).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}: {status}");
    directory.path().join(name)
}

#[test]
fn pip_installs_a_package_and_its_tests_pass() {
    let name = "mine-1.0-py3-none-any.whl";
    let directory = directory_of(&WHEEL);
    let arguments = ["-m", "zipfile", "-c", name, "mine", "mine-1.0.dist-info"];
    let wheel = packed(&directory, "python3", &arguments, name);
    let tests = directory_of(&[(
        "test_mine.py",
        "import unittest, mine\nclass Test(unittest.TestCase):\n    def test(self):\n        self.assertEqual(mine.double(4), 8)\n",
    )]);
    works(
        &[(wheel, name), (tests.path().join("test_mine.py"), "test_mine.py")],
        &[
            ("/usr/bin/python3 -m venv .venv", ""),
            (
                &format!(".venv/bin/pip install --no-index --no-deps ./{name}"),
                "Successfully installed mine-1.0",
            ),
            (".venv/bin/python -B -m unittest test_mine", "\nOK"),
            (".venv/bin/python -c 'import mine; print(mine.__file__)'", "/workspace/.venv/"),
        ],
    );
}

/// Installs a packed package with `npm`, and runs a test that uses it, concurrently with one that has many workers.
fn npm_works(package: &Path, name: &str, uses: &str) {
    let manifest = format!(
        r#"{{"name": "own", "version": "1.0.0", "scripts": {{"test": "node --test"}},
        "dependencies": {{"{name}": "file:./{name}.tgz"}}}}"#
    );
    let test = format!(
        "const test = require('node:test'); const assert = require('node:assert');\n\
         const used = require('{name}');\n\
         test('the package', () => {{ {uses} }});\n\
         test('many workers', async () => {{\n\
           const {{ Worker }} = require('node:worker_threads');\n\
           const one = () => new Promise((done) => new Worker('process.exit(7)', {{ eval: true }}).on('exit', done));\n\
           assert.deepStrictEqual(await Promise.all([one(), one(), one()]), [7, 7, 7]);\n\
         }});\n"
    );
    let directory = directory_of(&[("package.json", &manifest), ("own.test.js", &test)]);
    fs::copy(package, directory.path().join(format!("{name}.tgz"))).unwrap();
    works(
        &[(directory.path().to_owned(), "own")],
        &[
            ("cd own && npm install --offline --no-audit --no-fund", "added 1 package"),
            ("npm test", "# pass 2"),
        ],
    );
}

#[test]
fn npm_installs_a_package_and_runs_tests() {
    let directory = directory_of(&[
        ("package/package.json", r#"{"name": "double", "version": "1.0.0", "main": "index.js"}"#),
        ("package/index.js", "module.exports = (number) => number * 2;\n"),
    ]);
    let package = packed(&directory, "tar", &["-czf", "double.tgz", "package"], "double.tgz");
    npm_works(&package, "double", "assert.strictEqual(used(4), 8);");
}

#[test]
fn make_builds_and_runs_a_program_in_c() {
    let makefile = "CFLAGS = -O1 -Wall\nall: sum\nsum: main.o add.o\n\t$(CC) -o $@ $^ -lpthread\n\
                    check: sum\n\t./sum\nclean:\n\trm -f sum *.o\n";
    let main = "#include <pthread.h>\n#include <stdio.h>\nint add(int, int);\n\
                static void *one(void *at) { *(int *)at = add(*(int *)at, 1); return 0; }\n\
                int main(void) { pthread_t t[16]; int n[16], all = 0;\n\
                for (int i = 0; i < 16; i++) { n[i] = i; pthread_create(&t[i], 0, one, &n[i]); }\n\
                for (int i = 0; i < 16; i++) { pthread_join(t[i], 0); all += n[i]; }\n\
                printf(\"sum %d\\n\", all); return 0; }\n";
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("Makefile"), makefile).unwrap();
    fs::write(directory.path().join("main.c"), main).unwrap();
    fs::write(directory.path().join("add.c"), "int add(int a, int b) { return a + b; }\n").unwrap();
    works(
        &[(directory.path().to_owned(), "sum")],
        &[
            ("cd sum && make -j4", "cc"),
            ("make check", "sum 136"),
            ("make", "Nothing to be done"),
            ("make clean", "rm"),
        ],
    );
}

#[test]
fn git_works_with_ten_thousand_files() {
    works(
        &[],
        &[
            (
                "git init -q -b main big && cd big && git config user.name a && git config user.email a@b.c",
                "",
            ),
            (
                "for d in $(seq 100); do mkdir d$d; for f in $(seq 100); do echo $d $f > d$d/f$f; done; done",
                "",
            ),
            ("git add . && git commit -q -m all && git ls-files | wc -l", "10000"),
            ("git status --short | wc -l", "0"),
            (
                "git checkout -q -b other && rm -r d7 && echo x >> d1/f1 && git commit -q -a -m less && git log --oneline | wc -l",
                "2",
            ),
            ("git diff --stat main | tail -1", "101 files changed"),
            ("git checkout -q main && ls d7 | wc -l", "100"),
            ("git merge -q other && git gc -q && git fsck && git log --oneline | wc -l", "2"),
        ],
    );
}

#[test]
fn python_has_pools_of_processes_in_every_way_to_start_them() {
    let program = "import multiprocessing as m\n\
                   def square(n): return n * n\n\
                   if __name__ == '__main__':\n\
                   \x20   for way in ['fork', 'spawn', 'forkserver']:\n\
                   \x20       with m.get_context(way).Pool(4) as pool:\n\
                   \x20           print(way, sum(pool.map(square, range(1000))))\n\
                   \x20   with m.Manager() as manager:\n\
                   \x20       shared = manager.dict(); shared['a'] = 1; print('manager', dict(shared))\n\
                   \x20   from multiprocessing import shared_memory\n\
                   \x20   block = shared_memory.SharedMemory(create=True, size=1 << 20)\n\
                   \x20   block.buf[0] = 42; print('memory', block.buf[0]); block.close(); block.unlink()\n";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pools.py");
    fs::write(&file, program).unwrap();
    let pools = "python3 pools.py";
    works(
        &[(file, "pools.py")],
        &[
            (pools, "fork 332833500"),
            (pools, "spawn 332833500"),
            (pools, "forkserver 332833500"),
            (pools, "manager {'a': 1}"),
            (pools, "memory 42"),
        ],
    );
}

#[test]
fn sqlite_keeps_what_several_processes_write() {
    works(
        &[],
        &[
            ("sqlite3 a.db 'pragma journal_mode=wal; create table t(n integer)'", "wal"),
            (
                "for i in 1 2 3 4; do (for n in $(seq 25); do \
                 sqlite3 -cmd '.timeout 600000' a.db \"insert into t values($n)\"; done) & done; wait",
                "",
            ),
            ("sqlite3 a.db 'select count(*), sum(n) from t; pragma integrity_check'", "100|1300\nok"),
        ],
    );
}

#[test]
fn a_jvm_compiles_and_runs_threads() {
    let program = "import java.util.stream.*; import java.nio.file.*;\n\
                   public class Main { public static void main(String[] a) throws Exception {\n\
                   System.out.println(\"sum \" + IntStream.range(0, 100000).parallel().asLongStream().sum());\n\
                   Thread[] t = new Thread[8]; for (int i = 0; i < 8; i++) { t[i] = new Thread(() -> System.gc()); t[i].start(); }\n\
                   for (Thread one : t) one.join();\n\
                   Path p = Files.createTempFile(\"x\", \".txt\"); Files.writeString(p, \"kept\");\n\
                   System.out.println(Files.readString(p)); } }\n";
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("Main.java");
    fs::write(&file, program).unwrap();
    works(&[(file, "Main.java")], &[("javac Main.java && java Main", "sum 4999950000\nkept")]);
}

#[test]
fn a_server_of_one_command_is_reached_by_the_next_and_by_no_other_session() {
    let fixture = Fixture::new(Extras::default());
    let airlock = || Airlock::at(&fixture.site);
    let (own, other) = (Desk::new(airlock(), "sandboxed"), Desk::new(airlock(), "sandboxed"));
    let server = "echo hello >page && exec python3 -u -m http.server --bind 127.0.0.1 8123";
    let execution = own.airlock.text(&["start", "--session", &own.session, "--", server]);
    // The command can be detached once it runs.
    until("the server runs", PATIENCE, || own.airlock.run(&["detach", &execution]).status.success());
    let get =
        "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:8123/page\").read())'";
    until("the server listens", PATIENCE, || {
        String::from_utf8_lossy(&own.airlock.bytes(&["logs", &execution])).contains("Serving")
    });
    let reached = own.check(get);
    assert!(reached.contains("hello"), "{reached}");
    let refused = other.fails(get);
    assert!(refused.contains("refused"), "{refused}");
    drop(own.airlock.bytes(&["kill", &execution]));
    for desk in [own, other] {
        drop(desk.airlock.bytes(&["session", "close", &desk.session]));
    }
}

/// Third-party packages from registries.
mod long {
    use airlock_tests::tools::{package, project};

    use super::{npm_works, works};

    #[test]
    fn pip_installs_a_wheel_and_its_test_suite_passes() {
        let files = [(package("idna.whl"), "idna-3.20-py3-none-any.whl"), (project("idna"), "idna.tar.gz")];
        works(
            &files,
            &[
                ("/usr/bin/python3 -m venv .venv", ""),
                (
                    ".venv/bin/pip install --no-index --no-deps ./idna-3.20-py3-none-any.whl",
                    "Successfully installed",
                ),
                // The source without the package itself, so that the installed package is tested.
                ("tar -xzf idna.tar.gz && rm -r idna-*/idna", ""),
                ("mv idna-*/tests .", ""),
                (".venv/bin/python -B -m unittest tests.test_idna tests.test_intranges", "\nOK"),
                (".venv/bin/python -c 'import idna; print(idna.__file__)'", "/workspace/.venv/"),
            ],
        );
    }

    #[test]
    fn npm_installs_a_package_and_runs_tests() {
        let uses = "assert.ok(used('5e3')); assert.ok(!used('x'));";
        npm_works(&package("is-number.tgz"), "is-number", uses);
    }
}
