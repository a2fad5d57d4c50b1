//! Compiles the .proto files: messages, services, and the descriptor set that reflection serves. Nothing that is made here
//! is committed.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(["ratchet/supervisor/v1/supervisor.proto"], ["proto"])?;
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells a build script by a variable where to write"
    )]
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("ratchet_descriptor.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        // Output travels in pieces of up to 64 KiB; they are not copied once more.
        .bytes(".ratchet.supervisor.v1.Output.data")
        // Values may be secret: `src/lib.rs` shows names only.
        .skip_debug([".ratchet.supervisor.v1.Variable"])
        .compile_fds(descriptors)?;
    Ok(())
}
