//! Compiles the .proto files: messages, services, and the descriptor set that reflection serves. Nothing that is made here
//! is committed.

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use prost::Message as _;

/// The packages that hold a service; what they share, they import.
const SERVICES: [&str; 2] = ["runtime", "supervisor"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells a build script by a variable where to write"
    )]
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Each server tells of its own service only.
    for service in SERVICES {
        let own = protox::compile([format!("ratchet/{service}/v1/{service}.proto")], ["proto"])?;
        fs::write(out.join(format!("{service}_descriptor.bin")), own.encode_to_vec())?;
    }
    let files = SERVICES.map(|service| format!("ratchet/{service}/v1/{service}.proto"));
    let all = protox::compile(files, ["proto"])?;
    tonic_prost_build::configure()
        // Output, packs and prompts are not copied once more.
        .bytes(".ratchet.supervisor.v1.Output.data")
        .bytes(".ratchet.runtime.v1")
        // What they hold may be secret: `src/secret.rs` shows names and lengths only.
        .skip_debug([
            ".ratchet.supervisor.v1.Variable",
            ".ratchet.runtime.v1.Variable",
            ".ratchet.runtime.v1.File",
            ".ratchet.runtime.v1.SpawnRequest",
        ])
        .compile_fds(all)?;
    Ok(())
}
