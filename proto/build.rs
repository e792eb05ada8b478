//! Compiles the .proto files with protox, which needs no protoc, and writes their descriptors for reflection.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

const FILES: [&str; 10] = [
    "airlock/v1/admin.proto",
    "airlock/v1/approval.proto",
    "airlock/v1/common.proto",
    "airlock/v1/execution.proto",
    "airlock/v1/file.proto",
    "airlock/v1/policy.proto",
    "airlock/v1/session.proto",
    "airlock/hooks/v1/hook.proto",
    "airlock/runner/v1/link.proto",
    "airlock/server/v1/peer.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(FILES, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("airlock.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .bytes(".")
        .btree_map(".")
        // Most decisions have none, and every execution has a decision.
        .boxed(".airlock.v1.Decision.edit")
        .build_transport(false)
        .compile_fds(descriptors)?;
    Ok(())
}
