//! Builds `airlock-init` as a static program, and compiles the system call filters from their lists. The library embeds
//! both, so that every Airlock binary is a single file.
#![expect(clippy::expect_used, clippy::panic, reason = "a build script has no caller to return an error to")]

mod filter;
mod lists;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use flate2::{Compression, write::ZlibEncoder};

fn main() {
    let variable = |name: &str| env::var(name).expect("cargo sets it for build scripts");
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(variable("OUT_DIR"));
    let target = variable("TARGET");
    let init = here.join("init");
    for watched in ["init/src", "init/Cargo.toml", "../Cargo.toml", "../Cargo.lock"] {
        println!("cargo::rerun-if-changed={}", here.join(watched).display());
    }
    filters(&here.join("seccomp"), &out);
    let target_dir = shared(&out).join("init-build");
    build(&init, &target_dir, &target);
    let built = target_dir.join(&target).join("init/airlock-init");
    compress(&built, &out.join("airlock-init.zlib"));
}

/// Compresses the program to less than half. Each program that embeds it is smaller by the rest.
fn compress(program: &Path, to: &Path) {
    let bytes = fs::read(program).expect("the program that was just built");
    // The file may be a hard link to a copy of the build directory. Replace it instead of overwriting it.
    let _ = fs::remove_file(to);
    let file = fs::File::create(to).expect("the directory that cargo made");
    let mut encoder = ZlibEncoder::new(file, Compression::best());
    encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("a file that can be written");
}

/// Returns the directory of the whole build; `out` is `<profile>/build/<package>/out` below it. The program is the
/// same in every profile, so it is built once for all of them.
fn shared(out: &Path) -> &Path {
    out.ancestors().nth(4).unwrap_or(out)
}

/// Writes one filter for each architecture and each choice of a profile, and the reported calls of each architecture.
fn filters(lists: &Path, out: &Path) {
    println!("cargo::rerun-if-changed={}", lists.display());
    let lists = lists::read(lists);
    for arch in filter::ARCHS {
        let path = out.join(format!("reported-{}", arch.name));
        let _ = fs::remove_file(&path);
        fs::write(path, filter::reported(&lists, &arch)).expect("the directory that cargo made");
        for unix in [false, true] {
            for netlink_route in [false, true] {
                let given = lists::Given { unix, netlink_route };
                let path = out.join(format!("seccomp-{}-{unix}-{netlink_route}", arch.name));
                let _ = fs::remove_file(&path);
                fs::write(path, filter::compile(&lists, &arch, given))
                    .expect("the directory that cargo made");
            }
        }
    }
}

/// Builds the program. Needs no network, because its dependencies are also those of the outer build. Does not check the
/// lock file: an outer build with `--locked` has checked it, and one without must not fail here.
fn build(init: &Path, target_dir: &Path, target: &str) {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.arg("build").args(["--bin", "airlock-init", "--profile", "init"]);
    command.arg("--manifest-path").arg(init.join("Cargo.toml"));
    command.args(["--target", target]).arg("--target-dir").arg(target_dir);
    // Flags, wrappers and directories of the outer build do not apply to this program, which runs inside the sandbox.
    for name in [
        "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_RUSTC_WRAPPER",
        "CARGO_BUILD_TARGET",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_TARGET_DIR",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_WRAPPER",
    ] {
        command.env_remove(name);
    }
    command.env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static");
    let status = command.status().expect("cargo can be started");
    if !status.success() {
        panic!(
            "airlock-init was not built: {status}; it is linked statically, which needs the C library's static part (Debian: libc6-dev)"
        );
    }
}
